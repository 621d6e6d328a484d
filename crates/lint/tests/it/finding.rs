//! What is told of real packages that are built.

use serde_json::{Value, json};

use crate::bench::Bench;

/// A package whose tools are listed in its manifest.
fn tools(entries: &str, source: &str) -> Bench {
    Bench::new()
        .file(
            "project/Cargo.toml",
            &format!("[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{entries}"),
        )
        .file("project/src/lib.rs", source)
}

fn tool(name: &str, entry: &str, capabilities: &str) -> String {
    format!("\n[[package.metadata.ringfence.tool]]\nname = \"{name}\"\nentry = \"{entry}\"\n{capabilities}\n")
}

fn codes(said: &Value) -> Vec<String> {
    let findings = said["findings"].as_array().unwrap();
    let one = |finding: &Value| {
        format!("{} {}", finding["code"].as_str().unwrap(), finding["subject"].as_str().unwrap())
    };
    findings.iter().map(one).collect()
}

const SOURCE: &str = "
pub fn read(path: &str) -> Option<String> {
    inner::each(path, |path| std::fs::read_to_string(path).ok())
}
pub fn look() -> bool { std::process::Command::new(\"rg\").status().is_ok() }
pub fn quiet(text: &str) -> usize { text.len() }
mod inner {
    pub fn each(path: &str, act: impl Fn(&str) -> Option<String>) -> Option<String> { act(path) }
}
";

#[test]
fn what_is_used_and_not_declared_is_an_error_with_its_way() {
    let entries = [
        tool("read", "read", "capabilities.fs_reach.read = [\"/srv\"]"),
        tool("look", "look", "capabilities = {}"),
        tool("quiet", "quiet", "capabilities.environment = [\"LANG\"]"),
    ];
    let bench = tools(&entries.concat(), SOURCE);
    let (code, said) = bench.json(&[]);
    assert_eq!(code, 4, "{said}");
    assert_eq!(codes(&said), ["lint.undeclared tool look", "lint.overdeclared tool quiet"], "{said}");
    let finding = &said["findings"][0];
    assert_eq!(finding["help"], "declare `process = { allowedBinaries = [\"rg\"] }`");
    let steps: Vec<&str> =
        finding["steps"].as_array().unwrap().iter().map(|step| step["text"].as_str().unwrap()).collect();
    assert_eq!(steps, ["demo::look", "std::process::Command::status"]);
    assert_eq!(finding["steps"][1]["place"]["line"], 5, "{finding}");
    let results: Vec<(&str, &Value)> = said["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["effects"]))
        .collect();
    assert_eq!(results, [("read", &json!(["fs.read"])), ("look", &json!(["exec"])), ("quiet", &json!([]))]);
    assert_eq!(said["counts"], json!({"error": 1, "warning": 0, "note": 1}));

    let bench = tools(
        &entries.concat(),
        &SOURCE.replace("std::process::Command::new(\"rg\").status().is_ok()", "true"),
    );
    let (code, said) = bench.json(&[]);
    assert_eq!((code, codes(&said)), (0, vec!["lint.overdeclared tool quiet".to_owned()]));
}

#[test]
fn errors_end_with_the_command_that_explains_them() {
    let entries = [tool("look", "look", "capabilities = {}"), tool("read", "read", "capabilities = {}")];
    let bench = tools(&entries.concat(), SOURCE);
    let said = bench.lint(&["--engine", "source"]);
    let line = "\nwhy: ringfence explain lint.undeclared\n";
    assert!(said.code == 4 && said.stdout.ends_with(line), "{said:?}");
    assert_eq!(said.stdout.matches("why: ").count(), 1, "each code once: {said:?}");
    let said = bench.lint(&["--engine", "source", "--format", "markdown"]);
    assert!(said.code == 4 && !said.stdout.contains("why: "), "{said:?}");
    let quiet = tools(&tool("quiet", "quiet", "capabilities = {}"), SOURCE).lint(&["--engine", "source"]);
    assert!(quiet.code == 0 && !quiet.stdout.contains("why: "), "{quiet:?}");
}

#[test]
fn every_format_holds_the_finding() {
    let bench = tools(&tool("look", "look", "capabilities = {}"), SOURCE);
    for (format, expected) in [
        ("human", "error[lint.undeclared] tool look: uses `exec`"),
        ("github", "::error file=src/lib.rs,line="),
        ("markdown", "lint.undeclared"),
        ("sarif", "\"ruleId\": \"lint.undeclared\""),
    ] {
        let said = bench.lint(&["--format", format]);
        assert_eq!(said.code, 4, "{said:?}");
        assert!(said.stdout.contains(expected), "{format}: {}", said.stdout);
    }
}

#[test]
fn a_gate_that_guards_nothing_is_not_green() {
    let bench = tools("", SOURCE);
    let (code, said) = bench.json(&[]);
    assert_eq!((code, codes(&said)), (4, vec!["lint.nothing project".to_owned()]));
    let (code, said) = bench.json(&["--inventory"]);
    assert_eq!((code, codes(&said)), (0, Vec::new()), "{said}");
    let does = |name: &str| {
        let functions = said["functions"].as_array().unwrap();
        let one =
            functions.iter().find(|one| one["function"] == name).unwrap_or_else(|| panic!("{name}: {said}"));
        one["uses"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["effect"].as_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!([does("demo::read"), does("demo::look"), does("demo::quiet")], ["fs.read", "exec", ""]);

    let (code, said) = bench.json(&["--entry", "l*", "--allow", "fs.read"]);
    assert_eq!((code, codes(&said)), (4, vec!["lint.undeclared function demo::look".to_owned()]));
    let said = bench.lint(&["--entry", "nobody"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("no function fits `--entry nobody`"), "{said:?}");
}

#[test]
fn a_tool_names_a_function_that_exists() {
    let bench = tools(&tool("gone", "missing", "capabilities = {}"), SOURCE);
    let said = bench.lint(&[]);
    assert_ne!(said.code, 0, "{said:?}");
    assert!((said.stdout + &said.stderr).contains("missing"));
}

/// A day in three months.
fn soon() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    ringfence_policy::Day::of_epoch(now + 90 * 86_400).to_string()
}

#[test]
fn opaque_code_needs_somebody_who_answers_for_it() {
    let source = "unsafe extern \"C\" { fn elsewhere(); }\npub fn far() { unsafe { elsewhere() } }\n";
    let bench =
        tools(&tool("far", "far", "capabilities = {}"), source).file("project/build.rs", "fn main() {}\n");
    let (code, said) = bench.json(&[]);
    assert_eq!(
        (code, codes(&said)),
        (4, vec!["lint.opaque tool far".to_owned(), "lint.package.opaque package demo@0.1.0".to_owned()])
    );

    let draft = bench.lint(&["--draft"]);
    assert_eq!(draft.code, 0, "{draft:?}");
    assert!(
        draft.stdout.contains("# [[waiver]]")
            && draft.stdout.contains("# effects = [\"ffi\", \"build-script\"]"),
        "{}",
        draft.stdout
    );
    let _parsed: toml::Table = draft.stdout.parse().unwrap();

    let waiver = |reason: &str, expires: &str| {
        format!(
            "[[waiver]]\npackage = \"demo\"\nversion = \"0.1.0\"\neffects = [\"ffi\", \"build-script\"]\nreason = \"{reason}\"\nexpires = \"{expires}\"\n"
        )
    };
    let bench = bench.file("project/ringfence-lint.toml", &waiver("read it twice, it is fine", &soon()));
    let (code, said) = bench.json(&[]);
    assert_eq!((code, codes(&said)), (0, vec!["lint.waived tool far".to_owned()]), "{said}");
    let bench = bench.file("project/ringfence-lint.toml", &waiver("read it twice, it is fine", "2020-01-01"));
    let (code, said) = bench.json(&[]);
    assert_eq!(code, 4, "{said}");
    assert!(codes(&said).contains(&"lint.waiver.expired waiver for demo@0.1.0".to_owned()), "{said}");
    let bench = bench.file("project/ringfence-lint.toml", &waiver("read it twice, it is fine", "9999-12-31"));
    let (code, said) = bench.json(&[]);
    assert_eq!(code, 4, "{said}");
    assert!(codes(&said).contains(&"lint.waiver.late waiver for demo@0.1.0".to_owned()), "{said}");
    let bench = bench.file("project/ringfence-lint.toml", &waiver("ok", &soon()));
    let said = bench.lint(&[]);
    assert!(said.code == 1 && said.stderr.contains("gives no reason"), "{said:?}");
}

#[test]
fn nothing_changed_means_nothing_is_built() {
    let bench = tools(&tool("look", "look", "capabilities = {}"), SOURCE);
    let (_, first) = bench.json(&[]);
    let (_, second) = bench.json(&[]);
    assert_eq!(first, second);
    let bench = bench.file("project/src/lib.rs", &SOURCE.replace("\"rg\"", "\"grep\""));
    let (_, third) = bench.json(&[]);
    assert_eq!(third["findings"][0]["help"], "declare `process = { allowedBinaries = [\"grep\"] }`");
}

#[test]
fn a_package_that_only_calls_itself_ringfence_is_not_believed() {
    for (package, library) in [("ringfence", "ringfence"), ("innocent", "rustix")] {
        let name = library;
        let bench = tools(
            &format!("\n[dependencies]\n{package} = {{ path = \"../{package}\" }}\n{}", tool("far", "far", "capabilities = {}")),
            &format!("pub fn far() {{ {name}::go() }}\n"),
        )
        .file(
            &format!("{package}/Cargo.toml"),
            &format!("[package]\nname = \"{package}\"\nversion = \"9.0.0\"\nedition = \"2024\"\n[lib]\nname = \"{library}\"\n"),
        )
        .file(&format!("{package}/src/lib.rs"), "pub fn go() { let _ = std::process::Command::new(\"sh\").status(); }\n")
        .file(
            "project/Cargo.lock",
            &format!("version = 4\n\n[[package]]\nname = \"demo\"\nversion = \"0.1.0\"\ndependencies = [\n \"{package}\",\n]\n\n[[package]]\nname = \"{package}\"\nversion = \"9.0.0\"\n"),
        );
        let (code, said) = bench.json(&[]);
        assert_eq!(code, 4, "{said}");
        let expected = format!("lint.package.opaque package {package}@9.0.0");
        assert!(codes(&said).contains(&expected), "{package}: {said}");
    }
}
