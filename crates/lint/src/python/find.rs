//! Finds the modules of a Python project, and those of the distributions that it needs.
//!
//! INVARIANT: only files below the project and below its environment's `site-packages` are named, and nothing runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::requirement::{Requirement, needed, normal};
use crate::dynamic::{ScriptError, files_below, read_text};
use crate::{Effect, Hop, Place};

/// Folders that hold no code of the project.
const SKIPPED: [&str; 11] = [
    "__pycache__",
    ".git",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "node_modules",
    "tests",
    "test",
    "__tests__",
    ".mypy_cache",
];
const MAX_DISTRIBUTIONS: usize = 2_000;

/// A project and what it needs.
#[derive(Debug)]
pub struct Closure {
    pub(super) distributions: Vec<Distribution>,
}

/// One distribution: the project itself, or one that is installed.
#[derive(Debug)]
pub(super) struct Distribution {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) checksum: Option<String>,
    pub(super) own: bool,
    pub(super) modules: Vec<Module>,
    /// The names of compiled modules.
    pub(super) natives: Vec<String>,
    /// What the distribution is, besides its modules.
    pub(super) holds: Vec<(Effect, Hop)>,
}

/// One file of source.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) is_package: bool,
    pub(super) path: PathBuf,
    pub(super) shown: String,
}

/// Finds a project by its folder or its file; or by the folder of a package in `site-packages`, the distribution that it is of.
pub fn find(path: &Path) -> Result<Closure, ScriptError> {
    let read = |source| ScriptError::Read { path: path.into(), source };
    let path = fs::canonicalize(path).map_err(read)?;
    let parent = path.parent().unwrap_or(&path);
    if has_distributions(parent) {
        let installed = Installed::of(parent)?;
        let below = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let owner = installed
            .owner(&below)
            .ok_or(ScriptError::Absent { what: "distribution", path: path.clone() })?;
        return installed.closure(&owner);
    }
    let folder = if path.is_file() { parent } else { &path };
    let mut own = project(folder)?;
    if own.modules.is_empty() && own.holds.is_empty() {
        return Err(ScriptError::Absent { what: "Python source", path });
    }
    let mut distributions = Vec::new();
    if let Some(site) = environment_of(folder)? {
        let installed = Installed::of(&site)?;
        distributions = installed.needed_by(wanted_by(folder)?)?;
        distributions.retain(|one| one.name != own.name);
    }
    own.own = true;
    distributions.insert(0, own);
    Ok(Closure { distributions })
}

/// Finds an installed distribution by its name in a virtual environment or a `site-packages` folder.
pub fn find_installed(environment: &Path, name: &str) -> Result<Closure, ScriptError> {
    let site =
        if has_distributions(environment) { Some(environment.to_owned()) } else { site_of(environment)? };
    let site =
        site.ok_or(ScriptError::Absent { what: "installed distribution", path: environment.into() })?;
    Installed::of(&site)?.closure(&normal(name))
}

/// The distributions of one `site-packages` folder, by normalised name.
struct Installed {
    site: PathBuf,
    found: BTreeMap<String, PathBuf>,
}

impl Installed {
    fn of(site: &Path) -> Result<Self, ScriptError> {
        let mut found = BTreeMap::new();
        for name in names_in(site)? {
            if let Some((name, _)) = name.strip_suffix(".dist-info").and_then(|stem| stem.rsplit_once('-')) {
                found.insert(normal(name), site.join(format!("{name}-{}", version_part(site, name)?)));
            }
            if found.len() > MAX_DISTRIBUTIONS {
                return Err(ScriptError::TooMany {
                    what: "distributions",
                    path: site.into(),
                    limit: MAX_DISTRIBUTIONS,
                });
            }
        }
        Ok(Self { site: site.into(), found })
    }

    /// Returns the distribution that a file or folder directly in `site-packages` belongs to.
    fn owner(&self, below: &str) -> Option<String> {
        let direct = normal(below.trim_end_matches(".py"));
        if self.found.contains_key(&direct) {
            return Some(direct);
        }
        let prefix = format!("{below}/");
        let holds =
            |info: &PathBuf| records(info).iter().any(|file| file == below || file.starts_with(&prefix));
        self.found.iter().find(|(_, info)| holds(info)).map(|(name, _)| name.clone())
    }

    fn closure(&self, name: &str) -> Result<Closure, ScriptError> {
        let start = Requirement { name: name.into(), extras: Vec::new() };
        let mut distributions = self.needed_by(vec![start])?;
        let own = distributions.iter().position(|one| normal(&one.name) == name);
        let own =
            own.ok_or(ScriptError::Absent { what: "distribution of that name", path: self.site.clone() })?;
        let mut own = distributions.remove(own);
        own.own = true;
        let prefix = format!("{}-{}/", own.name, own.version);
        for module in &mut own.modules {
            module.shown = module.shown.strip_prefix(&prefix).unwrap_or(&module.shown).to_owned();
        }
        distributions.insert(0, own);
        Ok(Closure { distributions })
    }

