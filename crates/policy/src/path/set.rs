//! A list of patterns, shared cheaply.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::PathError;
use super::pattern::PathPattern;
use super::variable::Variables;
use super::{cover, normal};

/// Patterns of which one must admit a path. Empty admits nothing. Cloning copies a pointer.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PathSet(Arc<[PathPattern]>);

impl PathSet {
    /// Tells whether one of the patterns admits `path`, absolute and normalised.
    pub fn matches(&self, path: &Path) -> bool {
        normal::components(path).is_some() && self.matches_normal(path)
    }

    pub(super) fn matches_normal(&self, path: &Path) -> bool {
        self.0.iter().any(|pattern| pattern.matches_normal(path))
    }

    /// Tells whether the patterns together admit every path that `pattern` admits.
    pub fn covers(&self, pattern: &PathPattern) -> bool {
        cover::covers(&self.0, pattern)
    }

    /// Tells whether the patterns admit `path`, absolute and normalised, and everything below it.
    pub(super) fn covers_tree(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_encoded_bytes();
        let above = |pattern: &PathPattern| {
            pattern.is_literal() && normal::is_within(bytes, pattern.as_str().as_bytes())
        };
        self.iter().any(above)
            || path
                .to_str()
                .filter(|text| !text.contains(['*', '?']))
                .and_then(|text| text.parse().ok())
                .is_some_and(|tree: PathPattern| self.covers(&tree))
    }

    /// Returns the set with each pattern repeated below another name of its root, where `image` knows one.
    pub(super) fn with_images(&self, image: &dyn Fn(&Path) -> Option<PathBuf>) -> Self {
        let other = |pattern: &PathPattern| pattern.rebased(&image(pattern.root())?);
        let images: Vec<PathPattern> = self.iter().filter_map(other).collect();
        if images.is_empty() { self.clone() } else { self.iter().cloned().chain(images).collect() }
    }

    /// Returns the patterns in the order they were written.
    pub fn iter(&self) -> std::slice::Iter<'_, PathPattern> {
        self.0.iter()
    }

    /// Tells whether nothing is admitted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the set with every variable replaced.
    ///
    /// # Errors
    ///
    /// A variable has no usable value.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        if !self.iter().any(PathPattern::is_unexpanded) {
            return Ok(self.clone());
        }
        self.iter().map(|pattern| pattern.expand(variables)).collect()
    }
}

impl Default for PathSet {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl FromIterator<PathPattern> for PathSet {
    fn from_iter<I: IntoIterator<Item = PathPattern>>(patterns: I) -> Self {
        Self(patterns.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a PathSet {
    type IntoIter = std::slice::Iter<'a, PathPattern>;
    type Item = &'a PathPattern;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(patterns: &[&str]) -> PathSet {
        patterns.iter().map(|text| text.parse::<PathPattern>().unwrap()).collect()
    }

    #[test]
    fn covers_by_all_its_patterns_together() {
        #[rustfmt::skip]
        let cases: &[(&[&str], &str, bool)] = &[
            (&[],                               "/a",       false),
            (&["/a", "/b"],                     "/b/c",     true),
            (&["/a/*", "/a/*/*/**"],            "/a/*/**",  true),
            (&["/a/*", "/a/*/*/**"],            "/a",       false),
            (&["/a/?", "/a/??"],                "/a/?",     true),
            (&["/a/?", "/a/??*"],               "/a/?*",    true),
            (&["~/a", "${workspace}"],          "~/a/b",    true),
            (&["~/a", "${workspace}"],          "~/b",      false),
        ];
        for (wide, narrow, covered) in cases {
            assert_eq!(set(wide).covers(&narrow.parse().unwrap()), *covered, "{wide:?} ⊇ {narrow}");
        }
    }

    #[test]
    fn expands_all_or_nothing() {
        let variables = Variables { home: Some("/home/ada".into()), ..Variables::default() };
        assert_eq!(set(&["~/x", "/y"]).expand(&variables).unwrap(), set(&["/home/ada/x", "/y"]));
        assert!(set(&["~/x", "${self}"]).expand(&variables).is_err());
    }

    #[test]
    fn is_a_list_of_strings_on_the_wire() {
        let written = r#"["/srv/x","~/*.md"]"#;
        let parsed: PathSet = serde_json::from_str(written).unwrap();
        assert_eq!(serde_json::to_string(&parsed).unwrap(), written);
        assert!(serde_json::from_str::<PathSet>(r#"["srv"]"#).is_err());
    }
}
