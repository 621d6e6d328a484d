//! A tool that remembers: notes in its own storage, signed with a secret, and a line for the operator.

use ringfence_guest::{Failure, context, log, secrets, storage, tool};

/// The arguments of a call.
#[derive(serde::Deserialize)]
struct Input {
    add: Option<String>,
}

/// Adds a note where one is given, and returns all notes in the order of their keys.
fn notes(input: Input) -> Result<Vec<String>, Failure> {
    if let Some(text) = input.add {
        let signature = secrets::get("NOTES_SIGNATURE")?;
        // The same key when the call comes again, so that a second attempt writes no second note.
        let key = match context::idempotency_key() {
            Some(key) => format!("note/{key}"),
            None => format!("note/{:06}", storage::list("note/")?.len()),
        };
        storage::set(&key, &format!("{text} ({})", mark(&signature, &text)))?;
        log::info(&format!("a note of {} bytes in run {}", text.len(), context::run()));
    }
    let mut notes = Vec::new();
    for key in storage::list("note/")? {
        // A note may expire between the two questions.
        notes.extend(storage::get(&key)?);
    }
    Ok(notes)
}

/// A short mark of a text under a secret. It shows how a secret is used and protects nothing.
fn mark(secret: &str, text: &str) -> String {
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(16_777_619);
    format!("{:08x}", secret.bytes().chain(text.bytes()).fold(2_166_136_261, mix))
}

tool! {
    declaration: "tool.json",
    call: notes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_by_secret_and_by_text() {
        assert_ne!(mark("a", "text"), mark("b", "text"));
        assert_ne!(mark("a", "text"), mark("a", "other"));
    }
}
