//! Files that a writable folder holds and that must stay as they are: those with names elsewhere, and what lies above protected
//! ones.

use std::path::{Path, PathBuf};

use ringfence_sandbox::{Access, Native, Report, Sandbox, SandboxError, Spec, Step, Streams};

fn sh(script: &str, folder: &Path) -> Spec {
    Spec::new("/bin/sh").arguments(["-c", script]).any_binary().tree(folder, Access::WRITE).directory(folder)
}

fn run(spec: &Spec) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default()).unwrap()
}

fn said(report: &Report) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&report.stdout.bytes) + &text(&report.stderr.bytes)
}

/// A folder that is granted and one that is not.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let kept = tempfile::tempdir().unwrap();
    let root = kept.path().canonicalize().unwrap();
    for name in ["work", "out"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let (work, out) = (root.join("work"), root.join("out"));
    (kept, work, out)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn nothing_outside_is_written_through_a_hard_link() {
    let (_kept, work, out) = folders();
    std::fs::create_dir(work.join("sub")).unwrap();
    std::fs::write(out.join("a"), "a").unwrap();
    std::fs::hard_link(out.join("a"), work.join("sub/a")).unwrap();
    std::fs::write(work.join("own"), "own").unwrap();
    std::fs::hard_link(work.join("own"), work.join("sub/own")).unwrap();
    let script = "for way in 'echo bad > sub/a' 'echo bad >> sub/a' 'chmod 777 sub/a' 'touch -d @0 sub/a' 'truncate -s 0 sub/a' \
                  'mv sub moved; echo bad > moved/a; mv moved sub' 'ln sub/a b && echo bad > b'; do sh -c \"$way\"; done; \
                  cat sub/a; echo good > sub/own";
    let spec = sh(script, &work);
    let plan = Sandbox::new(Native::new()).plan(&spec).unwrap();
    assert_eq!((plan.shared_files.count, &plan.shared_files.first), (1, &vec![work.join("sub/a")]));
    let before = std::fs::metadata(out.join("a")).unwrap();
    let report = run(&spec);
    let after = std::fs::metadata(out.join("a")).unwrap();
    assert_eq!(read(out.join("a")), "a", "{}", said(&report));
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert!(said(&report).contains("Read-only file system"), "{}", said(&report));
    assert_eq!(read(work.join("own")), "good\n");
}

#[test]
fn what_lies_above_a_protected_file_stays_where_it_is() {
    let (_kept, work, _out) = folders();
    for file in ["a/.git/config", "a/.git/HEAD", "a/x", "rc"] {
        std::fs::create_dir_all(work.join(file).parent().unwrap()).unwrap();
        std::fs::write(work.join(file), "").unwrap();
    }
    std::os::unix::fs::symlink("rc", work.join(".bashrc")).unwrap();
    for (script, works) in [
        ("mv a b", false),
        ("mv a/.git a/b", false),
        ("mkdir c; mv -T --exchange a c || { mkdir -p c; mv -T c a; }", false),
        ("rm .bashrc", false),
        ("ln -sf /etc/passwd .bashrc", false),
        // Nothing else is different: files move in and out as in any folder.
        (
            "mv -n a/x x && ln x a/x && rm x && echo > a/.git/index && ln a/.git/index i && rm i a/.git/index",
            true,
        ),
        ("mkdir a/.git/rebase-merge && mv a/.git/rebase-merge a/.git/y && rmdir a/.git/y", true),
        ("! test -e /tmp/.pins", true),
    ] {
        let report = run(&sh(script, &work));
        assert_eq!(report.ending.code() == 0, works, "{script}: {}", said(&report));
        assert!(work.join("a/.git/config").exists(), "{script}");
        assert_eq!(std::fs::read_link(work.join(".bashrc")).unwrap(), Path::new("rc"), "{script}");
    }
}

#[test]
fn a_link_into_another_writable_folder_is_protected_there() {
    let (_kept, work, out) = folders();
    std::fs::create_dir(out.join("dot")).unwrap();
    std::fs::write(out.join("dot/rc"), "good").unwrap();
    std::os::unix::fs::symlink(out.join("dot/rc"), work.join(".bashrc")).unwrap();
    let path = out.join("dot/rc").display().to_string();
    for way in ["echo bad > F", "rm F", "mv F F2", "mv D D2"] {
        let script = way.replace('F', &path).replace('D', &out.join("dot").display().to_string());
        let report = run(&sh(&script, &work).tree(&out, Access::WRITE));
        assert_ne!(report.ending.code(), 0, "{way}: {}", said(&report));
        assert_eq!(read(&path), "good", "{way}");
    }
}

#[test]
fn a_link_in_a_protected_folder_protects_where_it_leads() {
    let (_kept, work, out) = folders();
    std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
    std::fs::create_dir_all(work.join("scripts")).unwrap();
    std::fs::write(work.join(".git/HEAD"), "").unwrap();
    for script in [work.join("scripts/pre-commit"), out.join("post-commit")] {
        std::fs::write(&script, "good").unwrap();
        std::os::unix::fs::symlink(&script, work.join(".git/hooks").join(script.file_name().unwrap()))
            .unwrap();
        let command =
            format!("echo bad > '{0}'; rm -f '{0}'; mv scripts other; echo good > own", script.display());
        let report = run(&sh(&command, &work).tree(&out, Access::WRITE));
        assert_eq!(report.ending.code(), 0, "{}", said(&report));
        assert_eq!(read(&script), "good", "{}", said(&report));
        assert!(report.quarantined.is_empty() && report.left.is_empty(), "{report:?}");
    }
}

#[test]
fn what_is_protected_must_be_there_and_the_same_when_it_is_mounted() {
    for (hidden, exchanged) in [(false, false), (false, true), (true, false), (true, true)] {
        let (_kept, work, _out) = folders();
        let file = work.join("sub").join(if hidden { ".ssh" } else { ".envrc" });
        std::fs::create_dir(work.join("sub")).unwrap();
        std::fs::write(&file, "").unwrap();
        let sandbox = Sandbox::new(Native::new());
        let plan = sandbox.plan(&sh("true", &work)).unwrap();
        let possible =
            Spec::new("/bin/true").tree_if_possible(&work, Access::WRITE).tree("/etc/hostname", Access::READ);
        let possible = sandbox.plan(&possible).unwrap();
        std::fs::rename(&file, work.join("away")).unwrap();
        if exchanged {
            std::fs::write(&file, "").unwrap();
        }
        match sandbox.run_plan(&plan, Streams::default()) {
            Err(SandboxError::Step { step: Step::Bind | Step::Changed, path, .. }) => {
                assert_eq!(path.unwrap(), file);
            }
            other => panic!("{other:?}"),
        }
        // Where a tree was granted only if possible, files come and go.
        assert_eq!(sandbox.run_plan(&possible, Streams::default()).is_ok(), !exchanged || hidden);
    }
}

fn lay(root: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        std::fs::write(root.join(file), text).unwrap();
    }
}

