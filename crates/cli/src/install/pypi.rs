//! Packages of the Python package index.

mod pip;
mod uv;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ringfence::policy::NetworkGrant;

use self::pip::Pip;
use self::uv::Uv;
use super::fence::Step;
use super::registry::Source;
use super::{Install, InstallError, Installed, Record, find_other_binary, is_script};
use crate::error::CommandError;

/// What all steps of one install share.
struct Environment<'a> {
    install: &'a Install,
    source: &'a Source,
    /// The folder of the virtual environment.
    folder: &'a Path,
    /// The interpreter that it is made from.
    python: &'a Path,
    /// The folders that the interpreter needs.
    readable: Vec<PathBuf>,
    until: Instant,
}

impl Environment<'_> {
    fn step<'s>(
        &'s self,
        name: &'static str,
        program: &'s Path,
        arguments: Vec<OsString>,
        network: Option<&'s NetworkGrant>,
    ) -> Step<'s> {
        Step {
            name,
            package: &self.install.package,
            program,
            arguments,
            folder: self.folder,
            readable: self.readable.clone(),
            kept: Vec::new(),
            starts_own: false,
            variables: Vec::new(),
            network,
            until: self.until,
        }
    }
}

/// A package as it was resolved.
#[derive(Debug, PartialEq)]
struct Resolved {
    name: String,
    version: String,
    /// SHA-256 of each file that may be installed, in hexadecimal.
    digests: Vec<String>,
}

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
    let environment = Environment { install, source, folder, python: &python, readable, until };
    let venv = ["-I", "-m", "venv", "--without-pip"].iter().map(OsString::from).chain([folder.into()]);
    let name = "making a virtual environment for the install";
    let mut step = environment.step(name, &python, venv.collect(), None);
    step.starts_own = true;
    step.run()?;
    // What is resolved is read before anything is unpacked: a package could write over it. Only that is then installed.
    let quick = match Uv::find().map(|uv| (uv.resolve(&environment), uv)) {
        Some((Ok(resolved), uv)) => Some((uv, resolved)),
        // One that does not know these options, or cannot run in the sandbox; what is wrong otherwise `pip` says too.
        Some((Err(InstallError::Failed { .. } | InstallError::Content { .. }), _)) | None => None,
        Some((Err(error), _)) => return Err(error),
    };
    let record = match quick {
        Some((uv, resolved)) => {
            let record = recorded(install, source, &resolved)?;
            uv.install(&environment, pinned(&environment, &resolved)?)?;
            record
        }
        None => {
            let pip = Pip::find(&environment)?;
            let resolved = pip.resolve(&environment)?;
            let record = recorded(install, source, &resolved)?;
            pip.install(&environment, pinned(&environment, &resolved)?)?;
            record
        }
    };
    let _removed = std::fs::remove_dir_all(folder.join(".home"));
    Ok(record)
}

/// Returns what is asked for, in the words of both installers.
fn requested(install: &Install) -> Vec<String> {
    let own = format!("{}{}", install.package, install.version.as_deref().unwrap_or_default());
    std::iter::once(own).chain(install.with.iter().cloned()).collect()
}

/// Writes the file of what was resolved.
fn pinned(environment: &Environment<'_>, resolved: &[Resolved]) -> Result<PathBuf, InstallError> {
    let path = environment.folder.join("requirements.txt");
    let failed = |error| CommandError::File { verb: "write", path: path.clone(), error, hint: None };
    std::fs::write(&path, requirements(environment.install, resolved)?).map_err(failed)?;
    Ok(path)
}

