//! Resolving and installing with `uv`: it reads metadata alone to resolve, and downloads side by side.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Environment, Resolved, content, requested};
use crate::error::CommandError;
use crate::install::InstallError;
use crate::install::find_other_binary;
use crate::load::read_text;

/// The `uv` of this machine.
pub(super) struct Uv(PathBuf);

impl Uv {
    /// Finds it on the search path of the system or of the client.
    pub(super) fn find() -> Option<Self> {
        find_other_binary("uv").map(Self)
    }

    /// Finds out what a package comes to, without unpacking anything.
    pub(super) fn resolve(&self, environment: &Environment<'_>) -> Result<Vec<Resolved>, InstallError> {
        let asked = environment.folder.join("requirements.in");
        let failed = |error| CommandError::File { verb: "write", path: asked.clone(), error, hint: None };
        std::fs::write(&asked, requested(environment.install).join("\n") + "\n").map_err(failed)?;
        let locked = environment.folder.join("pylock.toml");
        let mut words = words("compile", environment);
        words.extend(["--format", "pylock.toml", "--output-file"].map(OsString::from));
        words.extend([locked.clone().into(), asked.into()]);
        self.run("the resolution", words, environment)?;
        let text = read_text(&locked, None)?;
        parse_lock(&text)
            .map_err(|message| content(environment.install, &format!("its lock file: {message}")))
    }

    /// Installs what was resolved, each file by its digest.
    pub(super) fn install(&self, environment: &Environment<'_>, pinned: PathBuf) -> Result<(), InstallError> {
        let mut words = words("install", environment);
        words.extend(["--no-deps", "--require-hashes", "--requirements"].map(OsString::from));
        words.push(pinned.into());
        self.run("the install", words, environment)
    }

    fn run(
        &self,
        name: &'static str,
        arguments: Vec<OsString>,
        environment: &Environment<'_>,
    ) -> Result<(), InstallError> {
        let mut step = environment.step(name, &self.0, arguments, Some(&environment.source.grant));
        // It asks the interpreter which wheels fit.
        step.starts_own = true;
        step.variables = vec![("UV_CACHE_DIR", environment.folder.join(".home/uv").into())];
        step.run()
    }
}

/// The words that both steps have. No configuration file is read: one could undo any of this.
pub(super) fn words(what: &str, environment: &Environment<'_>) -> Vec<OsString> {
    let fixed = [
        "pip",
        what,
        "--only-binary",
        ":all:",
        "--no-config",
        "--no-python-downloads",
        "--no-progress",
        "--quiet",
        "--index-url",
        environment.source.url.as_str(),
        "--python",
    ];
    let mut words: Vec<OsString> = fixed.iter().map(OsString::from).collect();
    words.push(environment.folder.join("bin/python3").into());
    words
}

/// Reads which files `uv` chose. A package may have several wheels that fit this machine.
fn parse_lock(text: &str) -> Result<Vec<Resolved>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let packages = table.get("packages").and_then(toml::Value::as_array);
    let packages = packages.ok_or_else(|| "it names no packages".to_owned())?;
    let text = |of: &toml::Value, name: &str| {
        of.get(name).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let resolved = packages.iter().map(|package| {
        let wheels = package.get("wheels").and_then(toml::Value::as_array).into_iter().flatten();
        let digests = wheels.filter_map(|wheel| wheel.get("hashes")).map(|hashes| text(hashes, "sha256"));
        Resolved {
            name: text(package, "name"),
            version: text(package, "version"),
            digests: digests.collect(),
        }
    });
    Ok(resolved.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_of_all_fitting_wheels_are_read() {
        let lock = r#"
            lock-version = "1.0"
            [[packages]]
            name = "a"
            version = "1.0"
            wheels = [
                { url = "https://r.example/a1.whl", upload-time = 2026-07-23T20:16:12Z, hashes = { sha256 = "01" } },
                { url = "https://r.example/a2.whl", hashes = { sha256 = "02" } },
            ]
            [[packages]]
            name = "b"
            version = "2.0"
            sdist = { url = "https://r.example/b.tar.gz", hashes = { sha256 = "03" } }
        "#;
        let of = |name: &str, version: &str, digests: &[&str]| Resolved {
            name: name.to_owned(),
            version: version.to_owned(),
            digests: digests.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(parse_lock(lock).unwrap(), [of("a", "1.0", &["01", "02"]), of("b", "2.0", &[])]);
        assert!(parse_lock("lock-version = 1").is_err());
        assert!(parse_lock("[[packages").is_err());
    }
}
