//! What goes wrong between us and an engine.

use ringfence_policy::Code;
use ringfence_sandbox::SandboxError;

/// Why an engine did not do what it was asked for.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The address is none, or none that may be used.
    #[error("the engine's address `{address}` cannot be used: {why}")]
    Address {
        /// Which address.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nobody answers there.
    #[error("no engine answers at `{address}`, {place}: {error}")]
    Absent {
        /// Which address.
        address: String,
        /// What it was asked for.
        place: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// The engine said no.
    #[error("the engine refused, {place}: {message} (status {status})")]
    Refused {
        /// What it was asked for.
        place: &'static str,
        /// Its status.
        status: u16,
        /// Its sentence, cut to one line.
        message: String,
    },
    /// The engine answered something that is no answer.
    #[error("the engine's answer cannot be read, {place}: {why}")]
    Garbled {
        /// What it was asked for.
        place: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The engine took too long.
    #[error("the engine did not answer within {seconds} seconds, {place}")]
    Late {
        /// What it was asked for.
        place: &'static str,
        /// How long it had.
        seconds: u64,
    },
    /// The image is not the one that was named, or is not fit.
    #[error("the image `{image}` cannot be used: {why}")]
    Image {
        /// Which image.
        image: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something of the plan that this engine cannot be told.
    #[error("the engine cannot be told {what}")]
    Untold {
        /// What.
        what: String,
    },
    /// Something on this machine failed.
    #[error("{place}: {error}")]
    Here {
        /// What was tried.
        place: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
}

/// More of an engine's sentence is not shown: its beginning, and its end, where the reason stands.
const BEGINNING: usize = 140;
const END: usize = 220;

impl ContainerError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Absent { .. }
            | Self::Address { .. }
            | Self::Garbled { .. }
            | Self::Here { .. }
            | Self::Image { .. }
            | Self::Late { .. }
            | Self::Refused { .. }
            | Self::Untold { .. } => Code::NotAvailable,
        }
    }

    /// Returns what to do about it, where that is known.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Absent { .. } => Some("start the engine, or give the address that it listens at"),
            Self::Address { .. } => {
                Some("an address is `unix:///path`, or `tcp://host:port` of this machine")
            }
            Self::Image { .. } => {
                Some("an image is named as `name@sha256:…`, and must be at the engine already")
            }
            Self::Garbled { .. }
            | Self::Here { .. }
            | Self::Late { .. }
            | Self::Refused { .. }
            | Self::Untold { .. } => None,
        }
    }

    /// Returns what an engine said, as one short line.
    pub(crate) fn refused(place: &'static str, status: u16, text: &str) -> Self {
        let line: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
        let mut message: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = message.chars().count();
        if length > BEGINNING + END {
            let (beginning, end) = (message.chars().take(BEGINNING), message.chars().skip(length - END));
            message = beginning.chain([' ', '…', ' ']).chain(end).collect();
        }
        if message.is_empty() {
            message.push_str("it did not say why");
        }
        Self::Refused { place, status, message }
    }

    /// Tells whether what it was asked about is not there.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Returns this as the reason why a command did not run.
    pub(crate) fn into_sandbox(self, program: &std::path::Path) -> SandboxError {
        match self {
            Self::Refused { message, .. } if is_missing_program(&message) => SandboxError::Program {
                path: program.to_path_buf(),
                why: "the image has no such program".into(),
            },
            Self::Untold { what } => SandboxError::Inexpressible { what },
            other => SandboxError::Absent { backend: crate::engine::NAME, why: other.to_string() },
        }
    }
}

fn is_missing_program(message: &str) -> bool {
    ["executable file not found", "command that was not found"].iter().any(|part| message.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_keeps_its_end() {
        let long = format!("cannot start\n{} permission denied", "é".repeat(1000));
        let ContainerError::Refused { message, .. } = ContainerError::refused("starting", 500, &long) else {
            panic!("it was refused")
        };
        assert!(
            message.starts_with("cannot start é") && message.ends_with("é permission denied"),
            "{message}"
        );
        assert_eq!(message.chars().count(), BEGINNING + END + 3);
        assert!(ContainerError::refused("starting", 500, "\n").to_string().contains("it did not say why"));
    }
}
