//! Texts of some form.
//!
//! INVARIANT: a pattern is never narrower than the type that reads the text: what `ringfence check` takes, an editor does not underline.
//! It may be wider, since a pattern cannot say everything.

/// A text of some form.
#[derive(Debug)]
pub struct Word {
    /// What it is, as in "a list of …".
    pub what: &'static str,
    /// A regular expression that it fits, in the part of the language that all dialects share.
    pub pattern: Option<&'static str>,
}

const fn word(what: &'static str, pattern: &'static str) -> Word {
    Word { what, pattern: Some(pattern) }
}

const fn text(what: &'static str) -> Word {
    Word { what, pattern: None }
}

pub(super) static ADDRESS: Word =
    word("an address and a port", r"^(\[[0-9A-Fa-f:.%]+\]|[0-9.]+):[0-9]{1,5}$");
pub(super) static BINARY: Word = word("a program", r"^(\*|[^\s*-][^\s*]*)$");
pub(super) static DIGEST: Word = word("the digest of a token", "^sha256:[0-9a-f]{64}$");
pub(super) static DURATION: Word = word("a duration", "^0*[1-9][0-9]*(ms|s|m|h|d)$");
pub(super) static FILE: Word = text("a file");
pub(super) static HOST: Word = word("a host", r"^(\*(:[0-9]{1,5})?|(\*\.)?[^\s*/?#@]+)$");
pub(super) static HOST_NAME: Word = word("a host name", r"^[^\s*/?#@]+$");
pub(super) static IMAGE: Word =
    word("an image by its digest", "^[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}$");
pub(super) static PATH: Word = word("a path", r"^(/|~(/|$)|\$\{(workspace|home|self)\}(/|$))");
pub(super) static PRIVATE: Word = word("a host, an address or a range", r"^(\*\.)?[^\s*?#@]+$");
pub(super) static SECRET: Word = word("a secret's ref", r"^[^\s*]+(/\*)?$");
pub(super) static SERVER_NAME: Word = word("a server's name", "^[a-z0-9](_?[a-z0-9-])*$");
pub(super) static SIZE: Word = word("a size", "^[0-9]+[KMG]?$");
pub(super) static TEXT: Word = text("a text");
pub(super) static TOOL_NAME: Word = word("a tool's name", "^[A-Za-z0-9_.-]{1,128}$");
pub(super) static UNLIMITED: Word = word("`unlimited`", "^unlimited$");
pub(super) static URL: Word = text("a URL");
pub(super) static VARIABLE: Word = word("a variable's name", r"^[^\s*=]+$");
pub(super) static VARIABLE_KEY: Word = word("a variable's name", r"^[^\s=]+$");
