//! Names that no registry takes.
//!
//! INVARIANT: a name that is not refused is 1 to 64 characters of `A-Z a-z 0-9 _ . -`, as on the wire.

use std::fmt;

use serde::Serialize;
use unicode_security::MixedScript;

use crate::hidden::may_hide;

/// Why a name is refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// It means a device to some systems.
    Device,
    /// It is empty.
    Empty,
    /// It holds characters that nobody sees.
    Hidden,
    /// It is longer than 64 characters.
    Long,
    /// It mixes scripts.
    MixedScript,
    /// It reads as a path.
    Path,
    /// It holds white space.
    Space,
    /// It does not begin with a letter or a digit.
    Start,
    /// It holds characters that the wire does not take.
    Wire,
}

impl Refused {
    /// Returns the reason as part of a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "is a device on some systems",
            Self::Empty => "is empty",
            Self::Hidden => "holds characters that nobody sees",
            Self::Long => "is longer than 64 characters",
            Self::MixedScript => "mixes scripts",
            Self::Path => "reads as a path",
            Self::Space => "holds white space",
            Self::Start => "does not begin with a letter or a digit",
            Self::Wire => "holds characters other than letters, digits, `_`, `.` and `-`",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names that some systems take for a device, whatever follows a dot.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Says why no registry takes a name, or `None` if one does.
pub fn refused(name: &str) -> Option<Refused> {
    let reason = if name.is_empty() {
        Refused::Empty
    } else if name.chars().any(|c| c.is_control() || may_hide(c)) {
        Refused::Hidden
    } else if name.chars().any(char::is_whitespace) {
        Refused::Space
    } else if name.contains(['/', '\\']) || name.contains("..") {
        Refused::Path
    } else if !name.is_ascii() && !name.is_single_script() {
        Refused::MixedScript
    } else if name.chars().nth(64).is_some() {
        Refused::Long
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')) {
        Refused::Wire
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') || name.ends_with('.') {
        Refused::Start
    } else if is_device(name) {
        Refused::Device
    } else {
        return None;
    };
    Some(reason)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = (stem.starts_with("com") || stem.starts_with("lpt"))
        && stem.len() == 4
        && stem.ends_with(|c: char| c.is_ascii_digit());
    numbered || DEVICES.contains(&stem.as_str())
}
