//! The file is what clippy reads, and it fires.

use std::process::Command;

use super::*;

#[test]
fn every_entry_says_what_to_use_instead() {
    let file: toml::Table = configuration().parse().unwrap();
    for key in ["disallowed-methods", "disallowed-types"] {
        let entries = file[key].as_array().unwrap();
        assert!(entries.len() > 10, "{key}");
        let mut paths: Vec<&str> = entries.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
        for entry in entries {
            let reason = entry["reason"].as_str().unwrap();
            assert!(reason.contains("context."), "{entry}");
            assert_eq!(entry["allow-invalid"].as_bool(), Some(true), "{entry}");
        }
        paths.sort_unstable();
        let count = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), count, "{key} names a path twice");
    }
}

#[test]
fn every_handle_that_is_named_exists() {
    let context =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/context.rs")).unwrap();
    for effect in Effect::ALL {
        for part in handle_for(effect).unwrap_or_default().split("context.").skip(1) {
            let name = part.split('(').next().unwrap();
            assert!(context.contains(&format!("pub fn {name}(&self)")), "{effect}: {name}");
        }
    }
}

/// Runs the real clippy on a small package; std is all it needs.
#[test]
fn clippy_fires_on_what_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    write("clippy.toml", &configuration());
    write(
        "src/lib.rs",
        "pub fn files() { let _ = std::fs::read(\"a\"); }\n\
         pub fn paths(path: &std::path::Path) -> bool { path.exists() }\n\
         pub fn network() { let _ = std::net::TcpStream::connect(\"a:1\"); }\n\
         pub fn processes() { let _ = std::process::Command::new(\"git\").output(); }\n\
         pub fn variables() { let _ = std::env::var(\"A\"); }\n\
         pub fn renamed() { use std::fs::write as put; let _ = put(\"a\", \"b\"); }\n\
         pub fn typed(_: &std::fs::File) {}\n\
         pub fn harmless(text: &str) -> usize { text.len() }\n",
    );
    #[expect(clippy::disallowed_methods, reason = "the test starts the real clippy")]
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--message-format=short"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    #[rustfmt::skip]
    let cases = [
        (1, "use of a disallowed method `std::fs::read`"),
        (2, "use of a disallowed method `std::path::Path::exists`"),
        (3, "use of a disallowed method `std::net::TcpStream::connect`"),
        (4, "use of a disallowed method `std::process::Command::new`"),
        (4, "use of a disallowed method `std::process::Command::output`"),
        (5, "use of a disallowed method `std::env::var`"),
        (6, "use of a disallowed method `std::fs::write`"),
        (7, "use of a disallowed type `std::fs::File`"),
    ];
    for (line, wanted) in cases {
        let start = format!("src/lib.rs:{line}:");
        assert!(
            said.lines().any(|one| one.starts_with(&start) && one.contains(wanted)),
            "{line} {wanted}\n{said}"
        );
    }
    assert!(!said.contains("src/lib.rs:8:"), "{said}");
}
