//! The name of a server whose command line gives it none.
//!
//! Pins, what was seen and the `[[server]]` entry are found by it, so that two servers of one name would share them.
//!
//! INVARIANT: a name says which package or program it is. A word that many servers have (`index`, `main`) is never one.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use ringfence::policy::ServerName;
use serde_json::Value;

use crate::error::CommandError;
use crate::install::{Install, is_fit};
use crate::load::read_text;

/// Programs that run a script that one of their arguments names.
const INTERPRETERS: &[&str] =
    &["bun", "deno", "node", "nodejs", "perl", "pypy", "python", "ruby", "ts-node", "tsx", "uv"];
/// Programs that start something else, which is not to be read from their arguments.
const STARTERS: &[&str] = &[
    "bash", "cargo", "cmd", "docker", "dotnet", "env", "go", "java", "make", "nice", "npm", "pnpm", "podman",
    "sh", "sudo", "yarn", "zsh",
];
/// Options of interpreters that are followed by a value.
const VALUED: &[&str] = &[
    "-C",
    "-W",
    "-X",
    "-r",
    "--conditions",
    "--directory",
    "--env-file",
    "--extra",
    "--import",
    "--loader",
    "--package",
    "--project",
    "--python",
    "--require",
    "--with",
];
/// Endings of scripts.
const SCRIPTS: &[&str] = &["cjs", "cts", "js", "mjs", "mts", "pl", "py", "rb", "ts"];
/// Words that say nothing of a server.
const GENERIC: &[&str] = &[
    "app",
    "bin",
    "build",
    "cli",
    "dist",
    "index",
    "lib",
    "main",
    "mcp",
    "mcp-server",
    "out",
    "run",
    "script",
    "server",
    "src",
    "start",
    "stdio",
];
/// How far above a script its package is looked for.
const DEPTH: usize = 6;
/// How long a name may be.
const LONGEST: usize = 32;

/// A name, and who chose it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Named {
    pub(super) name: ServerName,
    pub(super) by: By,
}

/// Who chose a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum By {
    /// Whoever wrote the command line.
    Command,
    /// The package, in a file of its own.
    Package,
}

/// Makes a name of a command: the package that it installs, the package that its script lies in, or the program.
pub(super) fn name_of(command: &[String]) -> Result<Named, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    let read = Install::read(command).map_err(|error| input(error.to_string(), error.hint()))?;
    let found = match read {
        Some(install) => of_package(&install.package).map(|name| (name, By::Command)),
        None => of_program(command),
    };
    let named = found.and_then(|(name, by)| Some(Named { name: name.parse().ok()?, by }));
    named.ok_or_else(|| {
        input(
            "no name for the server can be made of its command, and its pins are kept by its name".to_owned(),
            "give it one with `--name NAME`",
        )
    })
}

/// The last part of a package's name; with its scope, where it says nothing alone.
fn of_package(package: &str) -> Option<String> {
    let package = package.split('[').next().unwrap_or(package).trim_start_matches('@');
    let (scope, own) = package.rsplit_once('/').unwrap_or(("", package));
    telling(own).or_else(|| telling(&format!("{scope}/{own}")))
}

fn of_program(command: &[String]) -> Option<(String, By)> {
    let (program, arguments) = command.split_first()?;
    let name = Path::new(program).file_name()?.to_str()?;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if STARTERS.contains(&stem) {
        return None;
    }
    if !INTERPRETERS.contains(&stem) {
        return of_script(Path::new(program));
    }
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => return telling(words.next()?).map(|name| (name, By::Command)),
            "-c" | "-e" | "-p" | "--eval" | "--print" | "-" => return None,
            "run" if matches!(stem, "bun" | "deno" | "uv") => {}
            word if VALUED.contains(&word) => _ = words.next(),
            word if word.starts_with('-') => {}
            word => return of_script(Path::new(word)),
        }
    }
    None
}

fn of_script(script: &Path) -> Option<(String, By)> {
    if let Some(package) = installed_package(script) {
        return of_package(&package).map(|name| (name, By::Command));
    }
    let own = if script.extension().and_then(OsStr::to_str).is_some_and(|end| SCRIPTS.contains(&end)) {
        script.file_stem()
    } else {
        script.file_name()
    };
    // A folder that is run is a package, whatever it is called.
    let own = own.filter(|_| !script.is_dir()).and_then(OsStr::to_str).and_then(telling);
    let is_script = own.is_none() || script.extension().is_some();
    // A program that has a name of its own needs none of the folder that it lies in.
    let package = if is_script { package_above(script) } else { None };
    match (package.as_deref().and_then(of_package), own) {
        (None, own) => own.map(|name| (name, By::Command)),
        (Some(package), None) => Some((package, By::Package)),
        (Some(package), Some(own)) => {
            let parts: Vec<&str> = package.split('-').collect();
            let is_said = own.split('-').all(|part| parts.contains(&part));
            // Several scripts of one project are several servers.
            let both = format!("{package}-{own}");
            if is_said {
                Some((package, By::Package))
            } else {
                (both.len() <= LONGEST).then_some((both, By::Package))
            }
        }
    }
}

/// Returns the package that a script belongs to which lies among installed packages.
fn installed_package(script: &Path) -> Option<String> {
    let parts: Vec<&str> = script
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None })
        .collect();
    let modules = parts.iter().rposition(|part| *part == "node_modules")?;
    match parts.get(modules + 1..)? {
        [".bin", name] => Some((*name).to_owned()),
        [scope, name, ..] if scope.starts_with('@') => Some(format!("{scope}/{name}")),
        [name, _, ..] => Some((*name).to_owned()),
        _ => None,
    }
}

/// Returns what the package that a script lies in calls itself; nothing of what lies above a repository or a home folder.
fn package_above(script: &Path) -> Option<String> {
    let script = script.canonicalize().ok()?;
    let from = if script.is_dir() { Some(script.as_path()) } else { script.parent() };
    for folder in from?.ancestors().take(DEPTH).take_while(|folder| is_fit(folder)) {
        if let Some(name) = called_in(folder) {
            return Some(name);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

fn called_in(folder: &Path) -> Option<String> {
    let text = |name: &str| -> Option<String> {
        let path: PathBuf = folder.join(name);
        path.is_file().then(|| read_text(&path, None).ok())?
    };
    let node = text("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let node = node.as_ref().and_then(|own| own.get("name")).and_then(Value::as_str).map(str::to_owned);
    node.or_else(|| {
        let python: toml::Table = text("pyproject.toml")?.parse().ok()?;
        let project = python.get("project").or_else(|| python.get("tool")?.get("poetry"))?;
        Some(project.get("name")?.as_str()?.to_owned())
    })
}

/// Returns a text as a name, where it says something of a server.
fn telling(text: &str) -> Option<String> {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().map(legal).collect();
    let cut: String = text.trim_matches('-').chars().take(LONGEST).collect();
    let name = cut.trim_end_matches('-');
    (!name.is_empty() && !GENERIC.contains(&name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
