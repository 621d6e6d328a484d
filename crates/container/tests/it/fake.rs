//! An engine of a test, at a Unix socket: it keeps what it was asked, and answers as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringfence_container::Engine;
use ringfence_sandbox::{Report, Sandbox, SandboxError, Spec, Streams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// The image that every fake engine has.
pub(crate) const IMAGE: &str =
    "localhost/tools@sha256:42d38b6237a0b9831a9844d77bba10498f65bfa03f6fdf1403fc9d400d8597c3";
/// The engine's own identifier of it.
const ID: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
/// What two streams look like in one.
pub(crate) const OUTPUT: &[u8] = b"\x01\0\0\0\0\0\0\x03out\x02\0\0\0\0\0\0\x03err";

/// How long it waits for whoever asks, and a test for a question. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// What an engine was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Method and path, without the version of the API.
    pub(crate) what: String,
    pub(crate) body: Vec<u8>,
}

/// What it answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A status and a document.
    Json(u16, Value),
    /// These bytes, and then the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, while the connection stays open.
    Silence,
}

/// An engine of a test.
pub(crate) struct Fake {
    asked: Arc<Mutex<Vec<Asked>>>,
    pub(crate) engine: Engine,
    pub(crate) runtime: Runtime,
    _folder: TempDir,
}

impl Fake {
    /// Listens, and answers what `answer` says; where that says nothing, as Podman does.
    pub(crate) fn new(answer: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let accept = move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            (stream.try_clone().unwrap(), stream)
        };
        Self::at(&format!("unix://{}", socket.display()), folder, accept, answer)
    }

    /// The same at a port, where an engine may have another machine's files.
    pub(crate) fn at_port(answer: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap());
        let accept = move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            (stream.try_clone().unwrap(), stream)
        };
        Self::at(&address, tempfile::tempdir().unwrap(), accept, answer)
    }

    fn at<S: Read + Write + Send + 'static>(
        address: &str,
        folder: TempDir,
        accept: impl Fn() -> (S, S) + Send + 'static,
        answer: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            loop {
                let (reader, writer) = accept();
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(BufReader::new(reader), writer, &kept, &*answer));
            }
        });
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let engine = Engine::connect(runtime.handle().clone(), address).unwrap();
        Self { asked, engine, runtime, _folder: folder }
    }

    /// One that answers as Docker does, with these options.
    pub(crate) fn docker(options: &'static [&'static str]) -> Self {
        Self::new(move |what| match what {
            "GET /version" => {
                Some(Answer::Json(200, json!({ "ApiVersion": "1.41", "Components": [{ "Name": "Engine" }] })))
            }
            "GET /info" => Some(Answer::Json(200, info(options))),
            _ => None,
        })
    }

    pub(crate) fn run(&self, spec: &Spec) -> Result<Report, SandboxError> {
        Sandbox::foreign(self.engine.clone()).run(spec, Streams::default())
    }

    /// Returns everything it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Tells whether it was asked for something that begins like this.
    pub(crate) fn was_asked(&self, what: &str) -> bool {
        self.asked().iter().any(|asked| asked.what.starts_with(what))
    }

    /// Waits until it was asked for something that begins like this.
    pub(crate) fn wait_for(&self, what: &str) {
        let begun = Instant::now();
        while !self.was_asked(what) {
            assert!(begun.elapsed() < PATIENCE, "nobody asked for {what}: {:?}", self.asked());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the container that it was asked to make.
    pub(crate) fn made(&self) -> Value {
        let asked = self.asked();
        let made = asked.iter().find(|asked| asked.what.starts_with("POST /containers/create")).unwrap();
        serde_json::from_slice(&made.body).unwrap()
    }
}

/// A command in the image, with nothing granted.
pub(crate) fn command() -> Spec {
    Spec::new("tool").in_image(IMAGE)
}

/// What an engine with these security options says of itself.
pub(crate) fn info(options: &[&str]) -> Value {
    json!({
        "SecurityOptions": options, "MemoryLimit": true, "SwapLimit": true, "PidsLimit": true,
        "CgroupVersion": "2", "Architecture": "amd64", "NCPU": 2,
    })
}

fn usual(what: &str) -> Answer {
    let (method, path) = what.split_once(' ').unwrap();
    match (method, path) {
        ("GET", "/version") => {
            Answer::Json(200, json!({ "ApiVersion": "1.41", "Components": [{ "Name": "Podman Engine" }] }))
        }
        ("GET", "/info") => Answer::Json(200, info(&["name=seccomp,profile=default"])),
        ("GET", path) if path.starts_with("/images/") => {
            Answer::Json(200, json!({ "Id": ID, "RepoDigests": [IMAGE], "Config": {} }))
        }
        ("POST", path) if path.starts_with("/containers/create") => Answer::Json(201, json!({ "Id": "1" })),
        ("POST", path) if path.contains("/attach") => upgraded(OUTPUT),
        ("GET", path) if path.ends_with("/json") => {
            // The container has what the test has.
            let state = json!({ "Running": false, "ExitCode": 3, "Pid": std::process::id() });
            Answer::Json(200, json!({ "State": state }))
        }
        _ => Answer::Json(200, json!({})),
    }
}

/// A connection that carries these bytes from then on.
pub(crate) fn upgraded(bytes: &[u8]) -> Answer {
    let head = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n".as_slice();
    Answer::Raw([head, bytes].concat())
}

fn serve<S: Read + Write>(
    mut reader: BufReader<S>,
    mut stream: S,
    kept: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&str) -> Option<Answer>,
) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let what = format!("{method} {}", path.strip_prefix("/v1.41").unwrap_or(path));
    kept.lock().unwrap().push(Asked { what: what.clone(), body });
    // Whoever asked may have gone.
    let _written = match answer(&what).unwrap_or_else(|| usual(&what)) {
        Answer::Json(status, value) => {
            let text = value.to_string();
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{text}", text.len())
        }
        Answer::Raw(bytes) => stream.write_all(&bytes),
        Answer::Silence => reader.read_to_end(&mut Vec::new()).map(drop),
    };
}
