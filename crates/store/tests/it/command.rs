//! Secrets that a command prints.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ringfence::policy::{BinarySet, Process, resolve_capabilities};
use ringfence::sandbox::{Native, Sandbox};
use ringfence::{
    Capabilities, Grant, Launch, Launcher, Personality, ProcessOutput, SandboxLauncher, ToolError,
};
use ringfence_store::CommandSecrets;

use crate::it::{ask, error, value};

/// Ends as it is told to, and remembers what it was to start.
pub(crate) struct Fake {
    ends: ProcessOutput,
    started: Mutex<Vec<Vec<String>>>,
}

impl Fake {
    pub(crate) fn printing(stdout: &str) -> Self {
        Self::ending(ProcessOutput { stdout: stdout.to_owned(), ..ProcessOutput::default() })
    }

    fn ending(ends: ProcessOutput) -> Self {
        Self { ends, started: Mutex::default() }
    }
}

impl Launcher for Fake {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        let argv = std::iter::once(launch.binary).chain(launch.arguments).collect();
        self.started.lock().unwrap().push(argv);
        assert!(launch.environment.is_empty());
        Box::pin(async { Ok(self.ends.clone()) })
    }
}

pub(crate) fn grant(binary: &str) -> Arc<Grant> {
    let binaries = || BinarySet::new([binary]).unwrap();
    let capabilities =
        Capabilities { process: Some(Process { allowed_binaries: binaries() }), ..Capabilities::default() };
    let personality = Personality { process: Some(binaries()), ..Personality::default() };
    Arc::new(resolve_capabilities(&capabilities, &personality).unwrap())
}

#[tokio::test]
async fn a_value_is_what_was_printed() {
    let failed = ProcessOutput {
        exit_code: 1,
        stdout: "hunter2".into(),
        stderr: "hunter2".into(),
        ..Default::default()
    };
    let cut = ProcessOutput { dropped: 1, stdout: "hunter2".into(), ..Default::default() };
    #[rustfmt::skip]
    let cases = [
        (Fake::printing("hunter2\n"),         value("hunter2")),
        (Fake::printing("hunter2"),           value("hunter2")),
        (Fake::printing(" two\nlines\r\n"),   value(" two\nlines")),
        (Fake::printing("\n"),                error("the value is empty")),
        (Fake::printing(""),                  error("the value is empty")),
        (Fake::printing("x\u{fffd}"),         error("the value is not UTF-8 text")),
        (Fake::ending(failed),                error("the command ended with 1")),
        (Fake::ending(cut),                   error("the command printed more than is kept")),
    ];
    for (fake, answer) in cases {
        let fake = Arc::new(fake);
        let source = CommandSecrets::new(["op", "read"], grant("op"), fake.clone()).unwrap();
        assert_eq!(ask(&source, "prod/db").await, answer);
        assert_eq!(*fake.started.lock().unwrap(), [["op", "read", "prod/db"]]);
    }
}

#[tokio::test]
async fn a_ref_is_never_an_option() {
    let fake = Arc::new(Fake::printing("hunter2"));
    let source = CommandSecrets::new(["op"], grant("op"), fake.clone()).unwrap();
    assert_eq!(ask(&source, "--all").await, error("a ref that begins with `-` is not given to a command"));
    assert!(fake.started.lock().unwrap().is_empty());
}

#[test]
fn only_a_granted_program_is_asked() {
    for (argv, why) in [
        (&[] as &[&str], "the command for secrets is empty"),
        (&["pass"], "the command for secrets may not start `pass`"),
    ] {
        let made = CommandSecrets::new(argv.iter().copied(), grant("op"), Arc::new(Fake::printing("")));
        assert_eq!(made.unwrap_err().to_string(), why);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn it_is_fenced() {
    let launcher: Arc<dyn Launcher> = Arc::new(SandboxLauncher::new(Sandbox::new(Native::new())));
    let source = CommandSecrets::new(["echo", "value of"], grant("echo"), Arc::clone(&launcher)).unwrap();
    assert_eq!(ask(&source, "prod/db").await, value("value of prod/db"));

    let file = tempfile::NamedTempFile::new_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
    std::fs::write(file.path(), "hunter2").unwrap();
    let source = CommandSecrets::new(["cat"], grant("cat"), launcher).unwrap();
    assert_eq!(ask(&source, file.path().to_str().unwrap()).await, error("the command ended with 1"));
}
