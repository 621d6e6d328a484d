//! Which folders a build reads: the workspace, and packages that manifests name by their path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// How many manifests are read before it is too much.
const MAX_MANIFESTS: usize = 2000;

/// Returns the folders that building the package of this manifest reads, none below another. The first is the root of its workspace.
pub(super) fn readable(manifest: &Path) -> Vec<PathBuf> {
    let own = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
    let root = workspace(&own).unwrap_or_else(|| own.clone());
    let mut found = BTreeSet::new();
    let mut waiting = vec![root.clone(), own];
    while let Some(folder) = waiting.pop() {
        if found.len() >= MAX_MANIFESTS || !found.insert(folder.clone()) {
            continue;
        }
        let Some(table) = read(&folder) else { continue };
        let mut paths = Vec::new();
        dependencies(&table, &mut paths);
        for path in paths {
            // A folder without a package is nothing that cargo reads, whatever a manifest says.
            let path = folder.join(path).canonicalize().ok();
            waiting.extend(path.filter(|path| read(path).is_some_and(|table| table.contains_key("package"))));
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
    std::iter::once(root).chain(outer).collect()
}

/// Returns the root of the workspace that a folder belongs to.
fn workspace(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|at| read(at).is_some_and(|table| table.contains_key("workspace")))
        .map(Path::to_path_buf)
}

fn read(folder: &Path) -> Option<Table> {
    std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()
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

    #[test]
    fn a_build_reads_its_workspace_and_what_is_named_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
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
}
