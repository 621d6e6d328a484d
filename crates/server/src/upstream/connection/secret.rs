//! Takes the values of the secrets that a server was given out of what it says.

use super::Connection;

/// What stands for the value of a secret.
const REDACTED: &str = "[secret]";

impl Connection {
    /// Takes the values of secrets out of what a server says, wherever they stand.
    pub(super) fn without_secrets(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        // What is written with escapes is looked at as it will be read.
        if !self.secrets.is_empty()
            && text.contains('\\')
            && let Ok(mut value) = serde_json::from_str(&text)
            && redact(&mut value, &self.secrets)
        {
            text = value.to_string();
        }
        text
    }
}

/// Takes the values of secrets out of the strings and names of a value. Returns whether there were any.
fn redact(value: &mut serde_json::Value, secrets: &[String]) -> bool {
    use serde_json::Value;
    let clean = |text: &str| {
        let mut text = text.to_owned();
        for secret in secrets {
            text = text.replace(secret.as_str(), REDACTED);
        }
        text
    };
    let holds = |text: &str| secrets.iter().any(|secret| text.contains(secret.as_str()));
    match value {
        Value::String(text) if holds(text) => {
            *text = clean(text);
            true
        }
        Value::Array(items) => {
            let mut found = false;
            for item in items {
                found |= redact(item, secrets);
            }
            found
        }
        Value::Object(members) => {
            let mut found = false;
            if members.keys().any(|name| holds(name)) {
                *members =
                    std::mem::take(members).into_iter().map(|(name, value)| (clean(&name), value)).collect();
                found = true;
            }
            for (_, member) in members.iter_mut() {
                found |= redact(member, secrets);
            }
            found
        }
        _ => false,
    }
}
