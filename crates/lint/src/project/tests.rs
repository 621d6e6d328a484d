//! What is taken from cargo's graph and what is left out.

use serde_json::{Value, json};

use super::*;

fn package(name: &str, source: Option<&str>, targets: &[(&str, &str)]) -> Value {
    let targets: Vec<Value> = targets
        .iter()
        .map(|(target, kind)| {
            json!({"name": target, "kind": [kind], "crate_types": [kind], "src_path": format!("/w/{name}/{kind}.rs"),
                   "edition": "2021"})
        })
        .collect();
    json!({"name": name, "version": "1.0.0", "id": id(name), "source": source, "dependencies": [], "targets": targets,
           "features": {"loud": []}, "manifest_path": format!("/w/{name}/Cargo.toml"), "metadata": null,
           "edition": "2021"})
}

fn id(name: &str) -> String {
    format!("path+file:///w/{name}#1.0.0")
}

fn node(name: &str, dependencies: &[(&str, &str, Option<&str>, Option<&str>)]) -> Value {
    let deps: Vec<Value> = dependencies
        .iter()
        .map(|(alias, package, kind, platform)| {
            json!({"name": alias, "pkg": id(package), "dep_kinds": [{"kind": kind, "target": platform}]})
        })
        .collect();
    let plain: Vec<String> = dependencies.iter().map(|(_, package, ..)| id(package)).collect();
    json!({"id": id(name), "deps": deps, "dependencies": plain, "features": ["loud"]})
}

const REGISTRY: &str = "registry+https://registry.test/index";

fn metadata() -> String {
    let lib = |name| package(name, Some(REGISTRY), &[(name, "lib")]);
    json!({
        "packages": [
            package("tool", None, &[("tool-box", "lib"), ("main", "bin"), ("build-script-build", "custom-build")]),
            package("helper", None, &[("helper", "lib")]),
            package("ringfence", None, &[("ringfence", "lib")]),
            package("ringfence-policy", None, &[("ringfence_policy", "lib")]),
            package("derive", Some(REGISTRY), &[("derive", "proc-macro")]),
            lib("quote"), lib("cc"), lib("serde"), lib("winapi"), lib("proptest"),
        ],
        "workspace_members": [id("tool"), id("helper"), id("ringfence"), id("ringfence-policy")],
        "workspace_default_members": [id("tool")],
        "resolve": {"root": id("tool"), "nodes": [
            node("tool", &[("helper", "helper", None, None), ("fence", "ringfence", None, None),
                ("derive", "derive", None, None), ("cc", "cc", Some("build"), None),
                ("winapi", "winapi", None, Some("cfg(windows)")), ("proptest", "proptest", Some("dev"), None)]),
            node("helper", &[("serde1", "serde", None, Some("cfg(unix)"))]),
            node("ringfence", &[("ringfence_policy", "ringfence-policy", None, None)]),
            node("ringfence-policy", &[]),
            node("derive", &[("quote", "quote", None, None)]),
            node("quote", &[]), node("cc", &[]), node("serde", &[]), node("winapi", &[]), node("proptest", &[]),
        ]},
        "workspace_root": "/w", "target_directory": "/w/target", "version": 1, "metadata": null,
    })
    .to_string()
}

fn read() -> Project {
    let lock = format!(
        "[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"{REGISTRY}\"\nchecksum = \"abc\"\n"
    );
    Project::from_metadata(&metadata(), Some(&lock), &Cfg::parse(LINUX).unwrap()).unwrap()
}

#[test]
fn takes_what_the_program_uses_on_this_platform() {
    let project = read();
    let found: Vec<(&str, bool, Role)> =
        project.packages.iter().map(|package| (package.name.as_str(), package.own, package.role)).collect();
    #[rustfmt::skip]
    assert_eq!(found, [
        ("helper",           true,  Role::Run),
        ("tool",             true,  Role::Run),
        ("cc",               false, Role::Build),
        ("derive",           false, Role::Build),
        ("quote",            false, Role::Build),
        ("ringfence",        false, Role::Run),
        ("ringfence-policy", false, Role::Run),
        ("serde",            false, Role::Run),
    ]);
}

#[test]
fn keeps_names_targets_and_checksums() {
    let project = read();
    let tool = project.packages.iter().find(|package| package.name == "tool").unwrap();
    let names: Vec<(&str, &str)> = tool
        .dependencies
        .iter()
        .map(|one| (one.name.as_str(), project.packages[one.package].name.as_str()))
        .collect();
    assert_eq!(names, [("helper", "helper"), ("fence", "ringfence"), ("derive", "derive")]);
    assert_eq!(tool.build_dependencies.len(), 1);
    assert_eq!(tool.target(TargetKind::Library).unwrap().name, "tool_box");
    assert_eq!(tool.target(TargetKind::BuildScript).unwrap().edition, 2021);
    assert!(tool.features.contains("loud"));
    let serde = project.packages.iter().find(|package| package.name == "serde").unwrap();
    assert_eq!(serde.checksum.as_deref(), Some("abc"));
    assert_eq!(tool.checksum, None);
    assert_eq!(project.display(serde, Path::new("/w/serde/src/lib.rs")), "serde-1.0.0/src/lib.rs");
    assert_eq!(project.display(tool, Path::new("/w/tool/src/lib.rs")), "tool/src/lib.rs");
}

#[test]
fn refuses_what_it_cannot_read() {
    let cfg = Cfg::default();
    let no_graph = metadata().replace("\"resolve\":", "\"unresolved\":");
    let without = metadata().replacen("#1.0.0\",\"source\":\"registry", "#2.0.0\",\"source\":\"registry", 1);
    #[rustfmt::skip]
    let cases = [
        ("{}".to_owned(), None,      "what cargo says of the project cannot be read"),
        (no_graph,        None,      "has no resolved graph"),
        (without,         None,      "which it does not list"),
        (metadata(),      Some("["), "the lock file cannot be read"),
    ];
    for (text, lock, wanted) in cases {
        let error = Project::from_metadata(&text, lock, &cfg).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
