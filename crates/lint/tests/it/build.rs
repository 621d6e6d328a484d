//! What a hostile project can do while it is looked at: nothing.

use std::net::TcpListener;
use std::process::Command;

use crate::bench::Bench;

/// Tries to leave in every way, and says so by failing the build.
const ESCAPES: &str = r#"
fn main() {
    let read = |path: &str| std::fs::read_to_string(path).is_ok();
    let mut out = Vec::new();
    if read("@SECRET@") { out.push("read a file outside"); }
    if read("@CREDENTIALS@") { out.push("read the credentials of cargo"); }
    // The scratch space inside is private: what counts is what is there afterwards.
    let _ = std::fs::write("@OUTSIDE@", "x");
    if std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/more.rs"), "x").is_ok() { out.push("wrote into the project"); }
    if std::net::TcpStream::connect("@LISTENER@").is_ok() { out.push("connected"); }
    if std::env::var("LINT_TEST_SECRET").is_ok() { out.push("saw a variable"); }
    assert!(out.is_empty(), "ESCAPED: {}", out.join(", "));
}
"#;

#[test]
fn a_build_script_reaches_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let bench =
        Bench::new().file("secret", "s").file("cargo/credentials.toml", "[registry]\ntoken = \"x\"\n");
    let script = ESCAPES
        .replace("@SECRET@", bench.path("secret").to_str().unwrap())
        .replace("@CREDENTIALS@", bench.path("cargo/credentials.toml").to_str().unwrap())
        .replace("@OUTSIDE@", bench.path("written").to_str().unwrap())
        .replace("@LISTENER@", &listener.local_addr().unwrap().to_string());
    let bench = bench.file("project/build.rs", &script);

    let mut lint = Command::new(env!("CARGO_BIN_EXE_ringfence-lint"));
    lint.arg(bench.path("project"))
        .args(["--inventory", "--json"])
        .env("XDG_CACHE_HOME", bench.path("cache"));
    lint.env("CARGO_HOME", bench.path("cargo")).env("LINT_TEST_SECRET", "s");
    let output = lint.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!bench.path("written").exists());
    assert!(!bench.path("project/src/more.rs").exists());
    assert!(!bench.path("project/target").exists(), "nothing is left in the project");

    // The same script without the fence does leave, so that the test can fail.
    let mut plain = Command::new("cargo");
    plain
        .args(["check", "--offline"])
        .current_dir(bench.path("project"))
        .env("CARGO_HOME", bench.path("cargo"));
    plain.env("CARGO_TARGET_DIR", bench.path("plain")).env("LINT_TEST_SECRET", "s");
    let said = String::from_utf8_lossy(&plain.output().unwrap().stderr).into_owned();
    for escape in
        ["read a file outside", "the credentials", "into the project", "connected", "saw a variable"]
    {
        assert!(said.contains(escape), "{escape}: {said}");
    }
    assert!(bench.path("written").exists(), "the script writes, where it can");
}

