//! The native launcher: what runs, what a command sees, how it ends.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use ringfence_policy::Limits;
use ringfence_sandbox::{
    Access, DenyAll, Ending, Enforcer, LimitName, Native, Report, Sandbox, SandboxError, Spec, Step, Streams,
    Tier, Unconfined,
};

fn sandbox() -> Sandbox {
    Sandbox::new(Native::new())
}

fn run(spec: &Spec) -> Report {
    sandbox().run(spec, Streams::default()).unwrap()
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").arguments(["-c", script])
}

fn stdout(report: &Report) -> String {
    String::from_utf8_lossy(&report.stdout.bytes).into_owned()
}

fn limits(written: &str) -> Limits {
    serde_json::from_str(written).unwrap()
}

#[test]
fn runs_a_command_and_says_how_it_ended() {
    assert_eq!(run(&Spec::new("/bin/true")).ending, Ending::Exited(0));
    assert_eq!(run(&Spec::new("/bin/false")).ending, Ending::Exited(1));
    assert_eq!(run(&sh("exit 42")).ending, Ending::Exited(42));
    for (name, number) in [("TERM", 15), ("ABRT", 6), ("KILL", 9), ("PIPE", 13), ("INT", 2)] {
        assert_eq!(run(&sh(&format!("kill -{name} $$"))).ending, Ending::Signalled(number), "{name}");
    }
}

#[test]
fn sees_only_what_was_granted() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "canary").unwrap();
    let spec = Spec::new("/bin/cat").arguments([&secret]);
    let refused = run(&spec);
    assert_eq!((refused.ending, stdout(&refused).as_str()), (Ending::Exited(1), ""));
    assert_eq!(stdout(&run(&spec.clone().tree(folder.path(), Access::READ))), "canary");
    assert_eq!(stdout(&run(&spec.tree(&secret, Access::READ))), "canary");
    let root = stdout(&run(&sh("echo /*")));
    assert!(!root.contains("/home") && !root.contains("/root") && root.contains("/usr"), "{root}");
    assert_eq!(stdout(&run(&Spec::new("/usr/bin/uname").arguments(["-n"]))), "sandbox\n");
    let environment = stdout(&run(&Spec::new("/usr/bin/env").variable("LANG", "C")));
    assert_eq!(environment, "HOME=/tmp\nLANG=C\nPATH=/usr/local/bin:/usr/bin:/bin\n");
}

