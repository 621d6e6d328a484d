//! Packages of npm.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::fence::Step;
use super::registry::Source;
use super::{Install, InstallError, Installed, Record, find_binary};
use crate::load::read_text;

/// Installs a package and what it needs into a folder, without running a script of any of them.
pub(super) fn install(
    install: &Install,
    source: &Source,
    folder: &Path,
    until: Instant,
) -> Result<Record, InstallError> {
    let missing = |program| InstallError::Missing { program, package: install.package.clone() };
    let node = find_binary("node").ok_or_else(|| missing("node"))?;
    let (npm, readable) = npm().ok_or_else(|| missing("npm"))?;
    let mut arguments: Vec<OsString> = vec![npm.into()];
    arguments.extend(words(install, source, folder));
    let step = Step {
        name: "the install",
        package: &install.package,
        program: &node,
        arguments,
        folder,
        readable,
        kept: Vec::new(),
        starts_own: false,
        variables: vec![("npm_config_cache", folder.join(".npm-cache").into())],
        network: Some(&source.grant),
        until,
    };
    step.run()?;
    for left in [".npm-cache", ".home"] {
        let _removed = std::fs::remove_dir_all(folder.join(left));
    }
    let lock = json(&folder.join("package-lock.json"), install)?;
    let own =
        lock.get("packages").and_then(|packages| packages.get(format!("node_modules/{}", install.package)));
    let text =
        |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, integrity) = (text("version"), text("integrity"));
    if version.is_empty() || integrity.is_empty() {
        return Err(content(install, "the registry gave no version or no digest of it"));
    }
    Ok(Record { package: install.package.clone(), version, integrity, registry: source.url.clone() })
}

/// The command line of npm. Its configuration files are not read: they are not there, and they could undo any of this.
fn words(install: &Install, source: &Source, folder: &Path) -> Vec<OsString> {
    let fixed = [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--omit=dev",
        "--install-links=false",
        "--no-progress",
        "--save-exact",
        "--allow-git=none",
        "--fetch-retries=1",
        "--fetch-retry-mintimeout=1000",
    ];
    let mut words: Vec<OsString> = fixed.iter().map(OsString::from).collect();
    words.push(format!("--registry={}", source.url).into());
    for kind in ["userconfig", "globalconfig"] {
        words.push(format!("--{kind}={}", folder.join(".home").join(kind).display()).into());
    }
    words.push("--prefix".into());
    words.push(folder.into());
    words.push("--".into());
    let version = install.version.as_deref().unwrap_or("latest");
    words.push(format!("{}@{version}", install.package).into());
    words.extend(install.with.iter().map(OsString::from));
    words
}

/// Returns what to run of an installed package.
pub(super) fn program(install: &Install, root: &Path, record: Record) -> Result<Installed, InstallError> {
    let missing = InstallError::Missing { program: "node", package: install.package.clone() };
    let node = find_binary("node").ok_or(missing)?;
    let package = root.join("node_modules").join(&install.package);
    let manifest = json(&package.join("package.json"), install)?;
    let script = bin(&manifest, install)?;
    let script = package.join(script);
    let real = script.canonicalize().ok().filter(|real| real.starts_with(root) && real.is_file());
    let real = real.ok_or_else(|| content(install, "its program is not in the package"))?;
    let first = std::fs::read(&real).map_err(|error| content(install, &format!("its program: {error}")))?;
    let first = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.starts_with(b"#!") && !String::from_utf8_lossy(first).contains("node") {
        return Err(content(install, "its program is not a script of Node"));
    }
    let mut arguments = vec![real.to_string_lossy().into_owned()];
    arguments.extend(install.arguments.iter().cloned());
    Ok(Installed { program: node, arguments, root: root.to_path_buf(), beside: Vec::new(), record })
}

