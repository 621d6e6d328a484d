//! The adapter of `examples/adapter`, against a service that says what a test wants.

#[path = "../../examples/adapter/micro.rs"]
mod micro;

use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use micro::Micro;
use ringfence_policy::{Assurance, Limits, Size, Span};
use ringfence_sandbox::{Access, Ending, LimitName, Report, Sandbox, SandboxError, Spec, Streams};
use serde_json::Value;

const DONE: &str =
    "HTTP/1.0 200 OK\r\nServer: micro\r\n\r\n{\"output\":[104,105]}\n{\"error\":[33]}\n{\"exited\":3}\n";

/// How long a test waits for what is certain to happen. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the service was asked, and whether the connection was closed afterwards.
struct Service {
    folder: tempfile::TempDir,
    asked: Receiver<Value>,
    closed: Receiver<()>,
}

impl Service {
    /// Answers one request with this and then keeps the connection open, or hangs up.
    #[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
    fn new(answer: &'static str, hangs_up: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let ((ask, asked), (close, closed)) = (channel(), channel());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Longer than any test waits: what it says of the end of a connection is never a guess.
            stream.set_read_timeout(Some(PATIENCE * 10)).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let _listens = ask.send(serde_json::from_slice(&body).unwrap());
            let _written = stream.write_all(answer.as_bytes());
            if !hangs_up {
                let _gone = reader.read(&mut [0]);
            }
            let _listens = close.send(());
        });
        Self { folder, asked, closed }
    }

    fn run(&self, spec: &Spec, streams: Streams<'_>) -> Result<Report, SandboxError> {
        Sandbox::foreign(Micro { socket: self.folder.path().join("socket") }).run(spec, streams)
    }
}

fn spec() -> Spec {
    Spec::new("tool").in_image("tools@sha256:00").variable("TOKEN", "s3cret-value")
}

#[test]
fn a_command_runs_and_is_a_claim() {
    let service = Service::new(DONE, false);
    let report = service.run(&spec(), Streams::default().input(b"in".to_vec())).unwrap();
    assert_eq!((report.ending, report.stdout.bytes.as_slice()), (Ending::Exited(3), b"hi".as_slice()));
    assert_eq!(report.stderr.bytes, b"!");
    assert_eq!((report.backend, report.assurance), ("micro", Assurance::Claimed));
    let asked = service.asked.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (&asked["plan"]["image"], &asked["input"]),
        (&"tools@sha256:00".into(), &vec![105, 110].into())
    );
    assert_eq!(asked["environment"]["TOKEN"], "s3cret-value");
    assert!(!asked["plan"].to_string().contains("s3cret"), "{asked}");
    service.closed.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn what_the_service_cannot_enforce_never_gets_there() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (spec().tree(folder.path().canonicalize().unwrap(), Access::READ), "with `micro`: `files`"),
        (spec().terminal(), "with `micro`: `terminal`"),
        (Spec::new("/bin/true"), "`programs`: only the granted"),
        (spec().assurance(Assurance::Probed), "what `micro` enforces is claimed"),
    ];
    for (spec, why) in cases {
        let service = Service::new(DONE, false);
        let error = service.run(&spec, Streams::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(service.asked.try_recv().is_err());
    }
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    #[rustfmt::skip]
    let cases = [
        ("HTTP/1.0 503 Busy\r\n\r\n",                                  "it did not take the plan"),
        ("HTTP/1.0 200 OK\r\n\r\n{\"output\":[104]}\n",                "hung up before the command ended"),
        ("HTTP/1.0 200 OK\r\n\r\n{\"output\":[104",                    "hung up before the command ended"),
        ("HTTP/1.0 200 OK\r\n\r\n{\"s3cret-value\":1}\n",              "a line of its answer is none"),
        ("HTTP/1.0 200 OK\r\n\r\n{\"refused\":\"no such image\"}\n",   "no such image"),
        ("",                                                           "hung up before the command ended"),
    ];
    for (answer, why) in cases {
        let error = Service::new(answer, true).run(&spec(), Streams::default()).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("s3cret"), "{error}");
    }
}

#[test]
fn the_connection_is_closed_when_it_is_to_end() {
    let silent = "HTTP/1.0 200 OK\r\n\r\n{\"output\":[104,104,104,104]}\n";
    let wall = Limits { wall: Some(Span::new(Duration::from_millis(300))), ..Limits::default() };
    let output = Limits { output: Some(Size::new(2)), ..Limits::default() };
    let (end, held) = pipe().unwrap();
    let cases = [
        (wall, Streams::default(), Ending::TimedOut, Some(LimitName::Wall)),
        (output, Streams::default(), Ending::Signalled(9), Some(LimitName::Output)),
        (Limits::default(), Streams::default().leash(end.into()), Ending::Signalled(9), None),
    ];
    drop(held);
    for (limits, streams, ending, exceeded) in cases {
        let service = Service::new(silent, false);
        let report = service.run(&spec().limits(limits), streams).unwrap();
        assert_eq!((report.ending, report.exceeded), (ending, exceeded.into_iter().collect()));
        service.closed.recv_timeout(PATIENCE).unwrap();
    }
    // Without a limit of its own it would end after the usual 30 s, so one attempt must end well before.
    let ends_early = (0..3).any(|_| {
        let begun = Instant::now();
        Service::new(silent, false).run(&spec().limits(wall), Streams::default()).unwrap();
        begun.elapsed() < Duration::from_secs(25)
    });
    assert!(ends_early);
}
