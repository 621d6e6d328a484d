//! A component, and a program, that tries whatever it is told to and says what came of it.
//!
//! It declares everything, so that personalities decide. Its answer is `{"ok": …}` for what succeeded and
//! `{"error": "…"}` for what did not; an act that is meant to end the component has no answer.
//!
//! INVARIANT: a refusal is an answer and never a failure of the call, so that a test can tell both from a limit.

mod ambient;
mod burden;
#[cfg_attr(not(target_family = "wasm"), path = "client_plain.rs")]
mod client;
mod file;
mod network;
#[cfg_attr(not(target_family = "wasm"), path = "raw_absent.rs")]
mod raw;
mod scoped;

use ringfence_guest::{Failure, tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// What came of an act.
type Came = Result<Value, String>;

/// The arguments of a call: `act`, and what belongs to it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Act {
    File(file::Act),
    Raw(raw::Act),
    Network(network::Act),
    Scoped(scoped::Act),
    Ambient(ambient::Act),
    Burden(burden::Act),
}

/// Tries the act that a JSON text describes and returns the answer as JSON, for the program of the same acts.
///
/// # Errors
///
/// A text that describes no act.
pub fn answer(act: &str) -> Result<String, String> {
    let act = serde_json::from_str(act).map_err(|error| format!("this is no act: {error}"))?;
    probe(act).map(|came| came.to_string()).map_err(|failure| failure.message().to_owned())
}

fn probe(act: Act) -> Result<Value, Failure> {
    let came = match act {
        Act::File(act) => act.attempt(),
        Act::Raw(act) => act.attempt(),
        Act::Network(act) => act.attempt(),
        Act::Scoped(act) => act.attempt(),
        Act::Ambient(act) => act.attempt(),
        Act::Burden(act) => act.attempt(),
    };
    Ok(came.map_or_else(|error| json!({ "error": error }), |value| json!({ "ok": value })))
}

tool! {
    declaration: "tool.json",
    call: probe,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_an_act_of_every_kind() {
        #[rustfmt::skip]
        let acts = [
            r#"{"act": "read", "path": "/etc/passwd"}"#,
            r#"{"act": "http", "url": "https://example.test/"}"#,
            r#"{"act": "secret", "name": "PROBE_SECRET"}"#,
            r#"{"act": "environment"}"#,
            r#"{"act": "output", "bytes": 10}"#,
        ];
        for act in acts {
            assert!(serde_json::from_str::<Act>(act).is_ok(), "{act}");
        }
        assert!(serde_json::from_str::<Act>(r#"{"act": "dance"}"#).is_err());
    }

    #[test]
    fn answers_with_what_came_of_it() {
        assert_eq!(answer(r#"{"act": "output", "bytes": 3}"#).unwrap(), r#"{"ok":"xxx"}"#);
        let refused = answer(r#"{"act": "secret", "name": "A"}"#).unwrap();
        assert!(refused.starts_with(r#"{"error":"NOT_AVAILABLE: "#), "{refused}");
        assert!(answer("{}").is_err());
    }
}
