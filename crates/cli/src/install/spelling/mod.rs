//! Commands that install a package and run it, in the spellings that people use.
//!
//! INVARIANT: what is not understood is refused, never guessed: a flag that we skip could change what is installed.

mod npm;
mod python;

use std::path::Path;

/// A package that is to be installed, and what of it is to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Install {
    /// Where it comes from.
    pub(crate) kind: Kind,
    /// Its name, with the extras of a Python package.
    pub(crate) package: String,
    /// What is asked of its version, as its registry writes that: `1.2.3` or `^1` for npm, `==1.2` for Python; absent = any.
    pub(crate) version: Option<String>,
    /// Further packages beside it.
    pub(crate) with: Vec<String>,
    /// The program of the package; absent = its only one, or the one of its name.
    pub(crate) command: Option<String>,
    /// The program's arguments.
    pub(crate) arguments: Vec<String>,
}

/// A kind of registry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// npm.
    Npm,
    /// The Python package index.
    PyPi,
}

/// Why a command that installs something is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum SpellingError {
    /// It names something that is not in a registry.
    #[error("`{spec}` is not a package of a registry, and only those are installed inside the fence")]
    Elsewhere { spec: String },
    /// It has an option that we do not know or must not follow.
    #[error("`{program}` is given the option `{option}`, which is not followed inside the fence")]
    Option { program: &'static str, option: String },
    /// An option lacks its value.
    #[error("`{program}` is given `{option}` without a value")]
    NoValue { program: &'static str, option: String },
    /// It names no package.
    #[error("`{program}` is given no package to run")]
    Nothing { program: &'static str },
    /// It installs with something that we do not stand in for.
    #[error("`{program}` installs what it runs, and is not known here")]
    Unknown { program: &'static str },
}

impl SpellingError {
    /// Says what would help.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Elsewhere { .. } => "install it yourself and wrap the program that it brings",
            Self::Option { .. } => {
                "leave the option out; hosts of another registry are named in the server's `registry`"
            }
            Self::NoValue { .. } | Self::Nothing { .. } => "write it as `npx -y PACKAGE` or `uvx PACKAGE`",
            Self::Unknown { .. } => "write it as `npx -y PACKAGE`, or install it yourself",
        }
    }
}

impl Install {
    /// Reads a command; nothing where it is one that installs nothing.
    pub(crate) fn read(command: &[String]) -> Result<Option<Self>, SpellingError> {
        let Some((program, rest)) = command.split_first() else { return Ok(None) };
        let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (first, after) = match rest.split_first() {
            Some((first, after)) => (first.as_str(), after),
            None => ("", rest),
        };
        let unknown = |program| Err(SpellingError::Unknown { program });
        match (name, first) {
            ("npx", _) => npm::npx(rest).map(Some),
            ("npm", "exec" | "x") => npm::npm_exec(after).map(Some),
            ("uvx", _) => python::uvx("uvx", rest).map(Some),
            ("uv", "tool") => match after.split_first() {
                Some((run, after)) if run == "run" => python::uvx("uv tool run", after).map(Some),
                _ => unknown("uv tool"),
            },
            ("pipx", "run") => python::pipx(after).map(Some),
            ("pipx", _) => unknown("pipx"),
            ("bunx", _) | ("bun", "x") => unknown("bunx"),
            ("pnpx", _) | ("pnpm", "dlx" | "exec") => unknown("pnpm dlx"),
            ("yarn", "dlx") => unknown("yarn dlx"),
            _ => Ok(None),
        }
    }
}

/// Goes through the words of a command line.
struct Words<'a> {
    program: &'static str,
    rest: &'a [String],
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The value of an option: what follows `=`, or the next word.
    fn value(&mut self, option: &str, inline: Option<&'a str>) -> Result<&'a str, SpellingError> {
        let value = inline.or_else(|| self.next()).filter(|value| !value.is_empty());
        value.ok_or_else(|| SpellingError::NoValue { program: self.program, option: option.to_owned() })
    }

    fn refused(&self, option: &str) -> SpellingError {
        // The value may be a credential.
        let option = option.split('=').next().unwrap_or_default();
        SpellingError::Option { program: self.program, option: option.to_owned() }
    }

    fn nothing(&self) -> SpellingError {
        SpellingError::Nothing { program: self.program }
    }
}

/// Splits `--option=value`.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((option, value)) => (option, Some(value)),
        None => (word, None),
    }
}

#[cfg(test)]
mod tests;