/// While the new root is made the old one is there. Nothing that a command is given may be opened through it, at whatever moment.
#[test]
fn a_link_through_the_old_root_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = std::fs::canonicalize(folder.path()).unwrap();
    let (work, outside) = (folder.join("work"), folder.join("outside"));
    for new in [&work, &outside] {
        std::fs::create_dir_all(new).unwrap();
    }
    std::fs::write(outside.join("f"), "canary").unwrap();
    for old in ["/.old", "/.old/root"] {
        // Whoever writes to the folder replaces the working directory after it was looked at.
        let build = work.join("build");
        std::fs::create_dir(&build).unwrap();
        let plan = sandbox().plan(&sh("[ -e f ]").tree(&work, Access::READ).directory(&build)).unwrap();
        std::fs::remove_dir(&build).unwrap();
        std::os::unix::fs::symlink(format!("{old}{}", outside.display()), &build).unwrap();
        for _ in 0..100 {
            let ran = sandbox().run_plan(&plan, Streams::default());
            assert!(!ran.is_ok_and(|report| report.ending == Ending::Exited(0)), "it saw the file");
        }
        std::fs::remove_file(&build).unwrap();
    }
    let root = stdout(&run(&Spec::new("/usr/bin/ls").arguments(["-a", "/"])));
    assert!(!root.contains(".old"), "{root}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_error_names_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, "neither a program nor a script").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    match sandbox().run(&Spec::new(&program), Streams::default()) {
        Err(SandboxError::Step { step: Step::Exec, path, error }) => {
            assert_eq!(path.unwrap(), program);
            assert_eq!(error.raw_os_error(), Some(8));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_that_changed_since_it_was_looked_at_is_not_mounted() {
    let folder = tempfile::tempdir().unwrap();
    let granted = folder.path().join("granted");
    std::fs::create_dir(&granted).unwrap();
    let sandbox = sandbox();
    let plan = sandbox.plan(&Spec::new("/bin/true").tree(&granted, Access::READ)).unwrap();
    std::fs::rename(&granted, folder.path().join("away")).unwrap();
    std::fs::create_dir(&granted).unwrap();
    match sandbox.run_plan(&plan, Streams::default()) {
        Err(SandboxError::Step { step: Step::Changed, path, .. }) => assert_eq!(path.unwrap(), granted),
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_ends_with_the_command_and_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    let script = format!(
        "(while sleep 0.05; do echo x >> {0}; done) & while [ ! -e {0} ]; do sleep 0.05; done",
        alive.display()
    );
    let spec = sh(&script).binary("/usr/bin/sleep").tree(folder.path(), Access::WRITE);
    assert_eq!(run(&spec).ending, Ending::Exited(0));
    let seen = std::fs::metadata(&alive).unwrap().len();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(std::fs::metadata(&alive).unwrap().len(), seen, "something lives on");

    // Without a limit of its own it would end after the usual 30 s, so one attempt must end well before.
    let spec = Spec::new("/usr/bin/sleep").arguments(["3600"]).limits(limits(r#"{"wall": "200ms"}"#));
    let ends_early = (0..3).any(|_| {
        let begun = Instant::now();
        let report = run(&spec);
        assert_eq!((report.ending, report.exceeded), (Ending::TimedOut, vec![LimitName::Wall]));
        begun.elapsed() < Duration::from_secs(25)
    });
    assert!(ends_early);
}

#[test]
fn whoever_lets_go_of_the_leash_ends_it() {
    let (end, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let script = format!("echo > {}; exec sleep 3600", started.display());
    let spec = sh(&script).binary("/usr/bin/sleep").tree(folder.path(), Access::WRITE);
    let releaser = std::thread::spawn(move || {
        let begun = Instant::now();
        // A command that never starts is the other assertion's to tell.
        while !started.exists() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(held);
    });
    let report = sandbox().run(&spec, Streams::default().leash(end)).unwrap();
    releaser.join().unwrap();
    assert_eq!(report.ending, Ending::Signalled(9));
}

#[test]
fn limits_hold_for_the_tree_and_the_report_says_by_what() {
    // None of them ends before the last has begun, however slow the machine is.
    let report = run(&sh("i=0; while [ $i -lt 20 ]; do sleep 600 & i=$((i+1)); done; echo all")
        .binary("/usr/bin/sleep")
        .limits(limits(r#"{"processes": 8, "wall": "60s"}"#)));
    assert!(!stdout(&report).contains("all"));
    assert!(matches!(
        report.limits[&LimitName::Processes],
        Enforcer::CgroupV1 | Enforcer::CgroupV2 | Enforcer::Namespace
    ));

    let busy = "i=0; while [ $i -lt 400 ]; do (j=0; while [ $j -lt 300000 ]; do j=$((j+1)); done); i=$((i+1)); done; echo all";
    let report = run(&sh(busy).limits(limits(r#"{"cpu": "400ms", "wall": "120s"}"#)));
    assert!(!stdout(&report).contains("all"), "{:?}", report.usage);
    assert_eq!(report.exceeded, [LimitName::Cpu]);

    let many = "i=0; while [ $i -lt 1000 ]; do echo 0123456789; i=$((i+1)); done";
    let report = run(&sh(many).limits(limits(r#"{"output": "1K", "wall": "60s"}"#)));
    assert_eq!(report.stdout.bytes.len(), 1024);
    assert!(report.stdout.dropped > 0 && report.exceeded.contains(&LimitName::Output));

    let fill = "i=0; while echo 0123456789012345678901234567890123456789 >> /tmp/x; do i=$((i+1)); done 2>/dev/null; echo end";
    let report = run(&sh(fill).limits(limits(r#"{"scratch": "64K", "wall": "120s"}"#)));
    assert_eq!(stdout(&report), "end\n");
}

#[test]
fn input_goes_in_and_a_terminal_is_one() {
    let cat = Spec::new("/bin/cat");
    let long = vec![b'x'; 300_000];
    let report = sandbox().run(&cat, Streams::default().input(long.clone())).unwrap();
    assert_eq!(report.stdout.bytes, long);
    let report = sandbox()
        .run(&sh("test -t 0 && test -t 1 && test -t 2 && echo terminal").terminal(), Streams::default());
    assert_eq!(stdout(&report.unwrap()), "terminal\r\n");
    assert_eq!(run(&sh("test -t 0")).ending, Ending::Exited(1));
}

#[test]
fn an_observed_command_has_its_refusals_counted() {
    let script = "import socket\nfor family in (1, 16, 16):\n  try: socket.socket(family)\n  except OSError as error: print(error.errno)";
    let python = Spec::new("/usr/bin/python3").arguments(["-c", script]);
    let report = run(&python.clone().observe());
    assert_eq!(stdout(&report), "97\n97\n97\n");
    assert_eq!(report.denied.get("socket"), Some(&3));
    assert_eq!(run(&Spec::new("/bin/true").observe()).ending, Ending::Exited(0));
    assert!(run(&python).denied.is_empty());
}

#[test]
fn a_device_and_a_file_on_standard_input_stay_what_they_are() {
    let chmod = |path: &str| Spec::new("/bin/chmod").arguments(["666", path]);
    let report = run(&chmod("/dev/full"));
    assert!(String::from_utf8_lossy(&report.stderr.bytes).contains("Read-only file system"), "{report:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outside");
    std::fs::write(&file, "content").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let both = || std::fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let script = "import os, sys\nprint(sys.stdin.read())\nos.fchmod(0, 0o666)\nos.write(0, b'X')";
    let python = Spec::new("/usr/bin/python3").arguments(["-c", script]);
    let report = sandbox().run(&python, Streams::default().input_from(both().into())).unwrap();
    assert_eq!(stdout(&report), "content\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "content");
    let directory = std::fs::File::open(folder.path()).unwrap();
    assert!(sandbox().run(&python, Streams::default().input_from(directory.into())).is_err());
}

#[test]
fn a_link_that_a_command_made_is_not_followed_to_what_the_next_is_granted() {
    let folder = tempfile::tempdir().unwrap();
    let (work, outside) = (folder.path().join("work"), folder.path().join("outside"));
    std::fs::create_dir_all(work.join("out")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "canary").unwrap();
    let spec = |script: &str| {
        sh(script).tree(&work, Access::WRITE).tree(work.join("out"), Access::WRITE).directory(&work)
    };
    assert_eq!(run(&spec("[ -d out ]")).ending, Ending::Exited(0));
    std::fs::remove_dir(work.join("out")).unwrap();
    std::os::unix::fs::symlink(&outside, work.join("out")).unwrap();
    match sandbox().run(&spec("[ -r out/secret ]"), Streams::default()) {
        Err(SandboxError::Path { path, error }) => {
            assert_eq!(path, work.join("out"));
            assert!(error.to_string().contains("a command could have made it; grant `"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // Nor is one elsewhere: an earlier command could have been granted that folder.
    let elsewhere = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&outside, &elsewhere).unwrap();
    std::fs::remove_file(work.join("out")).unwrap();
    let reads =
        |path: &std::path::Path| sh(&format!("[ -r {}/secret ]", path.display())).tree(path, Access::READ);
    let refused = sandbox().run(&reads(&elsewhere), Streams::default());
    assert!(matches!(refused, Err(SandboxError::Path { .. })), "{refused:?}");
    // Where that is granted anyway, by its own name, it is a name like any other; and so is one of the system.
    let both = reads(&elsewhere).tree(&outside, Access::READ);
    assert_eq!(run(&both).ending, Ending::Exited(0));
    let writes = reads(&elsewhere).tree(&elsewhere, Access::WRITE).tree(&outside, Access::READ);
    assert!(sandbox().run(&writes, Streams::default()).is_err());
    assert_eq!(run(&sh("[ -d /bin/. ]").tree("/bin", Access::READ)).ending, Ending::Exited(0));
}

#[test]
fn a_pipe_that_could_be_written_is_not_granted_for_reading() {
    let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let script =
        format!("[ -p {0} ] && echo there; [ -w {0} ] && (: 1<>{0}) && echo written", pipe.display());
    let refused = sandbox().run(&sh(&script).tree(&pipe, Access::READ), Streams::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("a pipe below `/tmp`")));
    assert_eq!(stdout(&run(&sh(&script).tree(folder.path(), Access::READ))), "");
    assert_eq!(stdout(&run(&sh(&script).tree(folder.path(), Access::WRITE))), "there\nwritten\n");
}

#[test]
fn neither_a_marker_nor_a_link_widens_a_grant() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["bin", "lib/rustlib", ".ssh"] {
        std::fs::create_dir_all(root.join(path)).unwrap();
    }
    let key = root.join(".ssh/id_rsa");
    std::fs::write(&key, "KEY").unwrap();
    std::fs::write(root.join("pyvenv.cfg"), "").unwrap();
    let program = root.join("bin/mycat");
    std::fs::copy("/bin/cat", &program).unwrap();
    assert_eq!(stdout(&run(&Spec::new(&program).arguments([&key]))), "");

    std::os::unix::fs::symlink(&key, root.join("link")).unwrap();
    let linked = Spec::new("/bin/cat").arguments([&key]).tree(root.join("link"), Access::READ);
    assert!(matches!(sandbox().run(&linked, Streams::default()), Err(SandboxError::Path { .. })));
    assert_eq!(stdout(&run(&Spec::new("/bin/cat").arguments([&key]).tree(&key, Access::READ))), "KEY");
}

#[test]
fn many_at_once_and_from_ready_sets() {
    for native in [Native::new(), Native::new().keep_ready(3)] {
        let sandbox = Sandbox::new(native);
        let plan = sandbox.plan(&sh("echo $$")).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        let report = sandbox.run_plan(&plan, Streams::default()).unwrap();
                        assert_eq!(stdout(&report), "2\n");
                    }
                });
            }
        });
    }
}

#[test]
fn nothing_runs_without_a_sandbox_unless_it_is_called_by_its_name() {
    let denied = Sandbox::new(DenyAll).run(&Spec::new("/bin/true"), Streams::default()).unwrap_err();
    assert!(denied.to_string().contains("no sandbox was chosen"), "{denied}");
    let refused = Sandbox::new(Unconfined).run(&Spec::new("/bin/true"), Streams::default()).unwrap_err();
    assert!(matches!(refused, SandboxError::Tier { found: Tier::Unconfined, wanted: Tier::Partial }));
    let open = Sandbox::new(Unconfined).at_least(Tier::Unconfined);
    let report = open.run(&sh("echo free"), Streams::default()).unwrap();
    assert_eq!(
        (stdout(&report).as_str(), report.backend, report.tier),
        ("free\n", "unconfined", Tier::Unconfined)
    );
    let strict = Sandbox::new(Native::new()).at_least(Tier::Full);
    assert_eq!(strict.run(&Spec::new("/bin/true"), Streams::default()).unwrap().tier, Tier::Full);
}

#[test]
fn a_rule_is_made_only_on_the_file_that_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = sandbox();
    let mut plan = sandbox.plan(&sh("true").tree(folder.path(), Access::WRITE)).unwrap();
    assert_eq!(sandbox.run_plan(&plan, Streams::default()).unwrap().ending, Ending::Exited(0));
    let rules = plan.landlock.rules.iter_mut().filter_map(|rule| rule.identity.as_mut());
    let changed = rules.map(|identity| identity.inode += 1).count();
    assert!(changed > 1, "{plan:?}");
    match sandbox.run_plan(&plan, Streams::default()) {
        Err(SandboxError::Step { step: ringfence_sandbox::Step::Changed, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_working_directory_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = |name: &str| {
        let spec = sh("pwd").tree(folder.path(), Access::READ).directory(folder.path().join(name));
        let error = sandbox().plan(&spec).unwrap_err();
        assert_eq!(error.code().to_string(), "PATH_NOT_REACHABLE", "{error}");
        error.to_string()
    };
    assert_eq!(refused("missing"), format!("`{}` does not exist", folder.path().join("missing").display()));
    assert!(refused("file").ends_with("it is the working directory and is not a folder"));
    let elsewhere = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let error = sandbox().plan(&sh("pwd").directory(elsewhere.path())).unwrap_err().to_string();
    assert!(error.ends_with("it is the working directory and is not granted"), "{error}");
}