/// The folders before the last name of a protected path, as links that a command makes.
#[test]
fn a_new_link_in_the_place_of_a_protected_folder_is_moved_aside() {
    for (link, file) in [
        (".cargo", "config.toml"),
        (".config", "fish/config.fish"),
        (".config/fish", "config.fish"),
        (".github", "workflows/x.yml"),
        (".hg", "hgrc"),
        (".local", "bin/x"),
        (".mvn", "extensions.xml"),
    ] {
        let (_kept, work, out) = folders();
        for target in [work.join("x"), out.join("x")] {
            let script = format!(
                "mkdir -p '{0}' $(dirname {link}); (cd '{0}'; mkdir -p $(dirname {file}); echo bad > {file}); \
                 ln -s '{0}' y; ln -s \"$PWD/y\" {link}",
                target.display()
            );
            let report = run(&sh(&script, &work).tree(&out, Access::WRITE));
            assert_eq!(report.ending.code(), 0, "{link}: {}", said(&report));
            assert!(!work.join(link).join(file).exists(), "{link}: {report:?}");
            assert!(report.quarantined.iter().any(|one| one.found == work.join(link)), "{link}: {report:?}");
            let _gone = std::fs::remove_file(work.join("y"));
            let _gone = std::fs::remove_file(work.join("y.quarantined-1"));
        }
    }
}

#[test]
fn what_a_link_in_the_place_of_a_protected_folder_leads_to_is_protected() {
    let (_kept, work, out) = folders();
    lay(&work, &[("x/config.toml", "good"), ("x/other", "good")]);
    std::os::unix::fs::symlink("x", work.join("y")).unwrap();
    std::os::unix::fs::symlink("y", work.join(".cargo")).unwrap();
    std::os::unix::fs::symlink(out.join("hg"), work.join(".hg")).unwrap();
    for (script, works) in [
        ("echo bad > x/config.toml", false),
        ("mv x z", false),
        ("rm y", false),
        ("rm .cargo", false),
        ("ln -sfn z .cargo", false),
        ("echo bad > x/other", true),
    ] {
        let report = run(&sh(script, &work));
        assert_eq!(report.ending.code() == 0, works, "{script}: {}", said(&report));
        assert_eq!(read(work.join(".cargo/config.toml")), "good", "{script}");
    }
    // What was not there is moved aside, also in another writable folder.
    let script = format!("echo bad > x/config; mkdir -p {0}/hg; echo bad > {0}/hg/hgrc", out.display());
    let report = run(&sh(&script, &work).tree(&out, Access::WRITE));
    assert!(!work.join(".cargo/config").exists() && !work.join(".hg/hgrc").exists(), "{report:?}");
    assert!(work.join(".cargo").is_symlink() && work.join(".hg").is_symlink(), "{report:?}");
}

