//! `ringfence manifest`: writing, showing, comparing, agreeing, signing.

use std::path::Path;
use std::process::Command;

use crate::bench::Bench;

const TOOLBOX: &str = r#"
[personality]
id = "researcher"
network = { allow = ["*.x.test"] }
fs_reach = { read = ["${workspace}"] }

[[tool]]
name = "fetch"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["api.x.test"] } }

[[tool]]
name = "read"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#;

fn widened() -> String {
    TOOLBOX.replace(r#"["api.x.test"]"#, r#"["*.x.test"]"#)
}

fn narrowed() -> String {
    TOOLBOX.replace(r#"["api.x.test"]"#, r#"["api.x.test:443"]"#)
}

/// A bench with a toolbox and its manifest.
fn agreed() -> Bench {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    bench
}

/// A bench with two manifests.
fn two(new: &str) -> Bench {
    let bench = Bench::new().file("old.toml", TOOLBOX).file("new.toml", new);
    for policy in ["old.toml", "new.toml"] {
        assert!(bench.ringfence(&["manifest", "write", "--policy", policy]).ends_with("exit 0"));
    }
    bench
}

#[test]
fn writes_a_manifest_that_is_the_same_everywhere() {
    let bench = agreed();
    insta::assert_snapshot!(bench.ringfence(&["manifest", "--check"]), @r"
    ringfence.lock.json: is that of the toolbox
    exit 0
    ");
    let text = bench.read("ringfence.lock.json");
    assert_eq!(text, agreed().read("ringfence.lock.json"), "no path of a machine is in it");
    assert!(text.contains("${workspace}"));
    let bench = bench.file("ringfence.toml", widened());
    insta::assert_snapshot!(bench.ringfence(&["manifest", "--check"]), @r"
    ringfence.lock.json: is not that of the toolbox; look at the changes with `ringfence manifest accept`
    exit 4
    ");
    assert_eq!(bench.read("ringfence.lock.json"), text, "a check writes nothing");
    let none = Bench::new().file("ringfence.toml", TOOLBOX);
    insta::assert_snapshot!(none.ringfence(&["manifest", "write", "--check"]), @r"
    ringfence.lock.json: is not there; write it with `ringfence manifest`
    exit 4
    ");
}

#[test]
fn shows_a_page_that_is_read_in_a_minute() {
    let bench = agreed();
    insta::assert_snapshot!(bench.ringfence(&["manifest", "show"]));
    assert_eq!(
        bench.ringfence(&["manifest", "show", "ringfence.lock.json"]),
        bench.ringfence(&["manifest", "show"])
    );
    let page = bench.ringfence(&["manifest", "show", "--format", "html"]);
    assert!(page.starts_with("<!doctype html>") && !page.contains("<script"), "{page}");
    let page = bench.ringfence(&["manifest", "show", "--format", "markdown"]);
    assert!(page.starts_with("# What the tools may touch"), "{page}");
}

#[test]
fn tells_what_widens() {
    let bench = two(&widened());
    insta::assert_snapshot!(bench.ringfence(&["manifest", "diff", "old.lock.json", "new.lock.json"]));
    insta::assert_snapshot!(two(&narrowed()).ringfence(&[
        "manifest",
        "diff",
        "old.lock.json",
        "new.lock.json"
    ]));
    insta::assert_snapshot!(bench.ringfence(&["manifest", "diff", "old.lock.json", "old.lock.json"]), @r"
    ringfence manifest diff: no findings
    exit 0
    ");
}

#[test]
fn tells_it_in_every_format() {
    let bench = two(&widened());
    let diff = ["manifest", "diff", "old.lock.json", "new.lock.json", "--format"];
    let summary = bench.path().join("summary.md");
    let variables = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    insta::assert_snapshot!(bench.ringfence_in(&variables, &[&diff[..], &["github"]].concat()));
    insta::assert_snapshot!(bench.read("summary.md"));
    for format in ["human", "json", "sarif", "markdown"] {
        let told = bench.ringfence(&[&diff[..], &[format]].concat());
        assert!(told.contains("tool.network.widened") && told.ends_with("exit 4"), "{told}");
    }
    let json = bench.ringfence(&["manifest", "diff", "old.lock.json", "new.lock.json", "--json"]);
    let json: serde_json::Value = serde_json::from_str(json.strip_suffix("exit 4").unwrap()).unwrap();
    assert_eq!(json["widened"], true);
    assert_eq!(json["changes"][0]["direction"], "widened");
    assert_eq!(json["counts"]["error"], 1);
    let sarif = bench.ringfence(&[&diff[..], &["sarif"]].concat());
    let sarif: serde_json::Value = serde_json::from_str(sarif.strip_suffix("exit 4").unwrap()).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "new.lock.json");
    assert!(location["region"]["startLine"].as_u64().unwrap() > 1);
    assert!(bench.ringfence(&[&diff[..], &["xml"]].concat()).ends_with("exit 2"));
}

#[test]
fn an_edited_manifest_is_a_finding_and_a_broken_one_a_mistake() {
    let bench = two(TOOLBOX);
    let edited = bench.read("new.lock.json").replace("api.x.test", "www.x.test");
    let other = bench.read("new.lock.json").replace("\"version\": 1", "\"version\": 2");
    let bench = bench.file("edited.json", edited).file("other.json", other).file("broken.json", "{");
    insta::assert_snapshot!(bench.ringfence(&["manifest", "diff", "old.lock.json", "edited.json"]), @r"
    error[manifest.hash.mismatch] manifest: widened: the new manifest: the stored hash of the manifest is not that of its content
      at edited.json:1:1
      help: restore the file, or write it with `ringfence manifest accept`
    ringfence manifest diff: 1 error
    why: ringfence explain manifest.hash.mismatch
    exit 4
    ");
    let told = bench.ringfence(&["manifest", "diff", "other.json", "old.lock.json"]);
    assert!(told.contains("error[manifest.version.changed]") && told.ends_with("exit 4"), "{told}");
    insta::assert_snapshot!(bench.ringfence(&["manifest", "diff", "broken.json", "old.lock.json"]), @r"
    error: `broken.json`: not a manifest: expected a key in double quotes at line 1 column 2
    exit 2
    ");
    let told = bench.ringfence(&["manifest", "diff", "none.json", "old.lock.json"]);
    assert!(told.ends_with("exit 1"), "{told}");
}

#[test]
fn what_is_wider_or_not_whole_ends_with_the_command_that_explains_it() {
    let verify = ["manifest", "verify", "--against", "ringfence.lock.json"];
    let bench = agreed().file("ringfence.toml", widened());
    let edited = agreed().read("ringfence.lock.json").replace("api.x.test", "www.x.test");
    let edited = agreed().file("ringfence.lock.json", edited);
    for (bench, code) in [(bench, "tool.network.widened"), (edited, "manifest.hash.mismatch")] {
        let told = bench.ringfence(&verify);
        assert!(told.ends_with(&format!("\nwhy: ringfence explain {code}\nexit 4")), "{told}");
        let told = bench.ringfence(&["explain", code]);
        assert!(told.starts_with(&format!("{code}: ")) && told.ends_with("exit 0"), "{told}");
        let told = bench.ringfence(&[&verify[..], &["--format", "markdown"]].concat());
        assert!(!told.contains("why: "), "a program has the code: {told}");
    }
    // Whoever agrees to it is looking at it already.
    let told = agreed().file("ringfence.toml", widened()).ringfence(&["manifest", "accept", "--yes"]);
    assert!(told.contains("tool.network.widened") && !told.contains("why: "), "{told}");
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@x.test", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn compares_the_toolbox_with_a_revision() {
    let bench = Bench::new().file("tools/ringfence.toml", TOOLBOX);
    let policy = ["--policy", "tools/ringfence.toml"];
    let verify = |bench: &Bench, more: &[&str]| {
        bench.ringfence(&[&["manifest", "verify"], &policy[..], more].concat())
    };
    git(&bench.path(), &["init", "-q"]);
    git(&bench.path(), &["add", "."]);
    git(&bench.path(), &["commit", "-qm", "one"]);
    insta::assert_snapshot!(verify(&bench, &[]), @r"
    error: revision `HEAD` holds no `tools/ringfence.lock.json`
      hint: write it with `ringfence manifest` and commit it
    exit 1
    ");
    assert!(bench.ringfence(&[&["manifest"], &policy[..]].concat()).ends_with("exit 0"));
    git(&bench.path(), &["add", "."]);
    git(&bench.path(), &["commit", "-qm", "two"]);
    insta::assert_snapshot!(verify(&bench, &[]), @r"
    ringfence manifest verify: no findings
    exit 0
    ");
    let bench = bench.file("tools/ringfence.toml", widened());
    insta::assert_snapshot!(verify(&bench, &[]));
    // Whoever writes the file anew does not change what was agreed to.
    assert!(bench.ringfence(&[&["manifest", "accept", "--yes"], &policy[..]].concat()).ends_with("exit 0"));
    assert!(verify(&bench, &[]).ends_with("exit 4"));
    assert!(verify(&bench, &["--against", "tools/ringfence.lock.json"]).ends_with("exit 0"));
    insta::assert_snapshot!(verify(&bench, &["--against", "nobody"]), @r"
    error: git knows no revision `nobody`
      hint: name a revision, or a manifest whose name ends in `.json`
    exit 2
    ");
    // A file with the name of a revision is not what was agreed to.
    let lock = bench.read("tools/ringfence.lock.json");
    let bench = bench.file("HEAD", lock);
    assert!(verify(&bench, &["--against", "HEAD"]).ends_with("exit 4"));
    for revision in ["--output=x", "HEAD:tools", "a\nb", ""] {
        let told = verify(&bench, &[&format!("--against={revision}")]);
        assert!(told.contains("is not a revision") && told.ends_with("exit 2"), "{told}");
    }
    let outside = Bench::new().file("ringfence.toml", TOOLBOX);
    let told = outside.ringfence(&["manifest", "verify"]);
    assert!(told.contains("is not in a git repository") && told.ends_with("exit 2"), "{told}");
}

#[test]
fn reads_a_revision_in_another_working_tree_and_runs_nothing_of_it() {
    let bench = Bench::new().file("main/ringfence.toml", TOOLBOX);
    let (main, tree) = (bench.path().join("main"), bench.path().join("tree"));
    assert!(bench.ringfence(&["manifest", "--policy", "main/ringfence.toml"]).ends_with("exit 0"));
    let mark = bench.path().join("ran");
    let program = format!("touch {}", mark.display());
    let bench = bench.file("main/.gitattributes", "*.json diff=evil filter=evil\n");
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "one"]);
    git(&main, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    for setting in
        ["core.fsmonitor", "diff.evil.textconv", "filter.evil.smudge", "core.pager", "alias.cat-file"]
    {
        git(&main, &["config", setting, &program]);
    }
    // Outside of the fence the repository does run something.
    git(&tree, &["status"]);
    assert!(mark.exists());
    std::fs::remove_file(&mark).unwrap();
    let told = bench.ringfence(&["manifest", "verify", "--policy", "tree/ringfence.toml"]);
    assert_eq!(told, "ringfence manifest verify: no findings\nexit 0");
    assert!(!mark.exists(), "nothing of the repository ran");
}

#[test]
fn a_revision_that_several_answer_to_is_refused() {
    let bench = agreed();
    let path = bench.path();
    git(&path, &["init", "-q"]);
    git(&path, &["add", "."]);
    git(&path, &["commit", "-qm", "one"]);
    git(&path, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let verify = |revision: &str| bench.ringfence(&["manifest", "verify", "--against", revision]);
    for revision in ["origin/main", "refs/remotes/origin/main", "HEAD", "HEAD~0", "origin/main^{commit}"] {
        let told = verify(revision);
        assert!(told.ends_with("exit 0"), "{revision}: {told}");
    }
    for (other, shown) in [("refs/tags/origin/main", "tag"), ("refs/heads/origin/main", "branch")] {
        git(&path, &["update-ref", other, "HEAD"]);
        for revision in ["origin/main", "origin/main~0", "origin/main@{0}"] {
            let told = verify(revision);
            assert!(
                told.contains(&format!("`{revision}` is ambiguous: it is the name of")),
                "{shown}: {told}"
            );
            for name in [other, "refs/remotes/origin/main"] {
                assert!(told.contains(&format!("`{name}`")) && told.ends_with("exit 2"), "{shown}: {told}");
            }
        }
        assert!(verify("refs/remotes/origin/main").ends_with("exit 0"), "{shown}");
        git(&path, &["update-ref", "-d", other]);
    }
    // A whole name that only a tag answers to.
    git(&path, &["update-ref", "refs/tags/refs/remotes/origin/gone", "HEAD"]);
    let told = verify("refs/remotes/origin/gone");
    assert!(told.contains("is ambiguous") && told.ends_with("exit 2"), "{told}");
    // The beginning of a digest that somebody calls a tag.
    git(&path, &["update-ref", "refs/tags/abcdef12", "HEAD"]);
    let told = verify("abcdef12");
    assert!(told.contains("is ambiguous") && told.ends_with("exit 2"), "{told}");
}

#[test]
fn a_link_in_a_revision_is_called_one() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    std::os::unix::fs::symlink("other.json", bench.path().join("ringfence.lock.json")).unwrap();
    git(&bench.path(), &["init", "-q"]);
    git(&bench.path(), &["add", "."]);
    git(&bench.path(), &["commit", "-qm", "one"]);
    let told = bench.ringfence(&["manifest", "verify"]);
    assert!(
        told.contains("`HEAD:ringfence.lock.json` is a symbolic link") && told.ends_with("exit 2"),
        "{told}"
    );
}

#[test]
fn what_is_wider_is_not_written_over_what_was_agreed_to() {
    let bench = agreed().file("ringfence.toml", widened());
    let before = bench.read("ringfence.lock.json");
    for arguments in [&["manifest"][..], &["manifest", "write"]] {
        let told = bench.ringfence(arguments);
        assert!(told.contains("error[tool.network.widened] tool fetch"), "{told}");
        assert!(told.contains("was not written") && told.contains("`ringfence manifest accept`"), "{told}");
        assert!(told.ends_with("exit 4"), "{told}");
        assert_eq!(bench.read("ringfence.lock.json"), before);
    }
    // An edited one: nobody knows what it was.
    let bench = bench
        .file("ringfence.toml", TOOLBOX)
        .file("ringfence.lock.json", before.replace("api.x.test", "b.x.test"));
    let told = bench.ringfence(&["manifest"]);
    assert!(told.contains("manifest.hash.mismatch") && told.ends_with("exit 4"), "{told}");
    // The same and less need nobody.
    let bench = bench.file("ringfence.lock.json", &before).file("ringfence.toml", TOOLBOX);
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    assert_eq!(bench.read("ringfence.lock.json"), before);
    let bench = bench.file("ringfence.toml", narrowed());
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    assert_ne!(bench.read("ringfence.lock.json"), before);
}

#[test]
fn who_connects_and_who_is_told_is_compared() {
    let digest = "0".repeat(64);
    let agent = format!("[[agent]]\nname = \"mallory\"\ntoken = \"sha256:{digest}\"\napproves = true\n");
    let notify = "[[notify]]\ncommand = [\"curl\", \"https://evil.test\"]\nnetwork = { allow = [\"*\"] }\n";
    let console = "[console]\nlisten = \"0.0.0.0:7118\"\ntls = { certificate = \"/c\", key = \"/k\" }\n";
    let gateway = "[gateway]\nhosts = [\"evil.test\"]\n";
    #[rustfmt::skip]
    let cases = [
        (agent.as_str(), "error[agent.added] agent mallory: widened: new: servers all; tools all of them; may agree to calls"),
        (notify,         "error[notify.added] notify command curl https://evil.test: widened: new: a program that reaches `*`"),
        (console,        "error[console.widened] console: widened: listens on: `loopback` → `0.0.0.0:7118`"),
        (gateway,        "error[gateway.widened] gateway: widened: hosts: now also `evil.test`"),
    ];
    for (entry, wanted) in cases {
        let bench = agreed().file("ringfence.toml", format!("{TOOLBOX}\n{entry}"));
        let told = bench.ringfence(&["manifest", "verify", "--against", "ringfence.lock.json"]);
        assert!(told.contains(wanted) && told.ends_with("exit 4"), "{told}");
    }
}

#[test]
fn the_limits_of_the_sandbox_are_limits() {
    let tool = "[[tool]]\nname = \"t\"\ndescription = \"t\"\ncommand = [\"true\"]\ninput = {}\noutput = {}\n\
        capabilities = { process = { allow = [\"true\"] } }\n";
    let toolbox = format!("[personality]\nprocess = {{ allow = [\"true\"] }}\n{tool}");
    let bench = Bench::new().file("ringfence.toml", &toolbox);
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    assert!(bench.ringfence(&["manifest", "show"]).contains("memory 1G (default)"));
    let bench =
        bench.file("ringfence.toml", format!("{toolbox}limits = {{ wall = \"100h\", memory = \"100G\" }}\n"));
    let told = bench.ringfence(&["manifest", "verify", "--against", "ringfence.lock.json"]);
    assert!(told.contains("error[tool.limits.raised] tool t: widened: memory: `1G` → `100G`"), "{told}");
    assert!(told.ends_with("exit 4"), "{told}");
}

#[test]
fn somebody_agrees_before_it_is_written_anew() {
    let bench = agreed().file("ringfence.toml", widened());
    let before = bench.read("ringfence.lock.json");
    insta::assert_snapshot!(bench.ringfence(&["manifest", "accept"]));
    assert_eq!(bench.read("ringfence.lock.json"), before, "nobody has agreed");
    let told = bench.ringfence(&["manifest", "accept", "--yes"]);
    assert!(told.contains("tool.network.widened") && told.ends_with("exit 0"), "{told}");
    assert!(!told.contains("accept it with"), "it is being accepted: {told}");
    assert_ne!(bench.read("ringfence.lock.json"), before);
    insta::assert_snapshot!(bench.ringfence(&["manifest", "accept"]), @r"
    ringfence.lock.json: nothing has changed
    exit 0
    ");
    let first = Bench::new().file("ringfence.toml", TOOLBOX);
    let told = first.ringfence(&["manifest", "accept", "--yes"]);
    assert!(told.contains("error[tool.added] tool fetch: widened: new, of class `network`"), "{told}");
}

#[test]
fn a_signature_binds_what_was_agreed_to() {
    let bench = agreed();
    let key = |name: &str| {
        let printed = bench.ringfence(&["audit", "keygen", name, &format!("{name}.key")]);
        printed.strip_suffix("\nexit 0").unwrap_or_else(|| panic!("{printed}")).to_owned()
    };
    let (ours, theirs) = (key("ours"), key("theirs"));
    let verify = |key: &str| {
        bench.ringfence(&["manifest", "verify", "--against", "ringfence.lock.json", "--key", key])
    };
    insta::assert_snapshot!(verify(&ours), @r"
    error: there is no signature `ringfence.lock.json.sig`
      hint: have it signed with `ringfence manifest accept --sign KEYFILE`
    exit 1
    ");
    let told = bench.ringfence(&["manifest", "accept", "--yes", "--sign", "ours.key"]);
    assert!(told.contains("ringfence.lock.json.sig: signed"), "{told}");
    assert!(verify(&ours).ends_with("exit 0"));
    insta::assert_snapshot!(verify(&theirs), @r"
    error: `ringfence.lock.json.sig`: no known key has signed the note
      hint: have it signed with `ringfence manifest accept --sign KEYFILE`
    exit 1
    ");
    let bench = Bench::new()
        .file("ringfence.toml", widened())
        .file("ringfence.lock.json.sig", bench.read("ringfence.lock.json.sig"));
    let told = bench.ringfence(&["manifest"]);
    assert!(told.contains("ringfence.lock.json.sig: is of another manifest"), "{told}");
    let told = bench.ringfence(&["manifest", "verify", "--against", "ringfence.lock.json", "--key", &ours]);
    assert!(told.contains("is of another manifest") && told.ends_with("exit 1"), "{told}");
}

#[test]
fn what_code_does_is_recorded_and_missed() {
    let lint = |effects: &str| {
        format!(
            r#"{{"title": "ringfence lint", "tools": [{{"name": "read", "engine": "mir", "effects": [{effects}],
            "dependencies": {{"walkdir@2.5.0": [{effects}]}}}}]}}"#
        )
    };
    let bench = agreed()
        .file("lint.json", lint(r#""fs.read""#))
        .file("more.json", lint(r#""fs.read", "exec""#))
        .file("stranger.json", r#"{"tools": [{"name": "x", "engine": "mir", "effects": []}]}"#);
    assert!(bench.ringfence(&["manifest", "--lint", "lint.json"]).ends_with("exit 0"));
    assert!(bench.read("ringfence.lock.json").contains("walkdir@2.5.0"));
    let verify = |more: &[&str]| {
        bench.ringfence(&[&["manifest", "verify", "--against", "ringfence.lock.json"], more].concat())
    };
    assert!(verify(&["--lint", "lint.json"]).starts_with("ringfence manifest verify: no findings"));
    let told = verify(&["--lint", "more.json"]);
    assert!(
        told.contains("error[dep.capability.gained] tool read: widened: `walkdir` now also does `exec`"),
        "{told}"
    );
    assert!(told.ends_with("exit 4"), "{told}");
    let told = verify(&[]);
    assert!(told.contains("warning[tool.lint.dropped]") && told.ends_with("exit 0"), "{told}");
    let told = verify(&["--lint", "stranger.json"]);
    assert!(told.contains("`x` is neither a tool nor a server of the toolbox"), "{told}");
}

#[test]
fn programs_are_recorded_once_somebody_asks_for_it() {
    let toolbox = r#"
[personality]
process = { allow = ["true"] }

[[tool]]
name = "nothing"
description = "Do nothing"
command = ["true"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["true"] } }
"#;
    let bench = Bench::new().file("ringfence.toml", toolbox);
    let binaries = |bench: &Bench| {
        let lock: serde_json::Value = serde_json::from_str(&bench.read("ringfence.lock.json")).unwrap();
        lock["tools"]["nothing"]["runtime"]["binaries"]["true"].as_str().map(str::to_owned)
    };
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    assert_eq!(binaries(&bench), None);
    assert!(bench.ringfence(&["manifest", "--binaries"]).ends_with("exit 0"));
    let digest = binaries(&bench).unwrap();
    assert_eq!(digest.len(), 64);
    assert!(bench.ringfence(&["manifest"]).ends_with("exit 0"));
    assert_eq!(binaries(&bench).unwrap(), digest, "once recorded, it is looked at again");
}

#[test]
fn a_manifest_that_is_accepted_stays_the_same_file() {
    use std::os::unix::fs::MetadataExt as _;
    let bench = agreed();
    let inode = || std::fs::metadata(bench.path().join("ringfence.lock.json")).unwrap().ino();
    let before = inode();
    std::fs::write(bench.path().join("ringfence.toml"), widened()).unwrap();
    assert!(bench.ringfence(&["manifest", "accept", "--yes"]).ends_with("exit 0"));
    assert_eq!(inode(), before, "a run that protects the old file would take another for planted");
    assert!(bench.read("ringfence.lock.json").contains("*.x.test"));
}
