//! Files that a writable folder holds and that must stay as they are: those with names elsewhere, and what lies above protected
//! ones.

mod link;

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

/// Naming a path of the floor lifts it for what the path is named for, and for nothing else.
#[test]
fn a_path_that_is_named_for_reading_stays_protected_from_writing() {
    for named in [Access::READ, Access::EXECUTE] {
        let (_kept, work, _out) = folders();
        let files =
            [".npmrc", ".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", ".cargo/config.toml"];
        for file in [".git/HEAD", ".git/objects/x", ".git/refs/x"].iter().chain(&files) {
            std::fs::create_dir_all(work.join(file).parent().unwrap()).unwrap();
            std::fs::write(work.join(file), "old\n").unwrap();
        }
        let script = format!(
            "for file in {}; do cat $file; echo bad >> $file; rm -f $file; done; echo bad > .vscode/new; echo bad > .git/hooks/new",
            files.join(" ")
        );
        let mut spec = sh(&script, &work);
        for name in [".npmrc", ".git/config", ".git/hooks", ".vscode", ".cargo/config.toml"] {
            spec = spec.tree(work.join(name), named);
        }
        let report = run(&spec);
        assert_eq!(String::from_utf8_lossy(&report.stdout.bytes), "old\n".repeat(5), "{}", said(&report));
        for file in files {
            assert_eq!(read(work.join(file)), "old\n", "{file}: {}", said(&report));
        }
        assert!(!work.join(".vscode/new").exists() && !work.join(".git/hooks/new").exists(), "{named:?}");
        // Named for writing it may be written.
        let written = run(&sh("echo new > .npmrc", &work).tree(work.join(".npmrc"), Access::WRITE));
        assert_eq!(read(work.join(".npmrc")), "new\n", "{}", said(&written));
    }
}

#[test]
fn a_credential_that_is_named_for_writing_alone_cannot_be_read() {
    let (_kept, work, _out) = folders();
    std::fs::write(work.join(".npmrc"), "token").unwrap();
    let write_only = Access { read: false, write: true, execute: false };
    let spec = sh("cat .npmrc", &work).tree(work.join(".npmrc"), write_only);
    let Err(SandboxError::Path { path, error }) = Sandbox::new(Native::new()).plan(&spec) else {
        panic!("it could be read");
    };
    assert_eq!(path, work.join(".npmrc"));
    assert!(error.to_string().contains("grant both, or neither"), "{error}");
}

/// Lines of the floor that are written for `/home/*` hold in a home that lies elsewhere.
#[test]
fn the_programs_of_a_home_elsewhere_are_protected() {
    let (_kept, work, _out) = folders();
    let report =
        run(&sh("mkdir -p bin go/bin; echo x > bin/ls; echo x > go/bin/x; echo x > y", &work).home(&work));
    assert!(work.join("y").exists() && !work.join("bin").exists() && !work.join("go/bin").exists());
    assert_eq!(report.quarantined.len(), 2, "{:?}", report.quarantined);
}