    fn needed_by(&self, start: Vec<Requirement>) -> Result<Vec<Distribution>, ScriptError> {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut waiting = start;
        while let Some(wanted) = waiting.pop() {
            let Some(info) = self.found.get(&wanted.name) else { continue };
            let is_new = !seen.contains_key(&wanted.name);
            let known = seen.entry(wanted.name.clone()).or_default();
            let before = known.len();
            known.extend(wanted.extras.iter().cloned());
            if !is_new && known.len() == before {
                continue;
            }
            let extras: Vec<String> = known.iter().cloned().collect();
            for line in headers(info, "Requires-Dist")? {
                waiting.extend(needed(&line, &extras));
            }
        }
        seen.keys().filter_map(|name| self.found.get(name)).map(|info| self.distribution(info)).collect()
    }

    fn distribution(&self, info: &Path) -> Result<Distribution, ScriptError> {
        let first = |header| Ok::<_, ScriptError>(headers(info, header)?.into_iter().next());
        let stem = info.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = first("Name")?.unwrap_or(stem);
        let version = first("Version")?.unwrap_or_default();
        let record = read_text(&info.join("RECORD")).ok().flatten();
        let checksum = record.map(|text| format!("sha256:{}", hex(&Sha256::digest(text))));
        let shown = format!("{name}-{version}/");
        let mut found = Distribution {
            name,
            version,
            checksum,
            own: false,
            modules: Vec::new(),
            natives: Vec::new(),
            holds: Vec::new(),
        };
        let files = records(info);
        if files.is_empty() {
            let place = Some(Place { file: format!("{shown}RECORD"), line: 1, column: 1 });
            found.holds.push((Effect::Unanalyzed, Hop { name: "no list of its files".into(), place }));
        }
        for file in files {
            let path = self.site.join(&file);
            let is_link = fs::symlink_metadata(&path).is_ok_and(|data| data.file_type().is_symlink());
            found.take(&file, path, &shown, is_link);
        }
        Ok(found)
    }
}

impl Distribution {
    /// Takes in one file by what its name says that it is.
    fn take(&mut self, file: &str, path: PathBuf, shown: &str, is_link: bool) {
        let hop = |name: &str| Hop {
            name: name.to_owned(),
            place: Some(Place { file: format!("{shown}{file}"), line: 1, column: 1 }),
        };
        let stem = file.rsplit('/').next().unwrap_or(file);
        let is_skipped = file.split('/').rev().skip(1).any(|part| SKIPPED.contains(&part) || part == "..");
        if file.starts_with('/') || is_skipped {
            return;
        }
        if stem.ends_with(".pth") {
            self.holds.push((Effect::BuildScript, hop("a file that Python runs at every start")));
        } else if let Some(name) = native_name(file) {
            self.natives.push(name);
            self.holds.push((Effect::NativeAddon, hop("compiled code")));
        } else if is_link && stem.ends_with(".py") {
            self.holds.push((Effect::Unanalyzed, hop("a link, which is not followed")));
        } else if let Some(stem) = file.strip_suffix(".py") {
            let is_package = stem.ends_with("/__init__");
            let name = stem.trim_end_matches("/__init__").replace('/', ".");
            let shown = format!("{shown}{file}");
            self.modules.push(Module { name, is_package, path, shown });
        }
    }
}

/// Returns the module name of a compiled file.
fn native_name(file: &str) -> Option<String> {
    let (folder, name) = file.rsplit_once('/').map_or(("", file), |(folder, name)| (folder, name));
    let is_native =
        [".so", ".pyd", ".dll", ".dylib"].iter().any(|end| name.ends_with(end)) || name.contains(".so.");
    let stem = name.split('.').next().filter(|_| is_native)?;
    Some(if folder.is_empty() { stem.to_owned() } else { format!("{}.{stem}", folder.replace('/', ".")) })
}

fn project(folder: &Path) -> Result<Distribution, ScriptError> {
    let (name, version) = named_by(folder)?;
    let mut own = Distribution {
        name,
        version,
        checksum: None,
        own: true,
        modules: Vec::new(),
        natives: Vec::new(),
        holds: Vec::new(),
    };
    let root = if folder.join("src").is_dir() { folder.join("src") } else { folder.to_owned() };
    let enter = |below: &str| {
        let last = below.rsplit('/').next().unwrap_or(below);
        !SKIPPED.contains(&last)
            && !last.ends_with(".egg-info")
            && !matches!(below, "build" | "dist" | "docs")
    };
    let prefix = if root == folder { "" } else { "src/" };
    let found = files_below(&root, &enter)?;
    for file in found.files.iter().filter(|file| !is_build(file)) {
        own.take(file, root.join(file), prefix, false);
    }
    for link in &found.links {
        own.take(link, root.join(link), prefix, true);
    }
    if folder.join("setup.py").is_file() {
        let place = Some(Place { file: "setup.py".into(), line: 1, column: 1 });
        own.holds.push((Effect::BuildScript, Hop { name: "setup.py".into(), place }));
    }
    Ok(own)
}

fn is_build(file: &str) -> bool {
    matches!(file, "setup.py" | "conftest.py" | "noxfile.py") || file.starts_with("test_")
}