/// A link in a folder that can only be read leads into one that can be written.
#[test]
fn a_link_from_a_folder_that_is_only_read_counts_too() {
    let (_kept, work, out) = folders();
    lay(&work, &[("x/config.toml", "good")]);
    std::os::unix::fs::symlink(work.join("x"), out.join(".cargo")).unwrap();
    std::os::unix::fs::symlink(work.join("hg"), out.join(".hg")).unwrap();
    let script = "echo bad > x/config.toml; mkdir hg; echo bad > hg/hgrc";
    let report = run(&sh(script, &work).tree(&out, Access::READ));
    assert_eq!(read(out.join(".cargo/config.toml")), "good", "{report:?}");
    assert!(!out.join(".hg/hgrc").exists(), "{report:?}");
}

#[test]
fn credentials_behind_a_link_are_hidden() {
    let (_kept, home, out) = folders();
    lay(&home, &[("dot/config/gcloud/credentials.db", "secret"), ("dot/config/plain", "plain")]);
    std::os::unix::fs::symlink("dot/config", home.join(".config")).unwrap();
    let script =
        "cat .config/plain; cat .config/gcloud/credentials.db dot/config/gcloud/credentials.db; true";
    for access in [Access::READ, Access::WRITE] {
        let spec = Spec::new("/bin/sh").arguments(["-c", script]).any_binary();
        let report = run(&spec.tree(&home, access).directory(&home));
        assert!(said(&report).contains("plain") && !said(&report).contains("secret"), "{}", said(&report));
    }
    // The link may lie in another granted folder, or in the home alone.
    std::os::unix::fs::symlink(home.join("dot/config"), out.join(".config")).unwrap();
    std::fs::remove_file(home.join(".config")).unwrap();
    let script = "cat config/plain config/gcloud/credentials.db; true";
    let dot = home.join("dot");
    let spec = || {
        Spec::new("/bin/sh").arguments(["-c", script]).any_binary().tree(&dot, Access::READ).directory(&dot)
    };
    for spec in [spec().tree(&out, Access::READ), spec().home(&out)] {
        let report = run(&spec);
        assert!(said(&report).contains("plain") && !said(&report).contains("secret"), "{}", said(&report));
    }
    // Its own name lifts the floor there.
    let named = spec().home(&out).tree(dot.join("config/gcloud"), Access::READ);
    let named = named.tree(dot.join("config/gcloud/credentials.db"), Access::READ);
    assert!(said(&run(&named)).contains("secret"));
}

#[test]
fn links_in_a_circle_end_nothing() {
    let (_kept, work, _out) = folders();
    lay(&work, &[("x/fish/config.fish", "good")]);
    for link in [".config", ".local", ".cargo", ".hg", "x/fish/.config", "x/share", "x/lib"] {
        std::os::unix::fs::symlink(&work, work.join(link)).unwrap();
    }
    std::os::unix::fs::symlink("../x", work.join("x/.config")).unwrap();
    let report = run(&sh("echo bad > x/fish/config.fish", &work));
    assert_eq!(read(work.join("x/fish/config.fish")), "good", "{}", said(&report));
    assert!(report.left.is_empty() && report.quarantined.is_empty(), "{report:?}");
}

/// Where the folder of marks is spelled through a link, it is hidden where it really is, and the link stays.
#[test]
fn marks_behind_a_link_are_out_of_reach() {
    let (_kept, work, out) = folders();
    std::os::unix::fs::symlink(&work, out.join("way")).unwrap();
    let marks = out.join("way/state/ringfence/runs");
    let script = "ls state/ringfence/runs; echo x > state/ringfence/runs/forged.mark || exit 3";
    let sandbox = Sandbox::new(Native::new()).mark_runs_in([marks.clone()]);
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    assert_eq!(report.ending.code(), 3, "{}", said(&report));
    assert!(!said(&report).contains(".mark\n"), "{}", said(&report));
    assert_eq!(std::fs::read_dir(&marks).unwrap().count(), 0);

    let (_kept, work, _out) = folders();
    std::fs::create_dir_all(work.join("dot/local")).unwrap();
    std::os::unix::fs::symlink("dot/local", work.join("here")).unwrap();
    let marks = work.join("here/state/ringfence/runs");
    let script = "mkdir -p evil/state/ringfence/runs; for way in 'rm here' 'mv here there' 'ln -sfn evil here' 'mv dot dot2'; \
                  do sh -c \"$way\" && exit 0; done; exit 3";
    let sandbox = Sandbox::new(Native::new()).mark_runs_in([marks]);
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    assert_eq!(report.ending.code(), 3, "{}", said(&report));
    assert_eq!(std::fs::read_link(work.join("here")).unwrap(), Path::new("dot/local"));
    assert!(report.left.is_empty(), "{report:?}");
}
