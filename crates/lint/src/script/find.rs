//! Finds the files of a package for Node, and those of the packages that it needs, where Node would find them.
//!
//! INVARIANT: only files below the folder of a package are named as its files, and nothing runs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::dynamic::{ScriptError, files_below, read_text};
use crate::{Effect, Hop, Place};

const MAX_PACKAGES: usize = 5_000;
const SOURCES: [&str; 8] = [".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts"];
const SKIPPED: [&str; 6] = ["node_modules", "__tests__", "tests", "test", ".git", "__mocks__"];

/// A package and what it needs.
#[derive(Debug)]
pub struct Closure {
    pub(super) packages: Vec<Found>,
    numbers: BTreeMap<PathBuf, usize>,
}

impl Closure {
    /// Returns the package that one finds under a name, whether or not it says that it needs it.
    pub(super) fn needed_by(&self, package: &Found, name: &str) -> Option<usize> {
        let listed = package.needs.get(name).copied();
        listed.or_else(|| {
            let folder = is_package_name(name).then(|| folder_of(&package.folder, name)).flatten()?;
            self.numbers.get(&folder).copied()
        })
    }
}

/// One package.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) checksum: Option<String>,
    pub(super) own: bool,
    pub(super) folder: PathBuf,
    /// The files of source, as paths below the folder.
    pub(super) files: Vec<String>,
    pub(super) natives: Vec<String>,
    pub(super) description: Value,
    /// The packages that it finds, by the name under which it imports them.
    pub(super) needs: HashMap<String, usize>,
    pub(super) holds: Vec<(Effect, Hop)>,
}

/// Finds a package by its folder, which holds `package.json`.
pub fn find(path: &Path) -> Result<Closure, ScriptError> {
    let read = |source| ScriptError::Read { path: path.into(), source };
    let folder = fs::canonicalize(path).map_err(read)?;
    if !folder.join("package.json").is_file() {
        return Err(ScriptError::Absent { what: "package.json", path: path.into() });
    }
    let mut locks = Locks::default();
    let mut numbers: BTreeMap<PathBuf, usize> = BTreeMap::from([(folder.clone(), 0)]);
    let mut packages = vec![package(&folder, true, &mut locks)?];
    let mut waiting = VecDeque::from([0]);
    while let Some(number) = waiting.pop_front() {
        let Some((from, names)) =
            packages.get(number).map(|found| (found.folder.clone(), needed(&found.description)))
        else {
            continue;
        };
        for name in names {
            let Some(folder) = folder_of(&from, &name) else { continue };
            let known = match numbers.get(&folder) {
                Some(known) => *known,
                None => {
                    let next = packages.len();
                    if next >= MAX_PACKAGES {
                        return Err(ScriptError::TooMany {
                            what: "packages",
                            path: folder,
                            limit: MAX_PACKAGES,
                        });
                    }
                    packages.push(package(&folder, false, &mut locks)?);
                    numbers.insert(folder, next);
                    waiting.push_back(next);
                    next
                }
            };
            if let Some(found) = packages.get_mut(number) {
                found.needs.insert(name, known);
            }
        }
    }
    Ok(Closure { packages, numbers })
}

/// Returns the names of the packages that one says it needs; of peers and optional ones, those that are there count.
fn needed(description: &Value) -> Vec<String> {
    let lists = ["dependencies", "optionalDependencies", "peerDependencies"];
    let all = lists
        .iter()
        .filter_map(|list| description.get(list)?.as_object())
        .flat_map(|list| list.keys().cloned());
    let mut names: Vec<String> = all.filter(|name| is_package_name(name)).collect();
    names.sort();
    names.dedup();
    names
}

/// A name that would lead out of `node_modules` is no name.
fn is_package_name(name: &str) -> bool {
    let parts = name.split('/').count();
    let is_plain =
        name.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains('\\'));
    is_plain && parts <= 2 && (parts == 1 || name.starts_with('@'))
}

/// Looks for a package the way Node does: in `node_modules` here, then one folder further up, and so on.
fn folder_of(from: &Path, name: &str) -> Option<PathBuf> {
    let above = from.ancestors().filter(|folder| !folder.ends_with("node_modules"));
    let found = above
        .map(|folder| folder.join("node_modules").join(name))
        .find(|one| one.join("package.json").is_file())?;
    fs::canonicalize(found).ok()
}

