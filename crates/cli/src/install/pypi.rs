//! Packages of the Python package index.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::fence::Step;
use super::registry::Source;
use super::{Install, InstallError, Installed, Record, find_other_binary, is_script};
use crate::error::CommandError;
use crate::load::read_text;

/// Makes a virtual environment and installs a package into it, from wheels only: a source package would run code to be built.
pub(super) fn install(
    install: &Install,
    source: &Source,
    folder: &Path,
    until: Instant,
) -> Result<Record, InstallError> {
    let missing = InstallError::Missing { program: "python3", package: install.package.clone() };
    let python = find_other_binary("python3").ok_or(missing)?;
    let readable = interpreter_folders(&python);
    let step = |name, program, arguments: Vec<OsString>, starts_own, network| Step {
        name,
        package: &install.package,
        program,
        arguments,
        folder,
        readable: readable.clone(),
        kept: Vec::new(),
        starts_own,
        variables: Vec::new(),
        network,
        until,
    };
    let venv = ["-I", "-m", "venv"].iter().map(OsString::from).chain([folder.into()]).collect();
    step("making a virtual environment for the install", &python, venv, true, None).run()?;
    let own = folder.join("bin/python3");
    // What is resolved is read before anything is unpacked: a package could write over it. Only that is then installed.
    step("the resolution", &own, resolving(install, source, folder), false, Some(&source.grant)).run()?;
    let text = read_text(&folder.join("report.json"), None)?;
    let report: Value =
        serde_json::from_str(&text).map_err(|error| content(install, &format!("its report: {error}")))?;
    let record = recorded(install, source, &report)?;
    let pinned = folder.join("requirements.txt");
    let failed = |error| CommandError::File { verb: "write", path: pinned.clone(), error, hint: None };
    std::fs::write(&pinned, requirements(install, &report)?).map_err(failed)?;
    step("the install", &own, installing(source, &pinned), false, Some(&source.grant)).run()?;
    let _removed = std::fs::remove_dir_all(folder.join(".home"));
    Ok(record)
}

/// Writes down what was resolved: every package with its version and its digest.
fn requirements(install: &Install, report: &Value) -> Result<String, InstallError> {
    let mut lines = String::new();
    for one in report.get("install").and_then(Value::as_array).into_iter().flatten() {
        let text = |place: &str| one.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let (name, version) = (text("/metadata/name"), text("/metadata/version"));
        let digest = text("/download_info/archive_info/hashes/sha256");
        let is_word = |text: &str| {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '!');
            !text.is_empty() && text.chars().all(legal) && !text.starts_with('-')
        };
        if !is_word(name) || !is_word(version) || !is_word(digest) {
            return Err(content(install, "its report names a package without a version or a digest"));
        }
        lines.push_str(&format!("{name}=={version} --hash=sha256:{digest}\n"));
    }
    Ok(lines)
}

/// The words that every step of pip has.
fn words(source: &Source) -> Vec<OsString> {
    let fixed = [
        "-m",
        "pip",
        "install",
        "--only-binary",
        ":all:",
        "--isolated",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "--quiet",
        "--no-compile",
        "--index-url",
    ];
    fixed.iter().map(OsString::from).chain([source.url.clone().into()]).collect()
}

fn resolving(install: &Install, source: &Source, folder: &Path) -> Vec<OsString> {
    let mut words = words(source);
    words.extend(["--dry-run".into(), "--report".into(), folder.join("report.json").into(), "--".into()]);
    words.push(format!("{}{}", install.package, install.version.as_deref().unwrap_or_default()).into());
    words.extend(install.with.iter().map(OsString::from));
    words
}

fn installing(source: &Source, requirements: &Path) -> Vec<OsString> {
    let mut words = words(source);
    words.extend(["--no-deps", "--require-hashes", "-r"].map(OsString::from));
    words.push(requirements.into());
    words
}

fn recorded(install: &Install, source: &Source, report: &Value) -> Result<Record, InstallError> {
    let listed = report.get("install").and_then(Value::as_array).into_iter().flatten();
    let wanted = plain(install.package.split('[').next().unwrap_or_default());
    let text = |value: &Value, place: &str| {
        value.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let own = listed.into_iter().find(|one| plain(&text(one, "/metadata/name")) == wanted);
    let own = own.ok_or_else(|| content(install, "its report does not name it"))?;
    let version = text(own, "/metadata/version");
    let digest = text(own, "/download_info/archive_info/hashes/sha256");
    if version.is_empty() || digest.is_empty() {
        return Err(content(install, "the registry gave no version or no digest of it"));
    }
    let integrity = format!("sha256:{digest}");
    Ok(Record { package: install.package.clone(), version, integrity, registry: source.url.clone() })
}

/// Returns what to run of an installed package. Scripts are given to the interpreter: the first line of each names the folder in
/// which it was made.
pub(super) fn program(install: &Install, root: &Path, record: Record) -> Result<Installed, InstallError> {
    let command = install.command.as_deref().unwrap_or_default();
    let script = root.join("bin").join(command);
    if command.is_empty() || !script.is_file() {
        let message = format!("it has no program `{command}`");
        return Err(content(install, &message));
    }
    let mut arguments = install.arguments.clone();
    let program = if is_script(&script) {
        arguments.insert(0, script.to_string_lossy().into_owned());
        root.join("bin/python3")
    } else {
        script
    };
    // Not what the environment says of itself: a package could have written that.
    let beside = find_other_binary("python3").map(|python| interpreter_folders(&python)).unwrap_or_default();
    Ok(Installed { program, arguments, root: root.to_path_buf(), beside, record })
}

/// The folders that an interpreter needs which is not one of the platform.
fn interpreter_folders(python: &Path) -> Vec<PathBuf> {
    let real = python.canonicalize().unwrap_or_else(|_| python.to_path_buf());
    let prefix = real.parent().and_then(Path::parent).map(Path::to_path_buf);
    prefix.filter(|prefix| super::own::is_fit(prefix) && prefix != Path::new("/usr")).into_iter().collect()
}

/// Names of packages differ in case, `_`, `.` and `-` without a difference.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn content(install: &Install, message: &str) -> InstallError {
    InstallError::Content { package: install.package.clone(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_built() {
        let line = ["uvx", "--with", "mcp<2", "mcp-server-sqlite@2025.4"].map(str::to_owned);
        let install = Install::read(&line).unwrap().unwrap();
        let source =
            Source::of(&install, Some(&["r.example".parse().unwrap()].into_iter().collect())).unwrap();
        let all = [resolving(&install, &source, Path::new("/f")), installing(&source, Path::new("/f/r.txt"))];
        for words in &all {
            let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
            assert!(words.windows(2).any(|pair| pair == ["--only-binary", ":all:"]));
            assert!(words.windows(2).any(|pair| pair == ["--index-url", "https://r.example/simple/"]));
            assert!(words.contains(&"--isolated"));
        }
        let words: Vec<&str> = all[0].iter().map(|word| word.to_str().unwrap()).collect();
        assert!(words.contains(&"--dry-run"));
        assert_eq!(words[words.len() - 3..], ["--", "mcp-server-sqlite==2025.4", "mcp<2"]);
    }
}
