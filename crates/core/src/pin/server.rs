//! The pins of what MCP servers sent: tools, prompts and instructions.
//!
//! A key is `tool:NAME`, `prompt:NAME` or `instructions`. Of each key one definition may be accepted, and any number rejected:
//! a rejected one stays withheld whatever else is said, and another one is judged against the one that was accepted.
//!
//! INVARIANT: no definition is both accepted and rejected, and a key names what its definitions are called.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Pin, PinError, PinStatus, Pins, compare_definitions};
use crate::digest::digest;

/// What is known of one key of a server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<Pin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<Pin>,
}

impl Pins {
    /// Says how what a server sent stands to its pin. What has no digest can never be accepted.
    pub fn server_status(&self, server: &str, key: &str, definition: &Value) -> PinStatus {
        let Some(known) = self.known(server, key) else { return PinStatus::New };
        let digest = digest(definition).ok();
        let is = |pin: &Pin| Some(&pin.digest) == digest.as_ref();
        match &known.accepted {
            _ if known.rejected.iter().any(is) => PinStatus::Rejected,
            Some(pin) if is(pin) => PinStatus::Accepted,
            Some(pin) => PinStatus::Changed(compare_definitions(&pin.definition, definition)),
            None => PinStatus::New,
        }
    }

    /// Accepts what a server sent, in place of what was accepted before.
    ///
    /// # Errors
    ///
    /// The definition has no digest, or is not what the key names.
    pub fn accept_definition(&mut self, server: &str, key: &str, definition: &Value) -> Result<(), PinError> {
        let pin = pin(server, key, definition)?;
        let known = self.known_mut(server, key);
        known.rejected.retain(|other| other.digest != pin.digest);
        known.accepted = Some(pin);
        Ok(())
    }

    /// Rejects what a server sent, for good.
    ///
    /// # Errors
    ///
    /// The definition has no digest, or is not what the key names.
    pub fn reject_definition(&mut self, server: &str, key: &str, definition: &Value) -> Result<(), PinError> {
        let pin = pin(server, key, definition)?;
        let known = self.known_mut(server, key);
        known.accepted.take_if(|accepted| accepted.digest == pin.digest);
        if known.rejected.iter().all(|other| other.digest != pin.digest) {
            known.rejected.push(pin);
        }
        Ok(())
    }

    /// Forgets everything about a key of a server; returns whether there was something.
    pub fn forget_definition(&mut self, server: &str, key: &str) -> bool {
        let Some(keys) = self.servers.get_mut(server) else { return false };
        let found = keys.remove(key).is_some();
        if keys.is_empty() {
            self.servers.remove(server);
        }
        found
    }

    /// Goes through the accepted definitions of a server: the key, the digest and the definition.
    pub fn server_definitions(&self, server: &str) -> impl Iterator<Item = (&str, &str, &Value)> {
        let keys = self.servers.get(server).into_iter().flatten();
        keys.filter_map(|(key, known)| {
            known.accepted.as_ref().map(|pin| (key.as_str(), pin.digest.as_str(), &pin.definition))
        })
    }

    /// Goes through the rejected definitions of a server: the key, the digest and the definition.
    pub fn rejected_definitions(&self, server: &str) -> impl Iterator<Item = (&str, &str, &Value)> {
        let keys = self.servers.get(server).into_iter().flatten();
        keys.flat_map(|(key, known)| {
            known.rejected.iter().map(|pin| (key.as_str(), pin.digest.as_str(), &pin.definition))
        })
    }

    /// Returns the accepted definition of a key of a server.
    pub fn accepted_definition(&self, server: &str, key: &str) -> Option<&Value> {
        self.known(server, key)?.accepted.as_ref().map(|pin| &pin.definition)
    }

    /// Goes through the servers of which something is known.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    pub(super) fn verify_servers(&self) -> Result<(), PinError> {
        for (server, keys) in &self.servers {
            for (key, known) in keys {
                let edited = || PinError::SentEdited { server: server.clone(), key: key.clone() };
                for own in known.accepted.iter().chain(&known.rejected) {
                    if pin(server, key, &own.definition).ok().as_ref() != Some(own) {
                        return Err(edited());
                    }
                }
                let accepted = known.accepted.as_ref().map(|pin| &pin.digest);
                if known.rejected.iter().any(|pin| Some(&pin.digest) == accepted) {
                    return Err(edited());
                }
            }
        }
        Ok(())
    }

    fn known(&self, server: &str, key: &str) -> Option<&Known> {
        self.servers.get(server)?.get(key)
    }

    fn known_mut(&mut self, server: &str, key: &str) -> &mut Known {
        self.servers.entry(server.to_owned()).or_default().entry(key.to_owned()).or_default()
    }
}