#[test]
fn a_link_that_is_granted_beside_its_tree_lifts_no_protection() {
    let (_kept, work, out) = folders();
    std::fs::write(out.join("a"), "a").unwrap();
    std::fs::hard_link(out.join("a"), work.join("a")).unwrap();
    std::fs::create_dir(work.join("sub")).unwrap();
    std::os::unix::fs::symlink("a", work.join("link")).unwrap();
    std::os::unix::fs::symlink("../a", work.join("sub/link")).unwrap();
    for link in ["link", "sub/link"] {
        let spec = sh("echo bad > a; echo bad > link; cat a", &work).tree(work.join(link), Access::WRITE);
        let report = run(&spec);
        assert_eq!(read(out.join("a")), "a", "{link}: {}", said(&report));
    }
    // What is granted by its own name is.
    let report = run(&sh("echo good > a", &work).tree(work.join("a"), Access::WRITE));
    assert_eq!(read(out.join("a")), "good\n", "{}", said(&report));
    // Nor does a link that is granted where possible make what it leads to something that comes and goes.
    std::fs::write(work.join("sub/.envrc"), "").unwrap();
    std::os::unix::fs::symlink("sub", work.join("folder")).unwrap();
    let spec = sh("true", &work).tree_if_possible(work.join("folder"), Access::WRITE);
    let sandbox = Sandbox::new(Native::new());
    let plan = sandbox.plan(&spec).unwrap();
    std::fs::remove_file(work.join("sub/.envrc")).unwrap();
    assert!(sandbox.run_plan(&plan, Streams::default()).is_err());
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn a_protected_pipe_is_not_written() {
    let (_kept, work, _out) = folders();
    std::fs::create_dir_all(work.join(".git/hooks/deep")).unwrap();
    std::fs::create_dir_all(work.join("own/deep")).unwrap();
    std::fs::write(work.join(".git/HEAD"), "").unwrap();
    std::fs::write(work.join(".git/config"), "[core]\nhooksPath = own\n").unwrap();
    let pipes = [".git/hooks/one", ".git/hooks/deep/two", ".envrc", "own/three", "own/deep/four", "free"];
    for name in pipes {
        pipe(&work.join(name));
    }
    let script = format!("for one in {}; do [ -p $one ] && (: 1<>$one) && echo $one; done", pipes.join(" "));
    assert_eq!(said(&run(&sh(&script, &work))).trim(), "free");
}

/// Runs a command that says `begun`, and does something outside when it has.
fn run_while(spec: &Spec, outside: impl FnOnce() + Send + 'static) -> Report {
    let mut outside = Some(outside);
    let observer = move |_: ringfence_sandbox::Stream, _: &[u8]| {
        if let Some(outside) = outside.take() {
            outside();
        }
        std::ops::ControlFlow::Continue(())
    };
    let streams = Streams { observer: Some(Box::new(observer)), ..Streams::default() };
    Sandbox::new(Native::new()).run(spec, streams).unwrap()
}

#[test]
fn a_run_ends_when_a_protected_file_is_replaced_from_outside() {
    type Act = fn(&Path);
    let acts: [(&str, Act); 5] = [
        (".git/config", |work| {
            std::fs::write(work.join("new"), "new").unwrap();
            std::fs::rename(work.join("new"), work.join(".git/config")).unwrap();
        }),
        // The same file has its name back; its mount is gone all the same.
        (".git/config", |work| {
            std::fs::hard_link(work.join(".git/config"), work.join("kept")).unwrap();
            std::fs::remove_file(work.join(".git/config")).unwrap();
            std::fs::rename(work.join("kept"), work.join(".git/config")).unwrap();
        }),
        (".git/hooks", |work| {
            std::fs::remove_dir(work.join(".git/hooks")).unwrap();
            std::fs::create_dir(work.join(".git/hooks")).unwrap();
        }),
        (".git", |work| {
            std::fs::rename(work.join(".git"), work.join("away")).unwrap();
            std::fs::create_dir(work.join(".git")).unwrap();
        }),
        ("key/.ssh", |work| {
            std::fs::remove_dir(work.join("key/.ssh")).unwrap();
            std::fs::create_dir(work.join("key/.ssh")).unwrap();
        }),
    ];
    for (name, act) in acts {
        let (_kept, work, _out) = folders();
        for folder in [".git/hooks", ".git/objects", ".git/refs", "key/.ssh"] {
            std::fs::create_dir_all(work.join(folder)).unwrap();
        }
        std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/x").unwrap();
        std::fs::write(work.join(".git/config"), "old").unwrap();
        let begun = std::time::Instant::now();
        let spec = sh("cd .git/hooks; echo begun; sleep 20; echo bad > ../config", &work);
        let outside = work.clone();
        let report = run_while(&spec, move || act(&outside));
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{name}");
        let told = report
            .left
            .iter()
            .any(|(path, why)| path.starts_with(work.join(name)) && why.contains("was replaced"));
        assert!(told, "{name}: {report:?}");
        assert!(report.left.iter().any(|(path, _)| report.is_replaced(path)), "{name}: {report:?}");
        assert!(!report.is_replaced(&work), "{name}");
        assert_ne!(report.ending.code(), 0, "{name}");
    }
    // Who only writes to one, or changes anything else, ends nothing.
    let (_kept, work, _out) = folders();
    std::fs::write(work.join(".envrc"), "old").unwrap();
    std::fs::create_dir_all(work.join("node_modules/x")).unwrap();
    std::fs::write(work.join("node_modules/x/.envrc"), "old").unwrap();
    let report = run_while(&sh("echo begun; mv node_modules/x node_modules/y; sleep 1", &work), move || {
        std::fs::write(work.join(".envrc"), "new").unwrap();
        std::fs::write(work.join("other"), "").unwrap();
        std::fs::rename(work.join("other"), work.join("another")).unwrap();
    });
    assert_eq!(report.ending.code(), 0, "{report:?}");
}

#[test]
fn our_own_folder_is_made_before_a_command_could_make_it() {
    let (_kept, work, _out) = folders();
    let own = work.join("state/ringfence");
    let state = own.join("runs");
    let sandbox = Sandbox::new(Native::new()).mark_runs_in([state.clone()]).own_folders([own]);
    let script = "mkdir -p state/ringfence/runs; echo bad > state/ringfence/runs/planted; ls state/ringfence; \
                  mv state other; rm -rf state/ringfence; echo ended";
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    assert!(said(&report).contains("ended"), "{}", said(&report));
    assert!(state.is_dir() && !state.join("planted").exists(), "{}", said(&report));
    assert!(!said(&report).contains("runs\n"), "{}", said(&report));
}

#[test]
fn a_folder_of_ours_is_hidden_whole_whatever_its_name_and_the_way_to_it() {
    let (_kept, work, _out) = folders();
    std::fs::create_dir_all(work.join("kept/.own/servers/x")).unwrap();
    std::fs::write(work.join("kept/.own/servers/x/pins.json"), "good").unwrap();
    std::os::unix::fs::symlink("kept", work.join("link")).unwrap();
    for way in ["kept", "link"] {
        let own = work.join(way).join(".own");
        let sandbox = Sandbox::new(Native::new()).mark_runs_in([own.join("runs")]).own_folders([own]);
        let script = format!(
            "cat kept/.own/servers/x/pins.json; echo bad > kept/.own/servers/x/pins.json; mkdir kept/.own/writing; \
             mv kept away; mv {way} other; echo ended"
        );
        let report = sandbox.run(&sh(&script, &work), Streams::default()).unwrap();
        assert!(said(&report).contains("ended") && !said(&report).contains("good"), "{}", said(&report));
        assert_eq!(read(work.join("link/.own/servers/x/pins.json")), "good", "{way}: {}", said(&report));
        assert!(!work.join("kept/.own/writing").exists(), "{way}");
    }
}

#[test]
fn remotes_of_a_repository_are_protected() {
    let (_kept, work, _out) = folders();
    for folder in [".git/objects", ".git/refs", ".git/remotes"] {
        std::fs::create_dir_all(work.join(folder)).unwrap();
    }
    std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/x").unwrap();
    std::fs::write(work.join(".git/remotes/o"), "URL: good").unwrap();
    let report = run(&sh("echo bad > .git/remotes/o; echo bad > .git/remotes/new; true", &work));
    assert_eq!(read(work.join(".git/remotes/o")), "URL: good", "{}", said(&report));
    assert!(!work.join(".git/remotes/new").exists());
    // One that a command makes is moved aside.
    std::fs::remove_dir_all(work.join(".git/remotes")).unwrap();
    let report = run(&sh("mkdir .git/remotes; echo bad > .git/remotes/o", &work));
    assert!(!work.join(".git/remotes").exists(), "{report:?}");
    assert_eq!(report.quarantined.len(), 1, "{report:?}");
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

#[test]
fn what_leads_to_a_file_of_ours_stays_in_its_place() {
    let (_kept, work, out) = folders();
    for folder in ["sub", "node_modules/sub", "vendor"] {
        std::fs::create_dir_all(work.join(folder)).unwrap();
    }
    std::fs::write(out.join("st.db"), "ours").unwrap();
    std::fs::write(work.join("vendor/st.db"), "ours").unwrap();
    let links = [
        ("../out", "data"),
        ("data", "chain"),
        ("../../../out", "node_modules/sub/data"),
        ("nowhere", "broken"),
    ];
    for (to, at) in links {
        std::os::unix::fs::symlink(to, work.join(at)).unwrap();
    }
    let hidden = HiddenPaths::default();
    // Also where the file is outside of what is granted, or is not there.
    for path in
        ["chain/st.db", "node_modules/sub/data/none.db", "sub/../data/st.db", "broken/st.db", "vendor/st.db"]
    {
        hidden.add(work.join(path));
    }
    let sandbox = Sandbox::new(Native::new()).hide(hidden);
    let script = "for one in data chain node_modules/sub/data node_modules/sub node_modules broken sub vendor; do \
                  rm -f $one; mv $one gone && echo moved $one; ln -sfn /tmp $one && echo linked $one; done; touch sub/new; true";
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    let told = said(&report);
    assert!(!told.contains("moved"), "{told}");
    for (to, at) in links {
        assert_eq!(std::fs::read_link(work.join(at)).unwrap(), Path::new(to), "{told}");
    }
    assert!(work.join("sub/new").exists(), "{told}");
    assert_eq!(read(work.join("chain/st.db")) + &read(work.join("vendor/st.db")), "oursours");
}

#[test]
fn a_file_of_ours_that_is_not_there_is_made_before_a_command_could() {
    let (_kept, work, out) = folders();
    let hidden = HiddenPaths::default();
    let sandbox = Sandbox::new(Native::new()).hide(hidden.clone());
    for path in [work.join("pol.lock.json"), out.join("pol.lock.json"), work.join("none/pol.lock.json")] {
        hidden.add_made(path, "nothing yet");
    }
    let run = |spec: &Spec| sandbox.run(spec, Streams::default()).unwrap();
    let _report = run(&Spec::new("/bin/true").tree(&work, Access::READ));
    assert!(!work.join("pol.lock.json").exists(), "nobody could make it");
    // Each run is looked at by itself.
    for _ in 0..2 {
        let report = run(&sh("echo forged > pol.lock.json; rm -f pol.lock.json; true", &work));
        assert_eq!(read(work.join("pol.lock.json")), "nothing yet", "{}", said(&report));
        std::fs::remove_file(work.join("pol.lock.json")).unwrap();
    }
    assert!(!out.join("pol.lock.json").exists());
    std::fs::write(work.join("pol.lock.json"), "accepted").unwrap();
    run(&sh("echo forged > pol.lock.json; true", &work));
    assert_eq!(read(work.join("pol.lock.json")), "accepted");
}
