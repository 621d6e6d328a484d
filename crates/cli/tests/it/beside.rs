//! Programs beside the command take over with everything it was given, or are named with what to do.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::bench::Bench;

const TOOLBOX: &str =
    "[personality]\n\n[[tool]]\nname = \"slug\"\nruntime = \"wasm\"\ncomponent = \"slug.wasm\"\n";

/// Runs a copy of the command in the bench's folder, so that only what is there is beside it.
fn copied(bench: &Bench, arguments: &[&str]) -> String {
    let copy = bench.path().join("bin/ringfence");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    // A link keeps a hundred megabytes off the disk where it can.
    let own = env!("CARGO_BIN_EXE_ringfence");
    if !copy.exists() && std::fs::hard_link(own, &copy).is_err() {
        std::fs::copy(own, &copy).unwrap();
    }
    let output = Command::new(&copy).args(arguments).current_dir(bench.path()).env_clear().output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(bench.path().to_str().unwrap(), "[W]");
    format!("{}{}exit {}", text(&output.stdout), text(&output.stderr), output.status.code().unwrap())
}

#[test]
fn a_component_without_its_program_says_what_to_install() {
    let bench = Bench::new().file("slug.wasm", "").file("ringfence.toml", TOOLBOX);
    for arguments in [
        &["call", "slug.wasm", "{}"][..],
        &["component", "show", "slug.wasm"],
        &["component", "seal", "slug.wasm"],
        &["check"],
        &["tools"],
        &["call", "slug", "{}"],
    ] {
        let said = copied(&bench, arguments);
        assert!(
            said.contains("`[W]/bin/ringfence-components` is not installed")
                && said.contains("cargo install --path crates/components")
                && !said.ends_with("exit 0"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn the_program_of_components_takes_over_with_everything() {
    let script = "#!/bin/sh\nprintf '%s|' \"$@\"; cat; exit 7\n";
    let bench = Bench::new()
        .file("slug.wasm", "")
        .file("ringfence.toml", TOOLBOX)
        .file("bin/ringfence-components", script);
    let path = bench.path().join("bin/ringfence-components");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(
        copied(&bench, &["--workspace", ".", "call", "slug", r#"{"title": "a b"}"#]),
        r#"--workspace|.|call|slug|{"title": "a b"}|exit 7"#
    );
    assert_eq!(
        copied(&bench, &["component", "show", "--json", "slug.wasm"]),
        "component|show|--json|slug.wasm|exit 7"
    );
    // What has no component in it stays here.
    let bench = bench.file("ringfence.toml", "[personality]\n");
    assert!(copied(&bench, &["check"]).ends_with("exit 0"));
}
