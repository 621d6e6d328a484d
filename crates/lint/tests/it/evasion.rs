//! Packages whose functions do exactly what their names say: ways to hide an effect, and real crates.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

/// Reads what a function should do from its name: `fs_read_and_exec__how`, `clean__how`.
fn expected(name: &str) -> Option<BTreeSet<String>> {
    let (effects, _) = name.rsplit("::").next()?.split_once("__")?;
    let name = |part: &str| {
        ["fs", "net", "env"]
            .iter()
            .find_map(|group| Some(format!("{group}.{}", part.strip_prefix(group)?.strip_prefix('_')?)))
            .unwrap_or_else(|| part.replace('_', "-"))
    };
    Some(if effects == "clean" { BTreeSet::new() } else { effects.split("_and_").map(name).collect() })
}

/// Runs the gate over a package beside this test, and returns what it says and how many functions are exactly right.
fn exact(package: &str) -> (Value, usize) {
    let bench = Bench::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(package);
    let said = bench.lint_at(&folder, &["--inventory", "--json"]);
    let said: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let (mut exact, mut wrong) = (0, Vec::new());
    for function in said["functions"].as_array().unwrap().iter().filter(|one| one["kind"] == "function") {
        let name = function["function"].as_str().unwrap();
        let Some(expected) = expected(name) else { continue };
        let uses = function["uses"].as_array().unwrap();
        let found: BTreeSet<String> =
            uses.iter().map(|one| one["effect"].as_str().unwrap().to_owned()).collect();
        if found == expected {
            exact += 1;
        } else {
            let kind = if expected.is_subset(&found) { "too much" } else { "MISSED" };
            wrong.push(format!("{kind} {name}: {found:?}"));
        }
        let mut ways = uses.iter().map(|one| one["way"].as_array().unwrap());
        assert!(ways.all(|way| (2..=6).contains(&way.len())), "{name}: a way has two to six steps");
    }
    assert!(wrong.is_empty(), "{exact} right, and:\n{}", wrong.join("\n"));
    (said, exact)
}

#[test]
fn nothing_gets_past_the_gate() {
    let (said, exact) = exact("evasion");
    assert!(exact >= 182, "only {exact} functions were seen");
    let holds = |package: &str| {
        let packages = said["packages"].as_array().unwrap();
        let one = packages.iter().find(|one| one["name"] == package).unwrap_or_else(|| panic!("{package}"));
        one["holds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(holds("evasion").contains(&"build-script".to_owned()));
    assert!(holds("maker").contains(&"proc-macro".to_owned()));
}

#[test]
#[ignore = "takes minutes: a hundred packages are built, and two libraries of C. `script/test --all` runs it"]
fn real_crates_do_exactly_what_they_do() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/Cargo.toml");
    let fetched =
        Command::new("cargo").args(["fetch", "--locked", "--manifest-path", manifest]).status().unwrap();
    assert!(fetched.success(), "the packages must be here");
    let (_, exact) = exact("real");
    assert_eq!(exact, 16);
}
