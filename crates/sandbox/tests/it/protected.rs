//! Files that a writable folder holds and that must stay as they are: those with names elsewhere, and what lies above protected
//! ones.

use std::path::{Path, PathBuf};

use ringfence_sandbox::{Access, HiddenPaths, Native, Report, Sandbox, SandboxError, Spec, Step, Streams};

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

#[test]
fn files_of_ours_are_hidden_and_cannot_be_locked() {
    let (_kept, work, _) = folders();
    for name in ["st.db", "st.db-wal", "other"] {
        std::fs::write(work.join(name), "ours").unwrap();
    }
    let hidden = HiddenPaths::default();
    let sandbox = Sandbox::new(Native::new()).hide(hidden.clone());
    // Also what is added when the sandbox was made, and what is not there.
    hidden.add(work.join("st.db"));
    hidden.add_changing(work.join("st.db-wal"));
    hidden.add_changing(work.join("st.db-shm"));
    let script = "import fcntl\n\
        for name in ('st.db', 'st.db-wal', 'other'):\n    \
            try:\n        file = open(name)\n        fcntl.flock(file, fcntl.LOCK_SH)\n        \
                fcntl.lockf(file, fcntl.LOCK_SH)\n        print(name, 'locked', file.read())\n    \
            except OSError as error: print(name, type(error).__name__)\n";
    let tree = |access| {
        let spec = Spec::new("/usr/bin/python3").arguments(["-c", script]).any_binary();
        spec.tree(&work, access).directory(&work)
    };
    for access in [Access::READ, Access::WRITE] {
        let ours = std::fs::File::open(work.join("st.db")).unwrap();
        ours.lock().unwrap();
        let report = sandbox.run(&tree(access), Streams::default()).unwrap();
        assert_eq!(
            said(&report),
            "st.db PermissionError\nst.db-wal PermissionError\nother locked ours\n",
            "{access:?}"
        );
    }
    let named = Spec::new("/bin/true").tree(work.join("st.db"), Access::READ);
    let refused = sandbox.plan(&named).unwrap_err().to_string();
    assert!(refused.contains("ringfence keeps its own state there"), "{refused}");
    assert_eq!(read(work.join("st.db")), "ours");
}
