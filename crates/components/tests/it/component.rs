//! Components and images from the command line: called, shown, sealed, pinned, and refused with what to do.

use std::path::PathBuf;

use serde_json::Value;

use crate::bench::Bench;

/// A component that `script/wasm-guests` built.
fn guest(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("RINGFENCE_TEST_GUESTS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/wasm")),
        PathBuf::from,
    );
    let path = folder.join(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("`{}`: {error}; run `script/wasm-guests`", path.display()))
}

fn toolbox(tool: &str) -> String {
    format!("[personality]\nfs_reach = {{ read = [\"${{workspace}}\"] }}\n\n[[tool]]\n{tool}\n")
}

const SLUG: &str = "name = \"slug\"\nruntime = \"wasm\"\ncomponent = \"plugins/slug.wasm\"";

#[test]
fn a_component_is_called_by_itself_and_from_a_toolbox() {
    let bench = Bench::new()
        .file("slug.wasm", guest("slug.wasm"))
        .file("count.wasm", guest("word_count.wasm"))
        .file("notes.txt", "one two");
    assert_eq!(
        bench.ringfence(&["call", "slug.wasm", r#"{"title": "Hello, World"}"#]),
        "{\"ok\":true,\"value\":\"hello-world\"}\nexit 0"
    );
    // Without a personality nothing is permitted.
    let notes = format!("{{\"path\": \"{}/notes.txt\"}}", bench.path().display());
    let refused = bench.ringfence(&["call", "count.wasm", &notes]);
    assert!(refused.contains("PATH_NOT_REACHABLE") && refused.ends_with("exit 3"), "{refused}");
    let bench = bench.file("ringfence.toml", toolbox(SLUG)).file("plugins/slug.wasm", guest("slug.wasm"));
    let counted = bench.ringfence(&["call", "count.wasm", &notes]);
    assert!(counted.contains("\"words\":2") && counted.ends_with("exit 0"), "{counted}");
    assert_eq!(
        bench.ringfence(&["call", "slug", r#"{"title": "From a toolbox"}"#]),
        "{\"ok\":true,\"value\":\"from-a-toolbox\"}\nexit 0"
    );
    let listed = bench.ringfence(&["tools"]);
    assert!(listed.contains("slug") && listed.contains("nothing"), "{listed}");
    // Arguments are held to the schema that the component declares.
    let wrong = bench.ringfence(&["call", "slug", r#"{"titel": "x"}"#]);
    assert!(wrong.contains("input_invalid") && wrong.ends_with("exit 2"), "{wrong}");
}

#[test]
fn a_component_that_is_called_by_itself_may_write_nothing_that_decides() {
    let reach = |written: &str| {
        format!(
            r#"
[personality]
network = {{ allow = ["*"] }}
fs_reach = {{ read = ["${{workspace}}"], write = ["{written}"] }}
secrets = {{ allow = ["PROBE_SECRET", "PROBE_ABSENT"] }}
environment = {{ allow = ["LANG", "PROBE_VARIABLE"] }}
"#
        )
    };
    let bench =
        Bench::new().file("probe.wasm", guest("probe.wasm")).file("out/x", "").file(".ringfence/x", "");
    let write = |path: &str| {
        let path = bench.path().join(path);
        serde_json::json!({ "act": "write", "path": path, "text": "forged" }).to_string()
    };
    #[rustfmt::skip]
    let cases = [
        // policy           what may be written   what decides
        ("policy.toml",     "${workspace}",       "`probe.wasm`, which the policy reads"),
        ("out/policy.toml", "${workspace}/out",   "`out/policy.toml`, what was accepted beside it"),
        ("ringfence.toml",  "${workspace}",       "`probe.wasm`, which the policy reads"),
        ("ringfence.toml",  "${workspace}/out",   ""),
    ];
    for (policy, written, decides) in cases {
        std::fs::write(bench.path().join(policy), reach(written)).unwrap();
        let store = ["--store", ".ringfence/own.db"];
        let written = write("out/new.txt");
        let said =
            bench.ringfence(&[&["-p", policy, "call"][..], &store, &["probe.wasm", &written]].concat());
        assert_eq!(said.ends_with("exit 0"), decides.is_empty(), "{policy} {written}: {said}");
        assert!(said.contains(decides), "{policy} {written}: {said}");
    }
    assert_eq!(bench.read("out/new.txt"), "forged");
}

#[test]
fn what_is_wrong_with_a_component_is_said_with_what_to_do() {
    let bench = Bench::new()
        .file("junk.wasm", "junk")
        .file("module.wasm", b"\0asm\x01\0\0\0")
        .file("greedy.wasm", guest("greedy.wasm"))
        .file("liar.wasm", guest("liar.wasm"))
        .file("impostor.wasm", guest("impostor.wasm"))
        .file("unsealed.wasm", guest("url_parts.wasm"))
        .file("other.toml", toolbox("name = \"trim\"\nruntime = \"wasm\"\ncomponent = \"impostor.wasm\""))
        .file("missing.toml", toolbox(SLUG))
        .file(
            "odd.toml",
            toolbox("name = \"a\"\nruntime = \"wasm\"\ncomponent = \"junk.wasm\"\ndescription = \"x\""),
        );
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str])] = &[
        (&["call", "junk.wasm"],        &["`junk.wasm`", "not a WebAssembly component"]),
        (&["call", "module.wasm"],      &["`module.wasm`", "component"]),
        (&["call", "nowhere.wasm"],     &["`nowhere.wasm`", "No such file"]),
        (&["call", "greedy.wasm"],      &["imports more than it declares", "wasi:http/outgoing-handler", "needs `network`", "needs `secrets`", "hint:"]),
        (&["call", "liar.wasm"],        &["says something else than its section", "hint:"]),
        (&["call", "unsealed.wasm"],    &["`unsealed.wasm`", "ringfence component seal"]),
        (&["--policy", "other.toml", "check"],   &["`impostor.wasm` says that it is the tool `slug`"]),
        (&["--policy", "missing.toml", "check"], &["`plugins/slug.wasm`: No such file"]),
        (&["--policy", "odd.toml", "check"],     &["`description` of a component is what the component itself declares"]),
    ];
    for (arguments, expected) in cases {
        let said = bench.ringfence(arguments);
        for part in *expected {
            assert!(said.contains(part), "{arguments:?}: {part}\n{said}");
        }
        assert!(said.lines().all(|line| line.len() < 3000) && !said.contains("\\n"), "{arguments:?}: {said}");
        assert!(!said.ends_with("exit 0"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_component_is_shown_and_sealed() {
    let bench =
        Bench::new().file("count.wasm", guest("word_count.wasm")).file("parts.wasm", guest("url_parts.wasm"));
    let shown: Value =
        serde_json::from_slice(&bench.run(&["component", "show", "--json", "count.wasm"], b"").stdout)
            .unwrap();
    let needs = |name: &str| {
        let imports = shown["imports"].as_array().unwrap();
        let found = imports.iter().find(|import| import["name"].as_str().unwrap().ends_with(name));
        found.unwrap_or_else(|| panic!("{name}"))["needs"].clone()
    };
    assert_eq!(needs("#[method]descriptor.open-at"), "fs_reach");
    assert_eq!(needs("#get-stdout"), Value::Null);
    assert_eq!(shown["declaration"]["name"], "word_count");
    let said = bench.ringfence(&["component", "show", "count.wasm"]);
    assert!(said.contains("IMPORT") && said.contains("fs_reach"), "{said}");
    // A component of JavaScript has no section until it is sealed, once.
    let said = bench.ringfence(&["component", "seal", "parts.wasm"]);
    assert!(said.starts_with("sealed sha256:") && said.ends_with("exit 0"), "{said}");
    let parts = bench.ringfence(&["call", "parts.wasm", r#"{"url": "https://example.com/a?b=c"}"#]);
    assert!(parts.contains("example.com") && parts.ends_with("exit 0"), "{parts}");
    let before = std::fs::read(bench.path().join("parts.wasm")).unwrap();
    let again = bench.ringfence(&["component", "seal", "parts.wasm"]);
    assert_eq!(std::fs::read(bench.path().join("parts.wasm")).unwrap(), before, "{again}");
}

#[test]
fn another_component_under_the_same_name_is_another_definition() {
    let bench =
        Bench::new().file("ringfence.toml", toolbox(SLUG)).file("plugins/slug.wasm", guest("slug.wasm"));
    assert!(bench.ringfence(&["pins", "accept", "slug"]).ends_with("exit 0"));
    assert!(bench.ringfence(&["manifest", "lock"]).contains("exit"), "a manifest is made");
    assert!(bench.ringfence(&["call", "slug", r#"{"title": "A"}"#]).contains("\"value\":\"a\""));
    // The same section, other code.
    let bench = bench.file("plugins/slug.wasm", guest("impostor.wasm"));
    let said = bench.ringfence(&["call", "slug", r#"{"title": "A"}"#]);
    assert!(said.contains("\"ok\":false") && said.ends_with("exit 3"), "{said}");
}

#[test]
fn an_image_needs_a_digest_and_an_engine() {
    let hex = "0".repeat(64);
    let tool = |image: &str| {
        toolbox(&format!(
            "name = \"count\"\nruntime = \"container\"\nimage = \"{image}\"\ncommand = [\"wc\"]\ninput = true\noutput = true\n\
             capabilities = {{ process = {{ allowedBinaries = [\"tools@sha256:{hex}\"] }} }}"
        ))
    };
    let bench = Bench::new()
        .file("tag.toml", tool("tools:latest"))
        .file("none.toml", tool(&format!("tools@sha256:{hex}")))
        .file(
            "away.toml",
            format!(
                "{}\n[container]\nengine = \"unix:///nowhere/engine.sock\"\n",
                tool(&format!("tools@sha256:{hex}"))
            ),
        )
        .file(
            "far.toml",
            format!(
                "{}\n[container]\nengine = \"tcp://192.0.2.1:2375\"\n",
                tool(&format!("tools@sha256:{hex}"))
            ),
        );
    let image = format!("tools@sha256:{hex}");
    #[rustfmt::skip]
    let cases: &[(&[&str], &str)] = &[
        (&["--policy", "tag.toml", "check"],          "`tools:latest` is not an image by its digest"),
        (&["--policy", "none.toml", "call", "count"], "nobody says which container engine runs images"),
        (&["--policy", "away.toml", "call", "count"], "no engine answers at `unix:///nowhere/engine.sock`"),
        (&["--policy", "far.toml", "call", "count"],  "cannot be used"),
        (&["run", "--image", &image, "--", "wc"],     "nobody says which container engine runs images"),
        (&["run", "--image", "tools:latest", "--engine", "unix:///x", "--", "wc"], "is not an image by its digest"),
    ];
    for (arguments, expected) in cases {
        let said = bench.ringfence(arguments);
        assert!(said.contains(expected) && !said.ends_with("exit 0"), "{arguments:?}: {said}");
    }
}