/// Writes down what was resolved: every package with its version and its digests.
fn requirements(install: &Install, resolved: &[Resolved]) -> Result<String, InstallError> {
    let is_word = |text: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '!');
        !text.is_empty() && text.chars().all(legal) && !text.starts_with('-')
    };
    let mut lines = String::new();
    for Resolved { name, version, digests } in resolved {
        let has_digests = !digests.is_empty() && digests.iter().all(|digest| is_word(digest));
        if !is_word(name) || !is_word(version) || !has_digests {
            return Err(content(install, "it needs a package without a version or a digest"));
        }
        lines.push_str(&format!("{name}=={version}"));
        for digest in digests {
            lines.push_str(&format!(" --hash=sha256:{digest}"));
        }
        lines.push('\n');
    }
    Ok(lines)
}

fn recorded(install: &Install, source: &Source, resolved: &[Resolved]) -> Result<Record, InstallError> {
    let wanted = plain(install.package.split('[').next().unwrap_or_default());
    let own = resolved.iter().find(|one| plain(&one.name) == wanted);
    let own = own.ok_or_else(|| content(install, "what was resolved does not name it"))?;
    if own.version.is_empty() || own.digests.iter().all(String::is_empty) {
        return Err(content(install, "the registry gave no version or no digest of it"));
    }
    // Of several files that fit this machine, one was installed.
    let digests: Vec<String> = own.digests.iter().map(|digest| format!("sha256:{digest}")).collect();
    Ok(Record {
        package: install.package.clone(),
        version: own.version.clone(),
        integrity: digests.join(" "),
        registry: source.url.clone(),
    })
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
        let line = ["uvx", "mcp-server-sqlite"].map(str::to_owned);
        let install = &Install::read(&line).unwrap().unwrap();
        let source =
            &Source::of(install, Some(&["r.example".parse().unwrap()].into_iter().collect())).unwrap();
        let (folder, python) = (Path::new("/f"), Path::new("/usr/bin/python3"));
        let (readable, until) = (Vec::new(), Instant::now());
        let environment = Environment { install, source, folder, python, readable, until };
        let own = ["compile", "install"].map(|what| uv::words(what, &environment));
        let all = own.map(|words| (words, "--no-config")).into_iter();
        for (words, isolated) in all.chain([(Pip::at("/p").words(&environment), "--isolated")]) {
            let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
            assert!(words.windows(2).any(|pair| pair == ["--only-binary", ":all:"]));
            assert!(words.windows(2).any(|pair| pair == ["--index-url", "https://r.example/simple/"]));
            assert!(words.contains(&isolated));
        }
    }

    #[test]
    fn only_what_was_resolved_is_installed() {
        let line = ["uvx", "--with", "mcp<2", "mcp-server-sqlite@2025.4"].map(str::to_owned);
        let install = Install::read(&line).unwrap().unwrap();
        assert_eq!(requested(&install), ["mcp-server-sqlite==2025.4", "mcp<2"]);
        let of = |name: &str, version: &str, digests: &[&str]| Resolved {
            name: name.to_owned(),
            version: version.to_owned(),
            digests: digests.iter().map(ToString::to_string).collect(),
        };
        let both = [of("MCP_server.sqlite", "2025.4", &["0a"]), of("mcp", "1.9", &["0b", "0c"])];
        let expected =
            "MCP_server.sqlite==2025.4 --hash=sha256:0a\nmcp==1.9 --hash=sha256:0b --hash=sha256:0c\n";
        assert_eq!(requirements(&install, &both).unwrap(), expected);
        let source =
            Source::of(&install, Some(&["r.example".parse().unwrap()].into_iter().collect())).unwrap();
        let record = recorded(&install, &source, &both).unwrap();
        assert_eq!((record.version.as_str(), record.integrity.as_str()), ("2025.4", "sha256:0a"));
        for odd in [
            of("a", "1", &[]),
            of("a", "1", &[""]),
            of("a", "", &["0a"]),
            of("--index-url", "1", &["0a"]),
            of("a", "1 -r x", &["0a"]),
            of("a", "1", &["0a", "b\nc"]),
        ] {
            assert!(requirements(&install, &[odd]).is_err());
        }
        assert!(recorded(&install, &source, &both[1..]).is_err());
    }
}
