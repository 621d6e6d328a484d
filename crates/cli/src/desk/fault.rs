//! What a command would say, in the words of the desk.

use ringfence_server::console::DeskError;

use crate::error::CommandError;

/// Turns a fault of the files into the desk's.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn files(error: CommandError) -> DeskError {
    let told = error.to_string();
    let message = match &error {
        CommandError::Toolbox { details, .. } => {
            let lines: Vec<&str> = details.lines().map(str::trim).collect();
            format!("{told}: {}", lines.join("; "))
        }
        _ => told,
    };
    DeskError::Files { message, hint: error.hint().map(str::to_owned) }
}

/// A request that cannot be understood.
pub(super) fn input(message: impl Into<String>) -> DeskError {
    DeskError::Input { message: message.into(), hint: None }
}

/// Refuses what is no digest at all, before it is compared with one.
pub(super) fn whole_digest(digest: &str) -> Result<(), DeskError> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digest.len() == 64 && digest.bytes().all(is_digit) {
        return Ok(());
    }
    Err(input("a digest is 64 small hexadecimal digits"))
}
