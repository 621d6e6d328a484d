//! The register of promises (`docs/guarantees.md`) names code and tests that exist.
//!
//! A promise without a test, a test that is gone or ignored, a name that was changed: each fails here, so that nobody goes on
//! promising what nothing holds.

use std::path::PathBuf;

/// How many promises there are at least; a register that was cut short is noticed.
const LEAST: usize = 40;

/// One promise.
#[derive(Debug, Default)]
struct Promise {
    sentence: String,
    held_by: Vec<Named>,
    tested_by: Vec<Named>,
    not_covered: String,
}

/// A file, and names in it.
#[derive(Debug)]
struct Named {
    file: String,
    names: Vec<String>,
}

#[test]
fn every_promise_has_code_and_a_test() {
    let (mut wrong, register) = (Vec::new(), read("docs/guarantees.md").unwrap());
    let promises = promises(&register);
    assert!(promises.len() >= LEAST, "the register holds {} promises", promises.len());
    for promise in &promises {
        wrong.extend(faults(promise).into_iter().map(|fault| format!("{}: {fault}", promise.sentence)));
    }
    assert!(wrong.is_empty(), "docs/guarantees.md is not true:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_gone_is_noticed() {
    let own = "crates/cli/tests/it/guarantees.rs";
    let fault = |held: &str, tested: &str| {
        let text = format!(
            "### 1. A promise.\n\n- Held by: {held}\n- Tested by: {tested}\n- Does not cover: this.\n"
        );
        promises(&text).first().map(faults).unwrap().join(", ")
    };
    let test = format!("`{own}` `what_is_gone_is_noticed`");
    assert_eq!(fault(&format!("`{own}` `faults`"), &test), "");
    assert!(fault("`crates/gone.rs` `x`", &test).contains("there is no file `crates/gone.rs`"));
    assert!(fault(&format!("`{own}` `was_here_once`"), &test).contains("defines no `was_here_once`"));
    assert!(fault("", &test).contains("no code is named"));
    assert!(fault(&test, "").contains("no test is named"));
    assert!(fault(&test, &format!("`{own}` `faults`")).contains("`faults` is no test that runs"));
    assert!(fault(&test, &format!("`{own}`")).contains("names no test"));
    assert!(!is_run("#[test]\n#[ignore = \"slow\"]\nfn a() {}", "a"));
    assert!(is_run("#[tokio::test(start_paused = true)]\nasync fn a() {}", "a"));
    assert!(!is_run("// #[test]\nfn a() {}\n", "a"));
}

/// What is wrong with a promise.
fn faults(promise: &Promise) -> Vec<String> {
    let mut faults = Vec::new();
    for (list, missing) in [(&promise.held_by, "no code is named"), (&promise.tested_by, "no test is named")]
    {
        faults.extend(list.is_empty().then(|| missing.to_owned()));
    }
    faults.extend(promise.not_covered.is_empty().then(|| "what it does not cover is not said".to_owned()));
    for (named, is_test) in
        promise.held_by.iter().map(|one| (one, false)).chain(promise.tested_by.iter().map(|one| (one, true)))
    {
        let Some(source) = read(&named.file) else {
            faults.push(format!("there is no file `{}`", named.file));
            continue;
        };
        if is_test && named.names.is_empty() {
            faults.push(format!("`{}` names no test", named.file));
        }
        for name in &named.names {
            if !defines(&source, name) {
                faults.push(format!("`{}` defines no `{name}`", named.file));
            } else if is_test && !is_run(&source, name) {
                faults.push(format!("`{name}` is no test that runs"));
            }
        }
    }
    faults
}

/// What may stand before the name of an item.
const ITEMS: &[&str] = &["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];

fn defines(source: &str, name: &str) -> bool {
    source.lines().any(|line| is_item(line, ITEMS, name))
}

/// Whether a function is a test, and is not left out.
fn is_run(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| is_item(line, &["fn"], name)) else { return false };
    let above = lines.iter().take(at).rev().take_while(|line| line.starts_with("#["));
    let (mut is_test, mut is_ignored) = (false, false);
    for attribute in above {
        is_test |= attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test");
        is_ignored |= attribute.contains("ignore");
    }
    is_test && !is_ignored
}

/// Whether a line begins the item of that name.
fn is_item(line: &str, kinds: &[&str], name: &str) -> bool {
    let line = line.trim();
    let is_end = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    !line.starts_with("//")
        && kinds.iter().any(|kind| {
            let wanted = format!("{kind} {name}");
            let before =
                |at: usize| line.get(..at).is_some_and(|text| text.is_empty() || text.ends_with(' '));
            line.match_indices(&wanted)
                .any(|(at, _)| before(at) && line.get(at + wanted.len()..).is_some_and(is_end))
        })
}

fn promises(register: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    for line in register.lines() {
        if let Some(sentence) = line.strip_prefix("### ") {
            promises.push(Promise { sentence: sentence.to_owned(), ..Promise::default() });
        }
        let Some(promise) = promises.last_mut() else { continue };
        if let Some(text) = line.strip_prefix("- Held by: ") {
            promise.held_by = named(text);
        } else if let Some(text) = line.strip_prefix("- Tested by: ") {
            promise.tested_by = named(text);
        } else if let Some(text) = line.strip_prefix("- Does not cover: ") {
            text.clone_into(&mut promise.not_covered);
        }
    }
    promises
}

/// Reads `` `file` `name`, `name`; `file` … ``.
fn named(text: &str) -> Vec<Named> {
    let parts = text.split("; ").map(|part| part.split('`').skip(1).step_by(2).map(str::to_owned));
    parts.filter_map(|mut words| words.next().map(|file| Named { file, names: words.collect() })).collect()
}

fn read(file: &str) -> Option<String> {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).ok()
}
