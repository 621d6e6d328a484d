//! Which folders a build reads: the workspace, and packages that manifests name by their path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::file::{Links, read_text};

/// How many manifests are read before it is too much.
const MAX_MANIFESTS: usize = 2000;

/// Returns the folders that building the package of this manifest reads, none below another. The first is the root of its workspace.
/// Of another workspace only the manifest is read, and the packages that are used.
pub(super) fn readable(manifest: &Path) -> Vec<PathBuf> {
    let own = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
    let root = workspace(&own).unwrap_or_else(|| own.clone());
    let (mut found, mut manifests) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![root.clone(), own];
    while let Some(folder) = waiting.pop() {
        if found.len() >= MAX_MANIFESTS || !found.insert(folder.clone()) {
            continue;
        }
        let Some(table) = read(&folder) else { continue };
        let mut paths = Vec::new();
        dependencies(&table, &mut paths);
        waiting.extend(paths.into_iter().filter_map(|path| package(&folder.join(path))));
        if let Some((other, shared)) = inherited_from(&folder, &table).filter(|(other, _)| *other != root) {
            manifests.insert(other.join("Cargo.toml"));
            waiting.extend(inherited(&table, &shared).filter_map(|path| package(&other.join(path))));
        }
        for member in members(&table) {
            waiting.extend(
                folder.join(member).canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file()),
            );
        }
    }
    found.remove(&root);
    let outside: Vec<PathBuf> = found.into_iter().filter(|folder| !folder.starts_with(&root)).collect();
    let is_below =
        |folder: &PathBuf| outside.iter().any(|other| other != folder && folder.starts_with(other));
    let outer: Vec<PathBuf> = outside.iter().filter(|folder| !is_below(folder)).cloned().collect();
    let is_outside = |file: &PathBuf| !outer.iter().any(|folder| file.starts_with(folder));
    let manifests: Vec<PathBuf> = manifests.into_iter().filter(is_outside).collect();
    std::iter::once(root).chain(outer).chain(manifests).collect()
}

/// Returns a folder with a package: one without is nothing that cargo reads, whatever a manifest says.
fn package(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    read(&folder)?.contains_key("package").then_some(folder)
}

/// Returns the workspace whose fields a package inherits, and its manifest.
fn inherited_from(folder: &Path, table: &Table) -> Option<(PathBuf, Table)> {
    if !table.contains_key("package") || !inherits(table) {
        return None;
    }
    let named = table.get("package").and_then(|package| package.get("workspace")?.as_str());
    let root = match named {
        Some(path) => folder.join(path).canonicalize().ok()?,
        None => workspace(folder)?,
    };
    let shared = read(&root)?;
    Some((root, shared))
}

/// Tells whether anything in a table is `workspace = true`.
fn inherits(table: &Table) -> bool {
    table.iter().any(|(key, value)| match value {
        Value::Boolean(true) => key == "workspace",
        Value::Table(inner) => inherits(inner),
        _ => false,
    })
}

/// Goes through the paths of the dependencies that a package takes from its workspace.
fn inherited<'t>(table: &'t Table, shared: &'t Table) -> impl Iterator<Item = &'t str> {
    let mut names = Vec::new();
    inherited_names(table, &mut names);
    let all = shared.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table());
    names.into_iter().filter_map(move |name| all?.get(name)?.get("path")?.as_str())
}

fn inherited_names<'t>(table: &'t Table, names: &mut Vec<&'t str>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                let taken = |one: &Value| one.get("workspace").and_then(Value::as_bool) == Some(true);
                names.extend(inner.iter().filter(|(_, one)| taken(one)).map(|(name, _)| name.as_str()));
            }
            "target" => {
                inner.values().filter_map(Value::as_table).for_each(|one| inherited_names(one, names));
            }
            _ => {}
        }
    }
}

/// Returns the root of the workspace that a folder belongs to.
fn workspace(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|at| read(at).is_some_and(|table| table.contains_key("workspace")))
        .map(Path::to_path_buf)
}

/// The longest manifest of a package that is read.
const LONGEST_MANIFEST: u64 = 1 << 20;

fn read(folder: &Path) -> Option<Table> {
    read_text(&folder.join("Cargo.toml"), LONGEST_MANIFEST, Links::Followed).ok()?.parse().ok()
}

/// Members by plain names; patterns are below the root, which is readable as a whole.
fn members(table: &Table) -> Vec<&str> {
    let members = table.get("workspace").and_then(|workspace| workspace.get("members")?.as_array());
    members.into_iter().flatten().filter_map(Value::as_str).filter(|member| !member.contains('*')).collect()
}

/// Collects every `path` of a dependency, wherever a manifest may have one.
fn dependencies<'t>(table: &'t Table, paths: &mut Vec<&'t str>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" | "replace" => {
                paths.extend(inner.values().filter_map(|one| one.get("path")?.as_str()));
            }
            "patch" => {
                let sources = inner.values().filter_map(Value::as_table);
                paths.extend(sources.flat_map(Table::values).filter_map(|one| one.get("path")?.as_str()));
            }
            "target" => {
                inner.values().filter_map(Value::as_table).for_each(|one| dependencies(one, paths));
            }
            "workspace" => dependencies(inner, paths),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_build_reads_its_workspace_and_what_is_named_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| put(&base.join(path), text);
        write(
            "space/Cargo.toml",
            "[workspace]\nmembers = [\"one\"]\n[workspace.dependencies]\nfar = { path = \"../far\" }",
        );
        write(
            "space/one/Cargo.toml",
            "[package]\nname = \"one\"\n[target.'cfg(unix)'.dependencies]\nnear = { path = \"../../near\" }\n\
             everything = { path = \"../../..\" }\nroot = { path = \"/\" }\nnone = { path = \"/etc\" }",
        );
        write(
            "near/Cargo.toml",
            "[package]\nname = \"near\"\n[build-dependencies]\nx = { path = \"x\" }\ny = { path = \"../away\" }",
        );
        write("near/x/Cargo.toml", "[package]\nname = \"x\"");
        write("away/Cargo.toml", "[package]\nname = \"away\"");
        write("far/Cargo.toml", "[package]\nname = \"far\"");
        let found = readable(&base.join("space/one/Cargo.toml"));
        assert_eq!(found, ["space", "away", "far", "near"].map(|name| base.join(name)));
    }

    #[test]
    fn a_package_of_another_workspace_brings_the_manifest_it_inherits_from() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| put(&base.join(path), text);
        write(
            "mine/Cargo.toml",
            "[package]\nname = \"mine\"\n[dependencies]\na = { path = \"../theirs/a\" }",
        );
        write(
            "theirs/Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\n[workspace.package]\nedition = \"2024\"\n\
             [workspace.dependencies]\nb = { path = \"b\" }\nc = { path = \"c\" }",
        );
        write(
            "theirs/a/Cargo.toml",
            "[package]\nname = \"a\"\nedition.workspace = true\n[target.'cfg(unix)'.dependencies]\nb = { workspace = true }",
        );
        write("theirs/b/Cargo.toml", "[package]\nname = \"b\"");
        write("theirs/c/Cargo.toml", "[package]\nname = \"c\"");
        write("theirs/secret", "");
        let found = readable(&base.join("mine/Cargo.toml"));
        let wanted = ["mine", "theirs/a", "theirs/b", "theirs/Cargo.toml"];
        assert_eq!(found, wanted.map(|name| base.join(name)), "and neither `c` nor what lies beside it");
    }
}