/// Returns the name and the version that the project gives itself.
fn named_by(folder: &Path) -> Result<(String, String), ScriptError> {
    let fallback =
        folder.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy().into_owned());
    let Some(table) = pyproject(folder)? else { return Ok((fallback, "0".into())) };
    let of = |key: &str| {
        let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
        let value = table.get("project").and_then(|project| project.get(key)).or_else(|| poetry?.get(key));
        value.and_then(|value| value.as_str()).map(str::to_owned)
    };
    Ok((of("name").unwrap_or(fallback), of("version").unwrap_or_else(|| "0".into())))
}

fn pyproject(folder: &Path) -> Result<Option<toml::Table>, ScriptError> {
    let path = folder.join("pyproject.toml");
    if !path.is_file() {
        return Ok(None);
    }
    let text = read_text(&path)?.unwrap_or_default();
    let parsed = text.parse::<toml::Table>();
    parsed.map(Some).map_err(|error| ScriptError::Malformed { path, reason: error.message().to_owned() })
}

/// Returns what the project says that it needs, in any of the ways of saying it.
fn wanted_by(folder: &Path) -> Result<Vec<Requirement>, ScriptError> {
    let mut lines = Vec::new();
    if let Some(table) = pyproject(folder)? {
        let project = table.get("project");
        let listed =
            project.and_then(|project| project.get("dependencies")).and_then(|value| value.as_array());
        lines.extend(listed.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)));
        let optional = project
            .and_then(|project| project.get("optional-dependencies"))
            .and_then(|value| value.as_table());
        let optional =
            optional.into_iter().flat_map(|groups| groups.values()).filter_map(|value| value.as_array());
        lines.extend(optional.flatten().filter_map(|value| value.as_str().map(str::to_owned)));
        let poetry = table
            .get("tool")
            .and_then(|tool| tool.get("poetry"))
            .and_then(|poetry| poetry.get("dependencies"));
        lines.extend(
            poetry.and_then(|value| value.as_table()).into_iter().flat_map(|table| table.keys().cloned()),
        );
    }
    for name in names_in(folder)?
        .into_iter()
        .filter(|name| name.starts_with("requirements") && name.ends_with(".txt"))
    {
        let text = read_text(&folder.join(name))?.unwrap_or_default();
        let plain = text.lines().map(|line| line.split('#').next().unwrap_or("").trim().to_owned());
        lines.extend(plain.filter(|line| !line.is_empty() && !line.starts_with('-')));
    }
    Ok(lines.iter().filter_map(|line| needed(line, &[])).collect())
}

fn environment_of(folder: &Path) -> Result<Option<PathBuf>, ScriptError> {
    for name in [".venv", "venv", "env"] {
        if folder.join(name).join("pyvenv.cfg").is_file()
            && let Some(site) = site_of(&folder.join(name))?
        {
            return Ok(Some(site));
        }
    }
    Ok(None)
}

/// Returns the `site-packages` folder of a virtual environment.
fn site_of(environment: &Path) -> Result<Option<PathBuf>, ScriptError> {
    let windows = environment.join("Lib/site-packages");
    if windows.is_dir() {
        return Ok(Some(windows));
    }
    let lib = environment.join("lib");
    if !lib.is_dir() {
        return Ok(None);
    }
    let pythons = names_in(&lib)?.into_iter().filter(|name| name.starts_with("python"));
    Ok(pythons.map(|name| lib.join(name).join("site-packages")).find(|path| path.is_dir()))
}

fn has_distributions(folder: &Path) -> bool {
    names_in(folder).is_ok_and(|names| names.iter().any(|name| name.ends_with(".dist-info")))
}

fn version_part(site: &Path, name: &str) -> Result<String, ScriptError> {
    let prefix = format!("{name}-");
    let found = names_in(site)?.into_iter().find_map(|one| {
        let rest = one.strip_prefix(&prefix)?;
        rest.strip_suffix(".dist-info").filter(|version| !version.contains('-')).map(|_| rest.to_owned())
    });
    found.ok_or(ScriptError::Absent { what: "distribution", path: site.into() })
}

fn names_in(folder: &Path) -> Result<Vec<String>, ScriptError> {
    let read = |source| ScriptError::Read { path: folder.into(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        names.push(entry.map_err(read)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the values of a header of `METADATA`.
fn headers(info: &Path, header: &str) -> Result<Vec<String>, ScriptError> {
    let text = read_text(&info.join("METADATA"))?.unwrap_or_default();
    let lines = text.lines().take_while(|line| !line.is_empty());
    let values =
        lines.filter_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case(header)));
    Ok(values.map(|(_, value)| value.trim().to_owned()).collect())
}

/// Returns the files that `RECORD` lists.
fn records(info: &Path) -> Vec<String> {
    let text = read_text(&info.join("RECORD")).ok().flatten().unwrap_or_default();
    let file = |line: &str| match line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().map(str::to_owned),
        None => line.split(',').next().map(str::to_owned),
    };
    text.lines().filter_map(file).filter(|file| !file.is_empty()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
