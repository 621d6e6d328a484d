//! What the compiler says of the platform that code is built for.
//!
//! INVARIANT: a [`Cfg`] holds exactly the lines that `rustc --print cfg` wrote; what a build script adds is not known here.

use std::collections::BTreeSet;

use cargo_metadata::cargo_platform::{self, Platform};

use super::ProjectError;

/// The platform that code is built for.
///
/// # Examples
///
/// ```
/// use ringfence_lint::Cfg;
///
/// let cfg = Cfg::parse("unix\ntarget_os=\"linux\"\n")?;
/// assert!(cfg.is_set("unix"));
/// assert!(cfg.has("target_os", "linux"));
/// assert!(!cfg.has("target_os", "windows"));
/// # Ok::<(), ringfence_lint::ProjectError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    entries: Vec<cargo_platform::Cfg>,
    names: BTreeSet<String>,
    pairs: BTreeSet<(String, String)>,
}

impl Cfg {
    /// Reads what `rustc --print cfg` wrote.
    ///
    /// # Errors
    ///
    /// Names the line that is neither `name` nor `key="value"`.
    pub fn parse(text: &str) -> Result<Self, ProjectError> {
        let mut cfg = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let entry: cargo_platform::Cfg =
                line.parse().map_err(|_| ProjectError::Cfg { line: index + 1, text: line.to_owned() })?;
            match &entry {
                cargo_platform::Cfg::Name(name) => cfg.names.insert(name.as_str().to_owned()),
                cargo_platform::Cfg::KeyPair(key, value) => {
                    cfg.pairs.insert((key.as_str().to_owned(), value.clone()))
                }
            };
            cfg.entries.push(entry);
        }
        Ok(cfg)
    }

    /// Says whether a bare name is set, such as `unix`.
    pub fn is_set(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Says whether a key has a value, such as `target_os = "linux"`.
    pub fn has(&self, key: &str, value: &str) -> bool {
        self.pairs.contains(&(key.to_owned(), value.to_owned()))
    }

    /// Says whether the dependencies of a platform table of a manifest are used.
    ///
    /// A platform that is named by its triple is compared by architecture, system and environment, because the compiler does not
    /// write the triple among its settings.
    pub fn admits(&self, platform: &Platform) -> bool {
        match platform {
            Platform::Cfg(expression) => expression.matches(&self.entries),
            Platform::Name(triple) => self.could_be(triple),
        }
    }

    fn could_be(&self, triple: &str) -> bool {
        let value =
            |key: &str| self.pairs.iter().find(|(own, _)| own == key).map_or("", |(_, value)| value.as_str());
        let mut parts = triple.split('-');
        let architecture = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        let system = match value("target_os") {
            "macos" => "darwin",
            other => other,
        };
        let environment = value("target_env");
        let last = rest.last().copied().unwrap_or_default();
        (architecture == value("target_arch")
            || (architecture.starts_with('i') && value("target_arch") == "x86"))
            && rest.contains(&system)
            && (last.starts_with(environment) || last == system)
    }
}

#[cfg(test)]
pub(crate) const LINUX: &str = "debug_assertions\npanic=\"unwind\"\ntarget_arch=\"x86_64\"\ntarget_endian=\"little\"\ntarget_env=\"gnu\"\ntarget_family=\"unix\"\ntarget_os=\"linux\"\ntarget_pointer_width=\"64\"\ntarget_vendor=\"unknown\"\ntarget_has_atomic=\"64\"\nunix\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_the_platform_it_was_read_on_and_no_other() {
        let cfg = Cfg::parse(LINUX).unwrap();
        #[rustfmt::skip]
        let cases = [
            ("cfg(unix)",                                                   true),
            ("cfg(windows)",                                                false),
            ("cfg(all(unix, not(target_os = \"macos\")))",                  true),
            ("cfg(any(target_os = \"wasi\", target_env = \"msvc\"))",       false),
            ("x86_64-unknown-linux-gnu",                                    true),
            ("x86_64-unknown-linux-musl",                                   false),
            ("x86_64-pc-windows-msvc",                                      false),
            ("aarch64-unknown-linux-gnu",                                   false),
            ("x86_64-apple-darwin",                                         false),
        ];
        for (platform, admitted) in cases {
            assert_eq!(cfg.admits(&platform.parse().unwrap()), admitted, "{platform}");
        }
    }

    #[test]
    fn names_the_line_that_cannot_be_read() {
        let error = Cfg::parse("unix\n= \"x\"\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2 of the compiler's settings cannot be read: `= \"x\"`");
    }
}