fn package(folder: &Path, own: bool, locks: &mut Locks) -> Result<Found, ScriptError> {
    let path = folder.join("package.json");
    let text = read_text(&path)?.unwrap_or_default();
    let description: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ScriptError::Malformed { path, reason: error.to_string() })?;
    let word = |key: &str| description.get(key).and_then(Value::as_str).map(str::to_owned);
    let fallback =
        folder.file_name().map_or_else(|| "package".into(), |name| name.to_string_lossy().into_owned());
    let name = word("name").unwrap_or(fallback);
    let version = word("version").unwrap_or_else(|| "0.0.0".into());
    let checksum = if own { None } else { locks.integrity(folder) };
    let shown = if own { String::new() } else { format!("{name}-{version}/") };
    let mut found = Found {
        name,
        version,
        checksum,
        own,
        folder: folder.into(),
        files: Vec::new(),
        natives: Vec::new(),
        description,
        needs: HashMap::new(),
        holds: Vec::new(),
    };
    let hop = |file: &str, name: &str| Hop {
        name: name.to_owned(),
        place: Some(Place { file: format!("{shown}{file}"), line: 1, column: 1 }),
    };
    let scripts = found.description.get("scripts").cloned().unwrap_or_default();
    for script in ["preinstall", "install", "postinstall"] {
        if let Some(command) = scripts.get(script).and_then(Value::as_str) {
            found.holds.push((Effect::BuildScript, hop("package.json", &format!("{script}: {command}"))));
        }
    }
    let enter = |below: &str| !SKIPPED.contains(&below.rsplit('/').next().unwrap_or(below));
    let listed = files_below(folder, &enter)?;
    for file in listed.files {
        if file == "binding.gyp" {
            found.holds.push((Effect::BuildScript, hop(&file, "binding.gyp")));
        } else if file.ends_with(".node") {
            found.holds.push((Effect::NativeAddon, hop(&file, "compiled code")));
            found.natives.push(file);
        } else if file.ends_with(".wasm") {
            found.holds.push((Effect::Unanalyzed, hop(&file, "WebAssembly")));
        } else if is_source(&file) {
            found.files.push(file);
        }
    }
    for link in listed.links.iter().filter(|link| is_source(link)) {
        found.holds.push((Effect::Unanalyzed, hop(link, "a link, which is not followed")));
    }
    Ok(found)
}

/// Says whether a file is source: no declaration of types, no test, no configuration of a test runner.
pub(super) fn is_source(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_declaration = name.ends_with(".d.ts") || name.ends_with(".d.mts") || name.ends_with(".d.cts");
    let is_test = name.contains(".test.") || name.contains(".spec.") || name.starts_with("vitest.config.");
    SOURCES.iter().any(|end| name.ends_with(end)) && !is_declaration && !is_test
}

/// The lock files that were read: for each, what it says of each folder.
#[derive(Default)]
struct Locks(HashMap<PathBuf, HashMap<String, String>>);

impl Locks {
    fn integrity(&mut self, folder: &Path) -> Option<String> {
        // `a/node_modules/b/node_modules/c` is listed below `a`.
        let roots =
            folder.ancestors().filter(|above| above.ends_with("node_modules")).filter_map(Path::parent);
        for root in roots {
            let below = folder.strip_prefix(root).ok()?.to_string_lossy().into_owned();
            let known = self.0.entry(root.into()).or_insert_with(|| read_lock(root));
            if let Some(found) = known.get(&below) {
                return Some(found.clone());
            }
        }
        None
    }
}

fn read_lock(root: &Path) -> HashMap<String, String> {
    let files = [root.join("package-lock.json"), root.join("node_modules/.package-lock.json")];
    let text = files.iter().filter(|file| file.is_file()).find_map(|file| read_text(file).ok().flatten());
    let lock: Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let packages = lock.get("packages").and_then(Value::as_object).into_iter().flatten();
    let integrity = |package: &Value| package.get("integrity").and_then(Value::as_str).map(str::to_owned);
    packages.filter_map(|(folder, package)| Some((folder.clone(), integrity(package)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_no_names() {
        #[rustfmt::skip]
        let cases = [
            ("zod", true), ("@scope/name", true), ("lodash.merge", true),
            ("../x", false), ("@a/../b", false), ("a/b", false), ("", false), ("/etc", false), ("@a/b/c", false),
        ];
        for (name, good) in cases {
            assert_eq!(is_package_name(name), good, "{name}");
        }
    }

    #[test]
    fn tests_and_declarations_are_no_source() {
        #[rustfmt::skip]
        let cases = [
            ("a.js", true), ("a/b.mjs", true), ("c.tsx", true), ("d.d.ts", false), ("e.test.js", false), ("f.spec.ts", false),
            ("g.json", false), ("h.min.js", true), ("i.d.mts", false),
        ];
        for (file, source) in cases {
            assert_eq!(is_source(file), source, "{file}");
        }
    }
}
