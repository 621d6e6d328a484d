//! What can be wrong with a path or a path pattern, as one sentence that names the text.

use crate::Code;

/// Why a text is not a path or a path pattern, or a declaration does not fit.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PathError {
    /// `**` shares a component with other characters.
    #[error("`{text}` has `**` inside a component; it must stand alone between slashes")]
    DeepInside {
        /// The text as written.
        text: String,
    },
    /// There is no text.
    #[error("a path must not be empty")]
    Empty,
    /// A jail needs one literal root and the reach has none or several.
    #[error("`jail = true` needs exactly one literal root in `read` and `write`, and there are {found}")]
    JailRoots {
        /// How many different roots there are.
        found: usize,
    },
    /// A jail was given as a glob.
    #[error("`{text}` cannot be a jail; a jail is one directory, without wildcards")]
    JailWild {
        /// The text as written.
        text: String,
    },
    /// A variable stands elsewhere than at the start, or runs into other text.
    #[error("`{text}` has a variable that is not the first whole component")]
    MisplacedVariable {
        /// The text as written.
        text: String,
    },
    /// A NUL character.
    #[error("`{text}` contains a NUL character")]
    Nul {
        /// The text as written, the NUL escaped.
        text: String,
    },
    /// `~name`.
    #[error("`{text}` names another user's home, which is not supported")]
    OtherHome {
        /// The text as written.
        text: String,
    },
    /// A `..` component.
    #[error("`{text}` contains `..`; write the path it means")]
    Parent {
        /// The text as written.
        text: String,
    },
    /// Not absolute.
    #[error("`{text}` is not absolute")]
    Relative {
        /// The text as written.
        text: String,
    },
    /// A variable that does not exist.
    #[error("`{text}` has an unknown variable; there are `${{home}}`, `${{workspace}}`, `${{self}}` and `~`")]
    UnknownVariable {
        /// The text as written.
        text: String,
    },
    /// A variable without a value.
    #[error("`{text}` needs a value for `{variable}`, and there is none here")]
    Unset {
        /// The text as written.
        text: String,
        /// The variable as written.
        variable: &'static str,
    },
    /// The value of a variable cannot be written as a pattern.
    #[error(
        "the value `{value}` of `{variable}` must be an absolute UTF-8 path without `*`, `?`, `${{` or NUL"
    )]
    Value {
        /// The variable as written.
        variable: &'static str,
        /// Its value.
        value: String,
    },
}

impl PathError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::DeepInside { .. }
            | Self::Empty
            | Self::JailRoots { .. }
            | Self::JailWild { .. }
            | Self::MisplacedVariable { .. }
            | Self::Nul { .. }
            | Self::OtherHome { .. }
            | Self::Parent { .. }
            | Self::Relative { .. }
            | Self::UnknownVariable { .. }
            | Self::Unset { .. }
            | Self::Value { .. } => Code::InputInvalid,
        }
    }
}

/// Returns `text` fit for one line of a message: control characters escaped, everything else as it is.
pub(super) fn shown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
