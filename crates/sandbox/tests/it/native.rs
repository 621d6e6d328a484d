//! The native launcher: what runs, what a command sees, how it ends.

use ringfence_sandbox::{Access, Ending, Native, Report, Sandbox, Spec, Streams};

fn run(spec: &Spec) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default()).unwrap()
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").arguments(["-c", script])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn runs_a_command_and_says_how_it_ended() {
    assert_eq!(run(&Spec::new("/bin/true")).ending, Ending::Exited(0));
    assert_eq!(run(&Spec::new("/bin/false")).ending, Ending::Exited(1));
    assert_eq!(run(&sh("exit 42")).ending, Ending::Exited(42));
    assert_eq!(run(&sh("kill -TERM $$")).ending, Ending::Signalled(15));
    assert_eq!(run(&sh("kill -ABRT $$")).ending, Ending::Signalled(6));
    assert_eq!(run(&sh("kill -KILL $$")).ending, Ending::Signalled(9));
}

#[test]
fn sees_only_what_was_granted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "canary").unwrap();
    let spec =
        sh(&format!("cat {}/secret; echo *; echo /*; echo /etc/*; id; env; pwd", folder.path().display()))
            .binary("/usr/bin/cat")
            .binary("/usr/bin/id")
            .binary("/usr/bin/env");
    let report = run(&spec);
    println!("{}\n{}", text(&report.stdout.bytes), text(&report.stderr.bytes));
    assert!(!text(&report.stdout.bytes).contains("canary"));
    let report = run(&spec.tree(folder.path(), Access::READ));
    println!("{}\n{}", text(&report.stdout.bytes), text(&report.stderr.bytes));
    assert!(text(&report.stdout.bytes).contains("canary"));
}
