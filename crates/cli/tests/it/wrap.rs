//! `ringfence wrap`: which server it is, and whose word counts.

use crate::bench::{Bench, command};

/// Wraps a command for a client that says nothing, and returns what was said and the exit code.
fn wrap(bench: &Bench, arguments: &[&str]) -> String {
    let mut started = command(&bench.path());
    started.args(arguments).env("XDG_STATE_HOME", bench.path().join("state"));
    let output = started.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(bench.path().to_str().unwrap(), "[W]");
    format!("{said}exit {}", output.status.code().unwrap_or(-1))
}

#[test]
fn a_package_does_not_choose_what_it_is_granted() {
    let bench = Bench::new()
        .file("it/package.json", r#"{"name": "files"}"#)
        .file("it/dist/index.js", "")
        .file("alone/index.js", "")
        .file("fence.toml", "[personality]\n[[server]]\nname = \"files\"\n");
    insta::assert_snapshot!(wrap(&bench, &["wrap", "-p", "fence.toml", "--", "node", "it/dist/index.js"]), @"
    error: `files` is only what the package calls itself, and the policy has a server of that name
      hint: say that it is the one with `--name NAME`, or give the entry its `command`
    exit 2
    ");
    insta::assert_snapshot!(wrap(&bench, &["wrap", "--", "node", "alone/index.js"]), @"
    error: no name for the server can be made of its command, and its pins are kept by its name
      hint: give it one with `--name NAME`
    exit 2
    ");
}

#[test]
fn what_lies_where_a_client_starts_it_is_not_believed() {
    let bench = Bench::new()
        .file("ringfence.toml", "not a policy")
        .file("ringfence.pins.json", "{")
        .file("state/x", "");
    let said = wrap(&bench, &["wrap", "--name", "it", "--", "/bin/true"]);
    assert!(said.ends_with("exit 0") && said.contains("has no `[[server]]` entry"), "{said}");
    let said = wrap(&bench, &["wrap", "-p", "ringfence.toml", "--name", "it", "--", "/bin/true"]);
    assert!(said.ends_with("exit 4"), "{said}");
    let bench = bench.file("ringfence.toml", "[personality]\n");
    let said = wrap(&bench, &["wrap", "-p", "ringfence.toml", "--name", "it", "--", "/bin/true"]);
    assert!(said.contains("the pin file cannot be read") && said.ends_with("exit 2"), "{said}");
    // The book of a server without a policy that cannot be trusted stops it as well.
    let bench = bench.file("state/ringfence/servers/it/pins.json", "{");
    let said = wrap(&bench, &["wrap", "--name", "it", "--", "/bin/true"]);
    assert!(said.contains("the pin file cannot be read") && said.ends_with("exit 2"), "{said}");
}

#[test]
fn a_server_never_writes_what_decides_about_it() {
    let policy = |folder: &str| {
        format!(
            "[personality]\nfs_reach = {{ write = [\"{folder}\"] }}\n\
             [[server]]\nname = \"it\"\ncapabilities = {{ fs_reach = {{ write = [\"{folder}\"] }} }}\n"
        )
    };
    let bench = Bench::new().file("pol/x", "").file("real/x", "").file("out/x", "");
    let path = |name: &str| bench.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(path("pol"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("real/far.toml"), path("pol/near.toml")).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("pol/p.toml",    path("pol"),                        false),
        ("pol/p.toml",    bench.path().to_str().unwrap().to_owned(), false),
        ("pol/p.toml",    path("link"),                       false),
        ("real/far.toml", path("real"),                       false),
        ("pol/p.toml",    path("state/ringfence"),            false),
        ("pol/p.toml",    path("out"),                        true),
    ];
    for (file, granted, starts) in cases {
        std::fs::create_dir_all(bench.path().join("state/ringfence")).unwrap();
        std::fs::write(bench.path().join(file), policy(&granted)).unwrap();
        let named = if file == "real/far.toml" { "pol/near.toml" } else { file };
        let said = wrap(&bench, &["wrap", "-p", named, "--name", "it", "--", "/bin/true"]);
        assert_eq!(said.ends_with("exit 0"), starts, "{file} {granted}: {said}");
        assert_eq!(said.contains("which decide what it may do"), !starts, "{file} {granted}: {said}");
    }
    let said =
        wrap(&bench, &["wrap", "-p", "pol/p.toml", "--name", "it", "--store", "out/s.db", "--", "/bin/true"]);
    assert!(said.contains("may write the store") && said.ends_with("exit 2"), "{said}");
}
