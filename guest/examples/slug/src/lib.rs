//! A tool that touches nothing: a title in, a slug out.

use ringfence_guest::{Failure, tool};

/// The arguments of a call.
#[derive(serde::Deserialize)]
struct Input {
    title: String,
}

/// Keeps letters and digits in lower case, and joins what is between them with single hyphens.
fn slug(input: Input) -> Result<String, Failure> {
    let slug = input
        .title
        .to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    if slug.is_empty() {
        return Err(Failure::new("the title has no letter and no digit"));
    }
    Ok(slug)
}

tool! {
    declaration: "tool.json",
    call: slug,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_words_with_single_hyphens() {
        let cases = [("Hello, World!", Some("hello-world")), ("  a  b ", Some("a-b")), ("…", None)];
        for (title, expected) in cases {
            let found = slug(Input { title: title.to_owned() });
            assert_eq!(found.ok().as_deref(), expected, "{title}");
        }
    }
}
