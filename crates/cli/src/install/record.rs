//! What was installed, written down beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::registry::Source;
use super::{Install, InstallError, Kind};
use crate::book::replace;
use crate::load::read_text;

const FILE: &str = "ringfence-install.json";

/// What a package was resolved to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// What was asked for, so that one folder never stands for two packages.
    pub(crate) package: String,
    /// The version that was found.
    pub(crate) version: String,
    /// The digest that the registry gives of it, with its kind before it.
    pub(crate) integrity: String,
    /// Where it came from.
    pub(crate) registry: String,
}

impl Record {
    /// Reads the record of a whole install; nothing where there is none.
    pub(super) fn read(root: &Path, install: &Install) -> Result<Option<Self>, InstallError> {
        let path = root.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = read_text(&path, Some("remove the folder, or wrap with --refresh"))?;
        let content = |message: String| InstallError::Content { package: install.package.clone(), message };
        let record: Self =
            serde_json::from_str(&text).map_err(|error| content(format!("`{FILE}`: {error}")))?;
        if record.package != install.package {
            return Err(content(format!("`{FILE}` is of `{}`", record.package)));
        }
        Ok(Some(record))
    }

    pub(super) fn write(&self, root: &Path) -> Result<(), InstallError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(replace(&root.join(FILE), &(text + "\n"))?)
    }
}

/// Returns the name of the folder: a digest of everything that was asked for.
pub(super) fn folder_name(install: &Install, source: &Source) -> String {
    let kind = match install.kind {
        Kind::Npm => "npm",
        Kind::PyPi => "pypi",
    };
    let asked = json!({
        "kind": kind, "package": install.package, "version": install.version, "with": install.with, "registry": source.url,
    });
    // A text of plain strings always has a digest.
    let digest = ringfence::json_digest(&asked).unwrap_or_default();
    let readable: String =
        install.package.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    // Not by the name of the registry: that and a long name look like one of its tokens.
    let start = match install.kind {
        Kind::Npm => "npm",
        Kind::PyPi => "python",
    };
    format!("{start}-{readable}-{}", digest.get(..24).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_install_is_not_taken_for_a_token() {
        let hosts = ["r.example".parse().unwrap()].into_iter().collect();
        for package in
            ["mcp-server-git", "a-very-long-package-name-of-forty-characters", "my-secret-token-server"]
        {
            for line in [format!("uvx {package}"), format!("npx -y {package}"), format!("pipx run {package}")]
            {
                let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                let install = Install::read(&words).unwrap().unwrap();
                let source = Source::of(&install, Some(&hosts)).unwrap();
                let path =
                    format!("/home/me/.local/state/ringfence/installs/{}/x", folder_name(&install, &source));
                assert_eq!(ringfence::text::clean(&path).text, path, "{line}");
            }
        }
    }
}