#[test]
fn a_project_does_not_choose_the_compiler() {
    let bench =
        Bench::new().file("project/src/lib.rs", "pub fn uses() { let _ = std::fs::read(\"/etc/hosts\"); }\n");
    let liar = bench.path("project/liar.sh");
    let bench = bench.file("project/liar.sh", "#!/bin/sh\nexit 0\n").file(
        "project/.cargo/config.toml",
        &format!("[build]\nrustc = {liar:?}\nrustc-wrapper = {liar:?}\nrustc-workspace-wrapper = {liar:?}\n"),
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&liar, mode).unwrap();
    for more in [&[][..], &["--cargo-config"]] {
        let (code, said) = bench.json(&[&["--entry", "uses"], more].concat());
        assert_eq!(code, 4, "{said}");
        let codes: Vec<&str> =
            said["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert!(codes.contains(&"lint.undeclared") && codes.contains(&"lint.configuration"), "{said}");
    }
}

#[test]
fn what_is_missing_is_said_and_nothing_is_changed() {
    let bench = Bench::new();
    std::fs::remove_file(bench.path("project/Cargo.lock")).unwrap();
    let said = bench.lint(&["--inventory"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stderr.contains("Cargo.lock` is missing") && said.stderr.contains("cargo generate-lockfile"),
        "{said:?}"
    );
    assert!(!bench.path("project/Cargo.lock").exists());

    let bench = Bench::new().file("project/src/lib.rs", "pub fn broken( {}\n");
    let said = bench.lint(&["--inventory"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("`cargo check` failed") && said.stderr.contains("src/lib.rs:1"), "{said:?}");

    let bench = Bench::new().file("project/rust-toolchain.toml", "[toolchain]\nchannel = \"1.2.3\"\n");
    let said = bench.lint(&["--inventory"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("the toolchain `1.2.3` is not installed"), "{said:?}");

    let said = bench.lint_at(&bench.path("cache"), &[]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("is no package of"), "{said:?}");
}

/// What a function of the project does.
fn does(bench: &Bench, name: &str, arguments: &[&str]) -> String {
    let (_, said) = bench.json(&[&["--inventory"], arguments].concat());
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
}

#[test]
fn what_ships_is_looked_at() {
    let bench = Bench::new().file(
        "project/src/lib.rs",
        "#[cfg(debug_assertions)]\npub fn act() {}\n#[cfg(not(debug_assertions))]\npub fn act() { let _ = std::fs::read(\"a\"); }\n\
         pub fn asks() { if !cfg!(debug_assertions) { let _ = std::process::Command::new(\"a\").status(); } }\n",
    );
    assert_eq!([does(&bench, "demo::act", &[]), does(&bench, "demo::asks", &[])], ["fs.read", "exec"]);
}

#[test]
fn a_configuration_that_makes_another_program_does_not_count_unless_asked() {
    let bench = Bench::new()
        .file("project/.cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"hide\"]\n")
        .file("project/src/lib.rs", "#[cfg(hide)]\npub fn act() {}\n#[cfg(not(hide))]\npub fn act() { let _ = std::fs::read(\"a\"); }\n");
    assert_eq!(does(&bench, "demo::act", &[]), "fs.read");
    assert_eq!(does(&bench, "demo::act", &["--cargo-config"]), "");
    let (code, said) = bench.json(&["--entry", "act", "--allow", "fs.read"]);
    assert_eq!((code, said["findings"][0]["code"].as_str().unwrap()), (4, "lint.configuration"), "{said}");
}

#[test]
fn a_crate_that_asks_whether_it_is_looked_at_is_not_believed() {
    let source = "pub fn act() { if option_env!(\"CARGO_NET_OFFLINE\").is_none() { let _ = std::fs::read(\"a\"); } }\n";
    let bench = Bench::new().file("project/src/lib.rs", source);
    let (code, said) = bench.json(&["--entry", "act"]);
    assert_eq!(code, 4, "{said}");
    let findings = said["findings"].as_array().unwrap();
    let told = |one: &serde_json::Value| {
        one["message"].as_str().is_some_and(|text| text.contains("it asks for `CARGO_NET_OFFLINE`"))
    };
    assert!(findings.iter().any(told), "{said}");
}

#[test]
fn what_a_build_script_left_behind_does_not_outlive_it() {
    // The script waits for what is kept of the dependency, and falsifies it.
    let liar = r#"
        fn main() {
            let deps = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap()).join("../../../deps");
            for _ in 0..600 {
                for entry in std::fs::read_dir(&deps).into_iter().flatten().flatten() {
                    let name = entry.file_name().into_string().unwrap();
                    if name.starts_with("evil-") && name.ends_with(".unit.json") {
                        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                        if text.ends_with('}') {
                            std::fs::write(entry.path(), text.replace("std::process::Command::status", "std::option::Option::status")).unwrap();
                            return;
                        }
                    }
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
    "#;
    let lock = |more: &str| {
        format!(
            "version = 4\n\n[[package]]\nname = \"demo\"\nversion = \"0.1.0\"\ndependencies = [\n \"evil\",\n{more}]\n\n[[package]]\nname = \"evil\"\nversion = \"0.1.0\"\n"
        )
    };
    let manifest = |more: &str| {
        format!(
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nevil = {{ path = \"../evil\" }}\n{more}"
        )
    };
    let bench = Bench::new()
        .file("evil/Cargo.toml", "[package]\nname = \"evil\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        .file(
            "evil/src/lib.rs",
            "pub fn go() -> bool { std::process::Command::new(\"a\").status().is_ok() }\n",
        )
        .file("project/src/lib.rs", "pub fn act() -> bool { evil::go() }\n")
        .file("liar/Cargo.toml", "[package]\nname = \"liar\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        .file("liar/src/lib.rs", "")
        .file("liar/build.rs", liar)
        .file("project/Cargo.toml", &manifest("liar = { path = \"../liar\" }\n"))
        .file(
            "project/Cargo.lock",
            &(lock(" \"liar\",\n") + "\n[[package]]\nname = \"liar\"\nversion = \"0.1.0\"\n"),
        );
    let (code, said) = bench.json(&["--entry", "act"]);
    assert_eq!(code, 4, "the script itself is told of: {said}");
    let bench = bench.file("project/Cargo.toml", &manifest("")).file("project/Cargo.lock", &lock(""));
    assert_eq!(does(&bench, "demo::act", &[]), "exec");
}