/// Chooses the program as `npx` does: the one that is named, the only one, or the one of the package's name.
fn bin(manifest: &Value, install: &Install) -> Result<String, InstallError> {
    let short = install.package.rsplit('/').next().unwrap_or_default();
    let programs: Vec<(&str, &str)> = match manifest.get("bin") {
        Some(Value::String(path)) => vec![(short, path)],
        Some(Value::Object(map)) => {
            map.iter().filter_map(|(name, path)| Some((name.as_str(), path.as_str()?))).collect()
        }
        _ => Vec::new(),
    };
    let named = |wanted: &str| programs.iter().find(|(name, _)| *name == wanted).map(|(_, path)| *path);
    let only = || programs.first().filter(|(_, first)| programs.iter().all(|(_, path)| path == first));
    let chosen = match &install.command {
        Some(command) => named(command),
        None => only().map(|(_, path)| *path).or_else(|| named(short)),
    };
    let names = || {
        programs.iter().map(|(name, _)| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ")
    };
    chosen.map(str::to_owned).ok_or_else(|| match programs.is_empty() {
        true => content(install, "it has no program"),
        false => content(install, &format!("none of its programs is meant: it has {}", names())),
    })
}

/// Returns the script of npm, and its own folder.
fn npm() -> Option<(PathBuf, Vec<PathBuf>)> {
    let own = std::env::var_os("PATH");
    let folders =
        own.iter().flat_map(std::env::split_paths).chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    let found = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("npm"));
    let script = found
        .filter_map(|path| path.canonicalize().ok())
        .find(|path| path.extension().is_some_and(|end| end == "js"))?;
    let root = script.ancestors().skip(1).find(|folder| folder.join("package.json").is_file())?.to_path_buf();
    Some((script, vec![root]))
}

fn json(path: &Path, install: &Install) -> Result<Value, InstallError> {
    let text = read_text(path, None)?;
    serde_json::from_str(&text).map_err(|error| content(install, &format!("`{}`: {error}", path.display())))
}

fn content(install: &Install, message: &str) -> InstallError {
    InstallError::Content { package: install.package.clone(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &str) -> Install {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Install::read(&words).unwrap().unwrap()
    }

    #[test]
    fn no_script_of_a_package_runs() {
        let install = read("npx -p @a/b@^1 -p c tool");
        let source =
            Source::of(&install, Some(&["r.example".parse().unwrap()].into_iter().collect())).unwrap();
        let words = words(&install, &source, Path::new("/f"));
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        for needed in [
            "--ignore-scripts",
            "--userconfig=/f/.home/userconfig",
            "--registry=https://r.example/",
            "--allow-git=none",
            "--fetch-retries=1",
            "--fetch-retry-mintimeout=1000",
        ] {
            assert!(words.contains(&needed), "{needed}");
        }
        assert_eq!(words[words.len() - 3..], ["--", "@a/b@^1", "c"]);
    }

    #[test]
    fn the_program_is_chosen_as_npx_does() {
        #[rustfmt::skip]
        let cases = [
            ("npx @a/b",           json!({"bin": "./x.js"}),                    Some("./x.js")),
            ("npx @a/b",           json!({"bin": {"other": "x.js"}}),           Some("x.js")),
            ("npx @a/b",           json!({"bin": {"c": "x.js", "b": "y.js"}}),  Some("y.js")),
            ("npx @a/b",           json!({"bin": {"c": "x.js", "d": "x.js"}}),  Some("x.js")),
            ("npx @a/b",           json!({"bin": {"c": "x.js", "d": "y.js"}}),  None),
            ("npx @a/b",           json!({}),                                   None),
            ("npx -p @a/b c",      json!({"bin": {"c": "x.js", "b": "y.js"}}),  Some("x.js")),
            ("npx -p @a/b d",      json!({"bin": {"c": "x.js"}}),               None),
            ("npx -p @a/b b",      json!({"bin": "z.js"}),                      Some("z.js")),
        ];
        for (line, manifest, wanted) in cases {
            assert_eq!(bin(&manifest, &read(line)).ok().as_deref(), wanted, "{line} {manifest}");
        }
    }
}
