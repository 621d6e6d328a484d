//! Which file an import names, the way Node and TypeScript look for it.

use std::collections::HashMap;

use serde_json::Value;

use super::catalog::Platform;
use super::find::{Closure, Found};
use crate::dynamic::{FunctionId, Imported, ObjectId};

/// Where a file is: its package's number, and its path in the package.
type Place = (usize, String);

/// The modules by place, and the places of files.
#[derive(Debug, Default)]
pub(super) struct Modules {
    modules: HashMap<Place, (ObjectId, FunctionId)>,
    places: HashMap<u32, Place>,
}

impl Modules {
    /// Adds a file.
    pub(super) fn insert(&mut self, file: u32, package: usize, below: &str, module: (ObjectId, FunctionId)) {
        self.modules.insert((package, below.to_owned()), module);
        self.places.insert(file, (package, below.to_owned()));
    }

    /// Finds what a file imports under a name.
    pub(super) fn import(&self, closure: &Closure, file: u32, name: &str) -> Imported {
        if let Some(path) = Platform::module(name) {
            return Imported::Library(path);
        }
        let missing = || Imported::Missing(format!("missing:{name}"));
        let Some((number, below)) = self.places.get(&file) else { return missing() };
        let Some(package) = closure.packages.get(*number) else { return missing() };
        let name = name.split(['?']).next().unwrap_or(name);
        if name.starts_with("./") || name.starts_with("../") || matches!(name, "." | "..") {
            let folder = below.rsplit_once('/').map_or("", |(folder, _)| folder);
            return joined(folder, name)
                .map_or_else(missing, |path| self.file(*number, package, &path, missing));
        }
        if name.starts_with('#') || name == package.name || name.starts_with(&format!("{}/", package.name)) {
            let path = if name.starts_with('#') {
                target(package.description.get("imports"), name)
            } else {
                let below = name.strip_prefix(&package.name).map_or(String::new(), |rest| format!(".{rest}"));
                target(package.description.get("exports"), &below)
            };
            return path.map_or_else(missing, |path| self.file(*number, package, &path, missing));
        }
        let (wanted, rest) = split(name);
        match closure
            .needed_by(package, wanted)
            .and_then(|number| Some((number, closure.packages.get(number)?)))
        {
            Some((number, needed)) => self.entry(number, needed, rest, missing),
            None => missing(),
        }
    }

    /// Finds the file that a package offers under a name.
    fn entry(&self, number: usize, package: &Found, rest: &str, missing: impl Fn() -> Imported) -> Imported {
        let key = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        if let Some(path) = target(package.description.get("exports"), &key) {
            return self.file(number, package, &path, missing);
        }
        if !rest.is_empty() {
            return self.file(number, package, rest, missing);
        }
        let word = |key: &str| package.description.get(key).and_then(Value::as_str);
        let main = word("module").or_else(|| word("main")).unwrap_or("index");
        match self.file(number, package, main, &missing) {
            Imported::Missing(_) => self.file(number, package, "index", missing),
            found => found,
        }
    }

    fn file(&self, number: usize, package: &Found, path: &str, missing: impl Fn() -> Imported) -> Imported {
        let Some(path) = joined("", path) else { return missing() };
        let stem = ["js", "mjs", "cjs", "jsx"]
            .iter()
            .find_map(|end| path.strip_suffix(&format!(".{end}")))
            .unwrap_or(&path);
        let ends = ["", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts"];
        let plain = ends.iter().map(|end| format!("{path}{end}"));
        let typed = [".ts", ".tsx", ".mts", ".cts"].iter().map(|end| format!("{stem}{end}"));
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        let index = ends.iter().skip(1).map(|end| format!("{folder}index{end}"));
        for candidate in plain.chain(typed).chain(index) {
            if let Some((object, function)) = self.modules.get(&(number, candidate.clone())) {
                return Imported::Module(*object, vec![*function]);
            }
            if package.natives.contains(&candidate) || package.natives.contains(&format!("{candidate}.node"))
            {
                return Imported::Library(format!("native:{candidate}"));
            }
        }
        if path.ends_with(".json")
            || package.folder.join(format!("{path}.json")).is_file()
            || path.ends_with(".css")
        {
            return Imported::Nothing;
        }
        missing()
    }
}

/// Splits `@scope/name/rest` and `name/rest`.
fn split(name: &str) -> (&str, &str) {
    let parts = if name.starts_with('@') { 2 } else { 1 };
    match name.match_indices('/').nth(parts - 1) {
        Some((at, _)) => (name.get(..at).unwrap_or(name), name.get(at + 1..).unwrap_or("")),
        None => (name, ""),
    }
}

/// Returns a path below a folder; `None` when it would leave the package.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns what `exports` or `imports` says of a name.
fn target(offers: Option<&Value>, key: &str) -> Option<String> {
    let offers = offers?;
    let by_name = offers.as_object().filter(|map| map.keys().any(|name| name.starts_with(['.', '#'])));
    let Some(map) = by_name else { return if key == "." { leaf(offers, 0) } else { None } };
    if let Some(found) = map.get(key) {
        return leaf(found, 0);
    }
    map.iter().find_map(|(pattern, found)| {
        let (before, after) = pattern.split_once('*')?;
        let middle = key.strip_prefix(before)?.strip_suffix(after)?;
        Some(leaf(found, 0)?.replace('*', middle))
    })
}

fn leaf(value: &Value, depth: usize) -> Option<String> {
    match value {
        Value::String(path) => Some(path.clone()),
        Value::Array(choices) if depth < 8 => choices.iter().find_map(|choice| leaf(choice, depth + 1)),
        Value::Object(conditions) if depth < 8 => {
            let order = ["node", "import", "module", "default", "require"];
            let first = order
                .iter()
                .filter_map(|name| conditions.get(*name))
                .find_map(|choice| leaf(choice, depth + 1));
            first.or_else(|| {
                let others = conditions.iter().filter(|(name, _)| *name != "types");
                others.map(|(_, choice)| choice).find_map(|choice| leaf(choice, depth + 1))
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exports_are_read_as_node_reads_them() {
        let exports = json!({
            ".": { "types": "./t.d.ts", "import": "./esm.js", "require": "./cjs.js" },
            "./deep/*": "./dist/*.js",
            "./list": ["./a.js", "./b.js"],
        });
        #[rustfmt::skip]
        let cases = [
            (".", Some("./esm.js")), ("./deep/x", Some("./dist/x.js")), ("./list", Some("./a.js")), ("./other", None),
        ];
        for (key, path) in cases {
            assert_eq!(target(Some(&exports), key).as_deref(), path, "{key}");
        }
        assert_eq!(target(Some(&json!("./main.js")), ".").as_deref(), Some("./main.js"));
    }

    #[test]
    fn a_path_never_leaves_its_package() {
        #[rustfmt::skip]
        let cases = [
            ("a/b", "./c", Some("a/b/c")), ("a/b", "../c", Some("a/c")), ("a", "../../c", None), ("", "../c", None), ("", ".", Some("")),
        ];
        for (folder, path, found) in cases {
            assert_eq!(joined(folder, path).as_deref(), found, "{folder} {path}");
        }
    }
}