fn pin(server: &str, key: &str, definition: &Value) -> Result<Pin, PinError> {
    let failed = |error: String| PinError::Sent { server: server.to_owned(), key: key.to_owned(), error };
    let named = |name: &str| definition.get("name").and_then(Value::as_str) == Some(name);
    let fits = match key.split_once(':') {
        Some(("tool" | "prompt", name)) => named(name),
        None if key == "instructions" => definition.is_string(),
        _ => false,
    };
    if !fits {
        return Err(failed("the key does not name the definition".to_owned()));
    }
    Ok(Pin { digest: digest(definition).map_err(failed)?, definition: definition.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn echo(description: &str) -> Value {
        json!({"name": "echo", "description": description, "inputSchema": {"type": "object"}, "x-vendor": [1]})
    }

    #[test]
    fn a_definition_is_judged_against_the_accepted_one() {
        let mut pins = Pins::default();
        let status =
            |pins: &Pins, description: &str| pins.server_status("s", "tool:echo", &echo(description));
        assert_eq!(status(&pins, "one"), PinStatus::New);
        pins.accept_definition("s", "tool:echo", &echo("one")).unwrap();
        assert_eq!(status(&pins, "one"), PinStatus::Accepted);
        let PinStatus::Changed(changes) = status(&pins, "two") else { panic!("changed") };
        assert_eq!(changes[0].to_string(), r#"/description: "one" → "two""#);
        pins.reject_definition("s", "tool:echo", &echo("two")).unwrap();
        assert_eq!(status(&pins, "two"), PinStatus::Rejected);
        assert_eq!(status(&pins, "one"), PinStatus::Accepted);
        // Against the accepted one, not against the rejected one.
        let PinStatus::Changed(changes) = status(&pins, "three") else { panic!("changed") };
        assert_eq!(changes[0].old, Some(json!("one")));
        // The same name of another server, and a prompt of the same name, are something else.
        assert_eq!(pins.server_status("t", "tool:echo", &echo("one")), PinStatus::New);
        assert_eq!(pins.server_status("s", "prompt:echo", &echo("one")), PinStatus::New);
        // Who changes their mind is heard.
        pins.accept_definition("s", "tool:echo", &echo("two")).unwrap();
        assert_eq!(status(&pins, "two"), PinStatus::Accepted);
        pins.reject_definition("s", "tool:echo", &echo("two")).unwrap();
        assert_eq!(status(&pins, "two"), PinStatus::Rejected);
        assert_eq!(status(&pins, "one"), PinStatus::New);
        assert_eq!(pins.rejected_definitions("s").count(), 1);
        assert!(pins.forget_definition("s", "tool:echo"));
        assert!(!pins.forget_definition("s", "tool:echo"));
        assert_eq!(pins, Pins::default());
    }

    #[test]
    fn survives_the_file_and_no_edit_does() {
        let mut pins = Pins::default();
        assert!(!pins.to_json().contains("servers"), "an old file stays as it was");
        pins.accept_definition("s", "tool:echo", &echo("one")).unwrap();
        pins.reject_definition("s", "tool:echo", &echo("two")).unwrap();
        pins.accept_definition("s", "instructions", &json!("Be kind")).unwrap();
        pins.accept_definition("s", "prompt:p", &json!({"name": "p"})).unwrap();
        let text = pins.to_json();
        assert_eq!(Pins::from_json(&text).unwrap(), pins);
        let again = pins.server_definitions("s").map(|(key, _, _)| key).collect::<Vec<_>>();
        assert_eq!(again, ["instructions", "prompt:p", "tool:echo"]);
        #[rustfmt::skip]
        let edits = [
            ("\"one\"", "\"1\""), ("\"two\"", "\"2\""), ("Be kind", "Be bad"), ("tool:echo", "tool:other"), ("prompt:p", "promptp"),
            ("prompt:p", "tool:q"), ("\"two\"", "\"one\""), ("\"rejected\"", "\"refused\""), ("x-vendor", "x-vendour"),
        ];
        for (from, to) in edits {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            assert!(Pins::from_json(&edited).is_err(), "{from} → {to}");
        }
        let both = text.replace("\"rejected\": [", "\"rejected\": [ACCEPTED,");
        let accepted = serde_json::from_str::<Value>(&text).unwrap()["servers"]["s"]["tool:echo"]["accepted"]
            .to_string();
        let error = Pins::from_json(&both.replace("ACCEPTED", &accepted)).unwrap_err();
        assert!(matches!(error, PinError::SentEdited { .. }), "{error}");
    }

    #[test]
    fn what_cannot_be_pinned_is_refused() {
        let mut pins = Pins::default();
        #[rustfmt::skip]
        let cases = [
            ("tool:echo",    json!({"name": "echo", "x": 9_007_199_254_740_993_u64}), "beyond"),
            ("tool:other",   echo("one"),                                             "does not name"),
            ("tool:echo",    json!("echo"),                                           "does not name"),
            ("echo",         echo("one"),                                             "does not name"),
            ("resource:echo", echo("one"),                                            "does not name"),
            ("instructions", json!({}),                                               "does not name"),
        ];
        for (key, definition, message) in cases {
            let error = pins.accept_definition("s", key, &definition).unwrap_err().to_string();
            assert!(error.contains(message), "{key}: {error}");
            assert!(pins.reject_definition("s", key, &definition).is_err(), "{key}");
            assert_eq!(pins.server_status("s", key, &definition), PinStatus::New, "{key}");
        }
        assert_eq!(pins, Pins::default());
        pins.accept_definition("s", "tool:echo", &echo("one")).unwrap();
        let huge = json!({"name": "echo", "x": 9_007_199_254_740_993_u64});
        assert!(matches!(pins.server_status("s", "tool:echo", &huge), PinStatus::Changed(_)));
    }
}
