//! A tool that talks: how a web server answers, for every host that the personality allows.

use ringfence_guest::http::HttpError;
use ringfence_guest::{Failure, http, tool};

/// The arguments of a call.
#[derive(serde::Deserialize)]
struct Input {
    url: String,
}

/// What the server answered.
#[derive(serde::Serialize)]
struct Output {
    status: u16,
    r#type: Option<String>,
    bytes: usize,
}

/// Fetches the URL once. A redirect is an answer; whoever wants to follow it calls again.
fn fetch_status(input: Input) -> Result<Output, Failure> {
    let response = match http::get(&input.url) {
        Ok(response) => response,
        // Reading changes nothing, so that a broken exchange may be tried again. A refusal stays one.
        Err(error @ HttpError::Broken { .. }) => return Err(Failure::again(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    Ok(Output {
        status: response.status(),
        r#type: response.header("content-type").map(str::to_owned),
        bytes: response.body().len(),
    })
}

tool! {
    declaration: "tool.json",
    call: fetch_status,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_a_refusal_on() {
        let failure = fetch_status(Input { url: "https://example.test/".to_owned() }).err().unwrap();
        assert!(failure.message().starts_with("NOT_AVAILABLE: "), "{}", failure.message());
        assert!(!failure.may_succeed_later());
    }
}
