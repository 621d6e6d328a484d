//! What belongs to a project: the packages it finds, what they are, and files that are made to trip the analysis.

use std::fs;
use std::path::Path;

use ringfence_lint::{Analysis, Effect, EffectSet, Package, python, script};

/// Writes a tree of files.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn scripts(folder: &Path) -> Analysis {
    script::analyse(&script::find(folder).unwrap()).unwrap()
}

fn pythons(folder: &Path) -> Analysis {
    python::analyse(&python::find(folder).unwrap()).unwrap()
}

fn package<'a>(analysis: &'a Analysis, id: &str) -> &'a Package {
    analysis.packages.iter().find(|package| package.id() == id).unwrap()
}

fn effects(analysis: &Analysis, function: &str) -> EffectSet {
    analysis.functions.iter().find(|verdict| verdict.function == function).unwrap().effects()
}

fn set(effects: &[Effect]) -> EffectSet {
    effects.iter().copied().collect()
}

#[test]
fn packages_are_found_where_node_finds_them() {
    let folder = tree(&[
        ("package.json", r#"{"name": "tool", "version": "1.0.0", "dependencies": {"a": "1", "gone": "1"}}"#),
        (
            "index.js",
            "const a = require('a'); exports.go = () => a.run(); exports.gone = () => require('gone')();",
        ),
        ("package-lock.json", r#"{"packages": {"node_modules/a": {"integrity": "sha512-AAAA"}}}"#),
        (
            "node_modules/a/package.json",
            r#"{"name": "a", "version": "1.1.0", "main": "lib", "dependencies": {"b": "2"}}"#,
        ),
        ("node_modules/a/lib/index.js", "const b = require('b'); exports.run = () => b('x');"),
        (
            "node_modules/a/node_modules/b/package.json",
            r#"{"name": "b", "version": "2.0.0", "exports": {".": "./m.js"}}"#,
        ),
        ("node_modules/a/node_modules/b/m.js", "module.exports = (x) => require('fs').readFileSync(x);"),
        ("node_modules/b/package.json", r#"{"name": "b", "version": "1.0.0"}"#),
        ("node_modules/b/index.js", "module.exports = (x) => require('child_process').execSync(x);"),
    ]);
    let analysis = scripts(folder.path());
    let names: Vec<String> = analysis.packages.iter().map(Package::id).collect();
    assert_eq!(names, ["tool@1.0.0", "a@1.1.0", "b@2.0.0"]);
    assert_eq!(effects(&analysis, "index.go"), set(&[Effect::FsRead]));
    assert_eq!(effects(&analysis, "index.gone"), set(&[Effect::Unanalyzed]));
    assert_eq!(package(&analysis, "a@1.1.0").checksum.as_deref(), Some("sha512-AAAA"));
    assert_eq!(package(&analysis, "b@2.0.0").holds, set(&[Effect::FsRead]));
    let go = analysis.functions.iter().find(|verdict| verdict.function == "index.go").unwrap();
    let way: Vec<&str> = go.uses[0].way.iter().map(|hop| hop.name.as_str()).collect();
    assert_eq!(way, ["index.go", "lib/index.run", "m.exports", "node:fs.readFileSync"]);
    assert_eq!(go.uses[0].package, "b@2.0.0");
    assert_eq!(go.uses[0].way[3].place.as_ref().unwrap().file, "b-2.0.0/m.js");
}

#[test]
fn what_a_package_is_counts_beside_what_it_does() {
    let folder = tree(&[
        (
            "package.json",
            r#"{"name": "x", "version": "1.0.0", "scripts": {"postinstall": "node steal.js", "test": "jest"}}"#,
        ),
        ("addon.node", "compiled"),
        ("module.wasm", "compiled"),
        ("ok.js", "exports.f = () => 1;"),
    ]);
    let found = scripts(folder.path()).packages[0].holds;
    assert_eq!(found, set(&[Effect::BuildScript, Effect::NativeAddon, Effect::Unanalyzed]));

    let folder = tree(&[
        ("setup.py", "import os"),
        ("start.pth", "import os; os.system('x')"),
        ("fast.cpython-311-x86_64-linux-gnu.so", "compiled"),
        ("ok.py", "import fast\ndef f():\n    return fast.go()\n"),
    ]);
    let analysis = pythons(folder.path());
    assert_eq!(analysis.packages[0].holds, set(&[Effect::Ffi, Effect::BuildScript, Effect::NativeAddon]));
    assert_eq!(effects(&analysis, "ok.f"), set(&[Effect::Ffi]));
}

#[test]
fn distributions_are_followed_by_their_metadata() {
    let site = "lib/python3.11/site-packages";
    let at = |path: &str| format!("{site}/{path}");
    let files = [
        (at("tool/__init__.py"), "from dep_a import run\ndef go():\n    run()\n"),
        (
            at("tool-1.0.dist-info/METADATA"),
            "Name: tool\nVersion: 1.0\nRequires-Dist: Dep_A>=1\nRequires-Dist: x; extra == 'no'\n\n",
        ),
        (at("tool-1.0.dist-info/RECORD"), "tool/__init__.py,,\ntool-1.0.dist-info/METADATA,,\n"),
        (at("dep_a.py"), "import subprocess\ndef run():\n    subprocess.run(['git', 'status'])\n"),
        (at("dep_a-2.0.dist-info/METADATA"), "Name: dep-a\nVersion: 2.0\n\n"),
        (at("dep_a-2.0.dist-info/RECORD"), "dep_a.py,sha256=x,1\n"),
        (at("x.py"), ""),
        (at("x-1.dist-info/METADATA"), "Name: x\nVersion: 1\n\n"),
        (at("x-1.dist-info/RECORD"), "x.py,,\n"),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = tree(&files);
    let analysis = python::analyse(&python::find_installed(folder.path(), "Tool").unwrap()).unwrap();
    let names: Vec<String> = analysis.packages.iter().map(Package::id).collect();
    assert_eq!(names, ["tool@1.0", "dep-a@2.0"]);
    assert_eq!(effects(&analysis, "tool.go"), set(&[Effect::Exec]));
    assert!(package(&analysis, "dep-a@2.0").checksum.as_ref().unwrap().starts_with("sha256:"));
    let go = analysis.functions.iter().find(|verdict| verdict.function == "tool.go").unwrap();
    assert_eq!(go.uses[0].literals, ["git"]);
    assert_eq!(go.uses[0].package, "dep-a@2.0");

    let by_folder = python::analyse(&python::find(&folder.path().join(site).join("tool")).unwrap()).unwrap();
    assert_eq!(by_folder.packages[0].id(), "tool@1.0");
    assert!(python::find_installed(folder.path(), "absent").is_err());
}

#[test]
fn a_module_runs_what_it_imports_and_its_functions_do_not() {
    let folder = tree(&[
        ("main.py", "import loud\ndef quiet():\n    return 1\nif __name__ == '__main__':\n    quiet()\n"),
        ("loud.py", "import os\nos.system('ls')\n"),
    ]);
    let analysis = pythons(folder.path());
    assert_eq!(effects(&analysis, "main"), set(&[Effect::Exec]));
    assert_eq!(effects(&analysis, "main.quiet"), EffectSet::NONE);

    let folder = tree(&[
        ("package.json", r#"{"name": "x", "version": "1.0.0"}"#),
        ("main.mjs", "import './loud.mjs';\nexport function quiet() { return 1; }\n"),
        ("loud.mjs", "import { execSync } from 'child_process';\nexecSync('ls');\n"),
    ]);
    let analysis = scripts(folder.path());
    assert_eq!(effects(&analysis, "main"), set(&[Effect::Exec]));
    assert_eq!(effects(&analysis, "main.quiet"), EffectSet::NONE);
}

#[test]
fn source_that_cannot_be_read_is_never_clean() {
    let deep = "(".repeat(200_000) + &")".repeat(200_000);
    let sums = format!("x = {}1", "1+".repeat(200_000));
    let cases = [
        ("brackets", deep.as_str()),
        ("sums", sums.as_str()),
        ("nonsense", "def def ((("),
        ("text", "\u{0}\u{1}"),
    ];
    for (what, text) in cases {
        let folder = tree(&[("bad.py", text), ("good.py", "def f():\n    return 1\n")]);
        let found = pythons(folder.path()).packages[0].holds;
        assert_eq!(found, set(&[Effect::Unanalyzed]), "python: {what}");
    }
    let signs = "!".repeat(300_000) + "1";
    let ifs = "if(a)b();else ".repeat(100_000) + ";";
    let cases = [
        ("brackets", deep.as_str()),
        ("sums", sums.as_str()),
        ("signs", signs.as_str()),
        ("ifs", ifs.as_str()),
        ("nonsense", "function ((("),
    ];
    for (what, text) in cases {
        let folder = tree(&[("package.json", r#"{"name": "x", "version": "1.0.0"}"#), ("bad.js", text)]);
        let found = scripts(folder.path()).packages[0].holds;
        assert_eq!(found, set(&[Effect::Unanalyzed]), "javascript: {what}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let outside = tree(&[
        ("secret.py", "import os\nos.system('x')\n"),
        ("secret.js", "require('child_process').execSync('x')"),
    ]);
    let folder = tree(&[("ok.py", "def f():\n    return 1\n")]);
    std::os::unix::fs::symlink(outside.path().join("secret.py"), folder.path().join("linked.py")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("outside")).unwrap();
    assert_eq!(pythons(folder.path()).packages[0].holds, set(&[Effect::Unanalyzed]));

    let folder =
        tree(&[("package.json", r#"{"name": "x", "version": "1.0.0"}"#), ("ok.js", "exports.f = 1;")]);
    std::os::unix::fs::symlink(outside.path().join("secret.js"), folder.path().join("linked.js")).unwrap();
    assert_eq!(scripts(folder.path()).packages[0].holds, set(&[Effect::Unanalyzed]));
}

#[test]
fn literals_say_what_is_touched() {
    let folder = tree(&[
        ("package.json", r#"{"name": "x", "version": "1.0.0"}"#),
        (
            "t.js",
            "const cp = require('child_process');\n\
             const BASE = 'https://api.example.com';\n\
             exports.net = () => fetch(`${BASE}/v1`);\n\
             exports.url = () => fetch(new URL('https://other.example.com/x'));\n\
             exports.run = () => cp.spawn('git', ['status']);\n\
             exports.env = () => process.env.HOME;\n\
             exports.file = () => require('fs').readFileSync('/etc/hosts');\n",
        ),
    ]);
    let analysis = scripts(folder.path());
    #[rustfmt::skip]
    let cases = [
        ("t.net", "api.example.com"), ("t.url", "other.example.com"), ("t.run", "git"), ("t.env", "HOME"), ("t.file", "/etc/hosts"),
    ];
    for (function, literal) in cases {
        let verdict = analysis.functions.iter().find(|verdict| verdict.function == function).unwrap();
        assert_eq!(verdict.uses[0].literals, [literal], "{function}");
    }
}
