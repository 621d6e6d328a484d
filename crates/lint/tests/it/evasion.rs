//! The evasion corpus: every function does exactly what its name says, as far as the gate can see.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;

/// What is known to be told too much, and why. Nothing may be missing.
const TOO_MUCH: &[(&str, &str)] = &[];

/// Reads what a function should do from its name: `fs_read_and_exec__how`, `clean__how`.
fn expected(name: &str) -> Option<BTreeSet<String>> {
    let (effects, _) = name.rsplit("::").next()?.split_once("__")?;
    let name = |part: &str| {
        ["fs", "net", "env"]
            .iter()
            .find_map(|group| Some(format!("{group}.{}", part.strip_prefix(group)?.strip_prefix('_')?)))
            .unwrap_or_else(|| part.to_owned())
    };
    Some(if effects == "clean" { BTreeSet::new() } else { effects.split("_and_").map(name).collect() })
}

#[test]
fn nothing_gets_past_the_gate() {
    let bench = Bench::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evasion");
    let said = bench.lint_at(&corpus, &["--inventory", "--json"]);
    let said: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let (mut exact, mut missed, mut extra) = (0, Vec::new(), Vec::new());
    for function in said["functions"].as_array().unwrap().iter().filter(|one| one["kind"] == "function") {
        let name = function["function"].as_str().unwrap();
        let Some(expected) = expected(name) else { continue };
        let uses = function["uses"].as_array().unwrap();
        let found: BTreeSet<String> =
            uses.iter().map(|one| one["effect"].as_str().unwrap().to_owned()).collect();
        if !expected.is_subset(&found) {
            missed.push(format!("{name}: {found:?}"));
        } else if found != expected && !TOO_MUCH.iter().any(|(known, _)| name.ends_with(known)) {
            extra.push(format!("{name}: {found:?}"));
        } else {
            exact += 1;
        }
        let ways = uses.iter().map(|one| one["way"].as_array().unwrap());
        assert!(ways.clone().all(|way| (2..=6).contains(&way.len())), "{name}: a way has two to six steps");
    }
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
    assert!(extra.is_empty(), "too much:\n{}", extra.join("\n"));
    assert!(exact >= 168, "only {exact} functions were seen");

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
