//! Resolving and installing with `pip`, where there is no `uv`.
//!
//! `pip` is unpacked once for each interpreter and kept: that alone takes seconds. What was downloaded to resolve is kept until it
//! is installed.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Environment, Resolved, content, requested};
use crate::book::{Lock, private_folder, unique_beside};
use crate::error::CommandError;
use crate::install::{InstallError, PATIENCE, Scaffold};
use crate::load::read_text;

/// A `pip` that no package has touched.
pub(super) struct Pip {
    /// The folder of the environment that it is in, which steps only read.
    home: PathBuf,
    /// The folder of its code.
    code: PathBuf,
}

impl Pip {
    /// Finds the one that was unpacked for this interpreter, or unpacks it.
    pub(super) fn find(environment: &Environment<'_>) -> Result<Self, InstallError> {
        let folder = crate::sandbox::private_folder().join("pip");
        private_folder(&folder)?;
        let failed = |error| CommandError::File { verb: "use", path: folder.clone(), error, hint: None };
        let folder = folder.canonicalize().map_err(failed)?;
        let home = folder.join(name_of(environment.python).map_err(failed)?);
        let _lock = Lock::within(&home.with_extension("lock"), PATIENCE)?;
        if !home.exists() {
            let made = Scaffold(unique_beside(&home));
            private_folder(&made.0)?;
            let venv = ["-I", "-m", "venv"].iter().map(OsString::from).chain([made.0.clone().into()]);
            let mut step =
                environment.step("unpacking pip for the install", environment.python, venv.collect(), None);
            (step.folder, step.starts_own) = (&made.0, true);
            step.run()?;
            let _removed = std::fs::remove_dir_all(made.0.join(".home"));
            let failed = |error| CommandError::File { verb: "move", path: home.clone(), error, hint: None };
            std::fs::rename(&made.0, &home).map_err(failed)?;
        }
        let code = code_in(&home).ok_or_else(|| content(environment.install, "`pip` was not unpacked"))?;
        Ok(Self { home, code })
    }

    /// One in this folder, which need not be there.
    #[cfg(test)]
    pub(super) fn at(home: &str) -> Self {
        Self { home: home.into(), code: Path::new(home).join("lib/pip") }
    }

    /// Finds out what a package comes to.
    pub(super) fn resolve(&self, environment: &Environment<'_>) -> Result<Vec<Resolved>, InstallError> {
        let path = environment.folder.join("report.json");
        let mut words = self.words(environment);
        words.extend(["--dry-run".into(), "--report".into(), path.clone().into(), "--".into()]);
        words.extend(requested(environment.install).into_iter().map(OsString::from));
        self.run("the resolution", words, environment)?;
        let text = read_text(&path, None)?;
        let report: Value = serde_json::from_str(&text)
            .map_err(|error| content(environment.install, &format!("its report: {error}")))?;
        Ok(parse_report(&report))
    }

    /// Installs what was resolved, each file by its digest.
    pub(super) fn install(&self, environment: &Environment<'_>, pinned: PathBuf) -> Result<(), InstallError> {
        let mut words = self.words(environment);
        words.extend(["--no-deps", "--require-hashes", "-r"].map(OsString::from));
        words.push(pinned.into());
        self.run("the install", words, environment)
    }

    /// The words that both steps have.
    pub(super) fn words(&self, environment: &Environment<'_>) -> Vec<OsString> {
        let fixed = [
            "install",
            "--only-binary",
            ":all:",
            "--isolated",
            "--ignore-installed",
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar",
            "off",
            "--quiet",
            "--no-compile",
            "--index-url",
            environment.source.url.as_str(),
            "--cache-dir",
        ];
        let mut words: Vec<OsString> = vec!["-I".into(), self.code.clone().into()];
        words.extend(fixed.iter().map(OsString::from));
        words.push(environment.folder.join(".home/pip").into());
        words
    }

    fn run(
        &self,
        name: &'static str,
        arguments: Vec<OsString>,
        environment: &Environment<'_>,
    ) -> Result<(), InstallError> {
        let python = environment.folder.join("bin/python3");
        let mut step = environment.step(name, &python, arguments, Some(&environment.source.grant));
        step.readable.push(self.home.clone());
        step.run()
    }
}

/// Names the folder after the interpreter: another one, or a newer one in its place, has its own.
fn name_of(python: &Path) -> std::io::Result<String> {
    let real = python.canonicalize()?;
    let about = std::fs::metadata(&real)?;
    let known = json!({ "path": real, "size": about.size(), "changed": about.ctime() });
    let digest = ringfence::json_digest(&known).map_err(std::io::Error::other)?;
    Ok(format!("python-{}", digest.get(..24).unwrap_or_default()))
}

fn code_in(home: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(home.join("lib")).ok()?.filter_map(Result::ok);
    let mut found = versions.map(|version| version.path().join("site-packages/pip"));
    found.find(|code| code.join("__main__.py").is_file())
}

fn parse_report(report: &Value) -> Vec<Resolved> {
    let listed = report.get("install").and_then(Value::as_array).into_iter().flatten();
    let resolved = listed.map(|one| {
        let text = |place: &str| one.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        Resolved {
            name: text("/metadata/name"),
            version: text("/metadata/version"),
            digests: vec![text("/download_info/archive_info/hashes/sha256")],
        }
    });
    resolved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_each_package_with_its_digest() {
        let report = json!({"install": [
            {"metadata": {"name": "a", "version": "1"}, "download_info": {"archive_info": {"hashes": {"sha256": "01"}}}},
            {"metadata": {"name": "b"}},
        ]});
        let of = |name: &str, version: &str, digest: &str| Resolved {
            name: name.to_owned(),
            version: version.to_owned(),
            digests: vec![digest.to_owned()],
        };
        assert_eq!(parse_report(&report), [of("a", "1", "01"), of("b", "", "")]);
    }
}
