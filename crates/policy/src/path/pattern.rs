//! What a declaration or a personality writes to admit paths.
//!
//! A literal path means itself and everything below it, by component. A glob matches exactly what it matches:
//! `*` and `?` within a component (`?` is one character, never a byte that is not UTF-8), `**` as a whole component any number of components, none
//! included. So `/srv/x/**` is `/srv/x` and everything below it, which is the literal `/srv/x`, and is kept as such.
//! `[`, `]`, `{`, `}` and `\` are ordinary characters, except in a variable that starts the text.
//!
//! INVARIANT: the text is in its one spelling (no `//`, `.`, `..`, trailing slash or doubled `**`), and parsing
//! it again gives the same pattern.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use super::error::{PathError, shown};
use super::variable::{Variable, Variables};
use super::{cover, glob, normal};
use crate::visited::visited;

/// A path, or a glob of paths, that admits what it matches.
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// use ringfence_policy::PathPattern;
///
/// let pattern: PathPattern = "/srv/uploads".parse()?;
///
/// assert!(pattern.matches(Path::new("/srv/uploads/2026/r.txt")));
/// assert!(!pattern.matches(Path::new("/srv/uploads-evil/r.txt"))); // by component, never by string prefix
/// # Ok::<(), ringfence_policy::PathError>(())
/// ```
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PathPattern {
    text: Arc<str>,
    form: Form,
}

#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Form {
    /// `root` is the length of the text before the first component with a wildcard.
    Glob {
        root: usize,
    },
    Literal,
    Unexpanded(Variable),
}

impl PathPattern {
    /// Tells whether the pattern is one path (and everything below it).
    pub fn is_literal(&self) -> bool {
        matches!(self.form, Form::Literal)
    }

    /// Tells whether a kernel can enforce the pattern by itself: one directory tree or one file.
    ///
    /// A trailing `/**` counts, since it is kept as the literal it means.
    pub fn is_kernel_expressible(&self) -> bool {
        self.is_literal()
    }

    /// Tells whether the pattern still starts with a variable. Then it matches nothing.
    pub fn is_unexpanded(&self) -> bool {
        matches!(self.form, Form::Unexpanded(_))
    }

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the path itself, or for a glob the directory before the first wildcard.
    ///
    /// An unexpanded pattern has none: the path is empty.
    pub fn root(&self) -> &Path {
        match self.form {
            Form::Glob { root } => Path::new(self.text.get(..root).unwrap_or("/")),
            Form::Literal => Path::new(&*self.text),
            Form::Unexpanded(_) => Path::new(""),
        }
    }

    /// Tells whether the pattern admits `path`, which must be absolute and normalised; any other path is not admitted.
    pub fn matches(&self, path: &Path) -> bool {
        normal::components(path).is_some() && self.matches_normal(path)
    }

    /// The same for a path known to be normalised.
    pub(super) fn matches_normal(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_encoded_bytes();
        match self.form {
            Form::Glob { .. } => glob::matches(self.text.as_bytes(), bytes),
            Form::Literal => normal::is_within(bytes, self.text.as_bytes()),
            Form::Unexpanded(_) => false,
        }
    }

    /// Tells whether every path that `other` admits is admitted by this pattern too.
    ///
    /// Exact, also for globs. Patterns with the same unexpanded variable are compared below it; otherwise an
    /// unexpanded pattern covers nothing and is covered by nothing.
    pub fn covers(&self, other: &Self) -> bool {
        cover::covers(std::slice::from_ref(self), other)
    }

    /// Returns the pattern with its variable replaced, or a copy when it has none.
    ///
    /// # Errors
    ///
    /// The variable has no value, or one that is relative, not UTF-8, or would read as a wildcard.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        let Form::Unexpanded(variable) = self.form else { return Ok(self.clone()) };
        let value = variable.value(variables, &self.text)?;
        absolute(&format!("{value}{}", self.below()))
    }

    /// Returns the same pattern below another root, where that can be written as a pattern.
    pub(super) fn rebased(&self, root: &Path) -> Option<Self> {
        let root = root.to_str().filter(|text| text.starts_with('/') && !text.contains(['*', '?']))?;
        match self.form {
            Form::Glob { root: length } => absolute(&format!("{root}/{}", self.text.get(length..)?)).ok(),
            Form::Literal => absolute(root).ok(),
            Form::Unexpanded(_) => None,
        }
    }

    /// Returns what the language of the pattern is made from: the variable, and the text below it.
    pub(super) fn parts(&self) -> (Option<Variable>, &str) {
        match self.form {
            Form::Glob { .. } | Form::Literal => (None, &self.text),
            Form::Unexpanded(variable) => (Some(variable), self.below()),
        }
    }

    /// The text after the variable: empty, or starting with a slash.
    fn below(&self) -> &str {
        self.text.find('/').and_then(|at| self.text.get(at..)).unwrap_or_default()
    }
}

impl FromStr for PathPattern {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.contains('\0') {
            return Err(PathError::Nul { text: shown(text) });
        }
        let split = Variable::split(text)?;
        let rest = split.map_or(text, |(_, rest)| rest);
        if rest.contains("${") {
            return Err(PathError::MisplacedVariable { text: shown(text) });
        }
        match split {
            Some((variable, rest)) => {
                let head = text.strip_suffix(rest).unwrap_or_default();
                let text = format!("{head}{}", canonical(rest, text)?).into();
                Ok(Self { text, form: Form::Unexpanded(variable) })
            }
            None if text.starts_with('/') => absolute(text),
            None => Err(PathError::Relative { text: shown(text) }),
        }
    }
}

/// Makes the pattern of an absolute text without variables.
fn absolute(text: &str) -> Result<PathPattern, PathError> {
    let mut text = canonical(text, text)?;
    if text.is_empty() {
        text.push('/');
    }
    let form = match text.find(['*', '?']) {
        None => Form::Literal,
        Some(wild) => {
            let slash = text.get(..wild).and_then(|before| before.rfind('/')).unwrap_or_default();
            Form::Glob { root: slash.max(1) }
        }
    };
    Ok(PathPattern { text: text.into(), form })
}

/// Returns the one spelling of what follows `/` or a variable: empty, or `/` before each component.
fn canonical(rest: &str, written: &str) -> Result<String, PathError> {
    let mut text = String::with_capacity(rest.len());
    for component in rest.split('/') {
        match component {
            "" | "." => {}
            ".." => return Err(PathError::Parent { text: shown(written) }),
            "**" if text.ends_with("/**") => {}
            deep if deep != "**" && deep.contains("**") => {
                return Err(PathError::DeepInside { text: shown(written) });
            }
            name => {
                text.push('/');
                text.push_str(name);
            }
        }
    }
    if let Some(tree) = text.strip_suffix("/**")
        && !tree.contains(['*', '?'])
    {
        text.truncate(tree.len());
    }
    Ok(text)
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a path, as a string", str::parse)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PathPattern({})", self.text)
    }
}

#[cfg(test)]
mod tests;
