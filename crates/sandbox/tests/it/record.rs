//! Recording: what a command names is written down, and it is confined as ever.

use std::path::{Path, PathBuf};

use ringfence_sandbox::{
    Access, Ending, How, Kind, Native, Record, Report, Sandbox, SandboxError, Spec, Streams, Touch,
    Unconfined,
};

fn run(spec: &Spec) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default()).unwrap()
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").arguments(["-c", script]).record()
}

fn touched<'a>(record: &'a Record, path: &Path, how: How) -> Option<&'a Touch> {
    record.paths.iter().find(|touch| touch.path == path && touch.how == how)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[test]
fn writes_down_what_is_named_and_how() {
    let (_kept, folder) = folder();
    std::fs::create_dir(folder.join("real")).unwrap();
    std::fs::write(folder.join("real/in"), "in").unwrap();
    std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    let script = "cat link/in real/../real/in > out; echo more >> out; mv out moved; rm moved; ls . > /dev/null; test -e gone";
    let report = run(&sh(script).any_binary().tree(&folder, Access::WRITE).directory(&folder));
    let record = report.record.unwrap();
    assert_eq!(report.ending, Ending::Exited(1));
    let here = |name: &str| folder.join(name);
    let one = |name: &str, how| {
        touched(&record, &here(name), how).unwrap_or_else(|| panic!("{name} {how:?}: {:?}", record.paths))
    };

    let linked = one("link/in", How::Read);
    assert_eq!(
        (linked.there, linked.real.clone(), linked.relative),
        (Some(Kind::File), Some(here("real/in")), true)
    );
    assert_eq!(one("real/in", How::Read).there, Some(Kind::File));
    assert_eq!(one("out", How::Make).there, None);
    assert_eq!(one("out", How::Change).there, Some(Kind::File));
    assert!(one("out", How::Remove).relative);
    assert_eq!(one("moved", How::Make).there, None);
    assert_eq!(one("moved", How::Remove).there, Some(Kind::File));
    assert_eq!(one("", How::Read).there, Some(Kind::Directory));
    assert_eq!(one("gone", How::Look).there, None);
    for program in ["/usr/bin/cat", "/usr/bin/mv", "/usr/bin/rm", "/usr/bin/ls"] {
        let started =
            record.paths.iter().find(|touch| touch.path.ends_with(program) && touch.how == How::Execute);
        assert!(started.is_some_and(|touch| !touch.relative), "{program}: {:?}", record.paths);
    }
    assert_eq!((record.unread, record.left_out), (0, 0));
}

#[test]
fn confines_as_ever() {
    let (_kept, folder) = folder();
    let secret = folder.join("secret");
    std::fs::write(&secret, "canary").unwrap();
    let script =
        format!("cat {0}; echo x > {0}; echo x > /usr/x; unshare -r true && echo escaped", secret.display());
    for record in [true, false] {
        let spec = Spec::new("/bin/sh").arguments(["-c", &script]).any_binary();
        let report = run(&if record { spec.record() } else { spec });
        assert_eq!(String::from_utf8_lossy(&report.stdout.bytes), "", "{record}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "canary");
        let asked = report.record.as_ref().and_then(|record| touched(record, &secret, How::Read));
        assert_eq!(asked.is_some(), record);
        assert_eq!(asked.and_then(|touch| touch.there), None);
    }
}

#[test]
fn addresses_are_written_down() {
    let script = "import socket\ns = socket.socket()\ntry: s.connect(('203.0.113.9', 443))\nexcept OSError: pass\n\
        socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))";
    let spec = Spec::new("/usr/bin/python3").arguments(["-c", script]).record();
    let record = run(&spec).record.unwrap();
    let addresses: Vec<String> = record.addresses.iter().map(|(address, _)| address.to_string()).collect();
    assert_eq!(addresses, ["203.0.113.9:443", "127.0.0.1:9"]);
}

#[test]
fn signals_do_not_break_off_a_call_that_is_told_of() {
    let script = "import signal, os\nsignal.signal(signal.SIGALRM, lambda *_: None)\n\
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\nsignal.siginterrupt(signal.SIGALRM, True)\n\
        for _ in range(3000): os.close(os.open('/etc/passwd', os.O_RDONLY))\nprint('whole')";
    // Python starts a broken-off call again, so that it is looked for below it.
    let report = run(&Spec::new("/usr/bin/python3").arguments(["-c", script]).record());
    assert_eq!(String::from_utf8_lossy(&report.stdout.bytes), "whole\n");
    let record = report.record.unwrap();
    let opened = touched(&record, Path::new("/etc/passwd"), How::Read).unwrap();
    assert_eq!(opened.times, 3000);
}

#[test]
fn only_who_can_record_is_asked_to() {
    let spec = Spec::new("/bin/true").record();
    let sandbox = Sandbox::new(Unconfined).at_least(ringfence_sandbox::Tier::Unconfined);
    let refused = sandbox.run(&spec, Streams::default()).unwrap_err();
    assert!(refused.to_string().contains("`recording`"), "{refused}");
    let refused = Sandbox::new(Native::new()).plan(&spec.observe()).unwrap_err();
    assert!(matches!(refused, SandboxError::Inexpressible { .. }), "{refused}");
}

#[test]
fn what_is_granted_where_possible_is_left_out_otherwise() {
    let (_kept, folder) = folder();
    std::fs::create_dir_all(folder.join(".ssh")).unwrap();
    std::fs::write(folder.join(".ssh/id_rsa"), "canary").unwrap();
    std::fs::write(folder.join("plain"), "plain").unwrap();
    let spec = Spec::new("/bin/cat").arguments([folder.join(".ssh/id_rsa"), folder.join("plain")]);
    let spec = ["", ".ssh", "missing"]
        .iter()
        .fold(spec, |spec, name| spec.tree_if_possible(folder.join(name), Access::READ));
    let sandbox = Sandbox::new(Native::new());
    let plan = sandbox.plan(&spec).unwrap();
    assert_eq!(plan.left_out, [folder.join(".ssh"), folder.join("missing")]);
    let report = sandbox.run_plan(&plan, Streams::default()).unwrap();
    assert_eq!(String::from_utf8_lossy(&report.stdout.bytes), "plain");
}
