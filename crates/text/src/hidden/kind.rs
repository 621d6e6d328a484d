//! The kinds of hidden characters.

use std::fmt;

use serde::Serialize;

/// What kind of hidden character it is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HiddenKind {
    /// Interlinear annotation: text that is laid over other text.
    Annotation,
    /// Embeddings, overrides, isolates and marks that change the order of what is seen.
    Bidi,
    /// A control character other than tab and line ends.
    Control,
    /// A letter that has no glyph.
    Filler,
    /// Another code point that is ignored where it is not supported.
    Format,
    /// A joiner that joins nothing.
    Joiner,
    /// A code point that is never a character.
    Noncharacter,
    /// A hyphen that is shown only at the end of a line.
    SoftHyphen,
    /// An invisible copy of ASCII.
    Tag,
    /// A selector without a variant to select.
    VariationSelector,
    /// A space without a width.
    ZeroWidth,
}

impl HiddenKind {
    /// Returns the name, as it is serialised.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Bidi => "bidi",
            Self::Control => "control",
            Self::Filler => "filler",
            Self::Format => "format",
            Self::Joiner => "joiner",
            Self::Noncharacter => "noncharacter",
            Self::SoftHyphen => "soft-hyphen",
            Self::Tag => "tag",
            Self::VariationSelector => "variation-selector",
            Self::ZeroWidth => "zero-width",
        }
    }
}

impl fmt::Display for HiddenKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
