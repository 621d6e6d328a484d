//! Where checkpoints go, so that they leave the machine.
//!
//! INVARIANT: a URL is reached through the egress client under a grant for its very host, and a program runs in the sandbox
//! with nothing granted.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ringfence::egress::{Client, Request, Scope};
use ringfence::policy::{
    Assurance, BinarySet, Grant, Host, HostPattern, HostSet, Limits, NetworkCeiling, NetworkGrant, Private,
    Span, is_public,
};
use ringfence::{Launch, Launcher as _, SandboxLauncher};

use crate::sandbox::{BackendChoice, choose};
use crate::shown::one_line;

/// How long a target may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of an answer is read.
const ANSWER: u64 = 64 << 10;

/// Where a checkpoint goes.
#[derive(Clone, Debug)]
pub(super) enum PushTarget {
    /// A program that reads it from its standard input.
    Command(String),
    /// The end of a file.
    File(PathBuf),
    /// An address that it is posted to.
    Url(String),
}

impl FromStr for PushTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("command", program)) if !program.is_empty() => Ok(Self::Command(program.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            Some(("https", _)) => {
                let request = Request::post(text).map_err(|error| error.to_string())?;
                let url = request.url();
                if url.username().is_empty() && url.password().is_none() {
                    Ok(Self::Url(text.to_owned()))
                } else {
                    Err("its address must hold no password".to_owned())
                }
            }
            _ => Err("it is none of `file:PATH`, `https://…` and `command:PROGRAM`".to_owned()),
        }
    }
}

impl fmt::Display for PushTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(program) => write!(f, "command:{program}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            // What comes after the host may be a secret of the receiver.
            Self::Url(url) => match Request::post(url) {
                Ok(request) => write!(f, "https://{}", request.url().host_str().unwrap_or_default()),
                Err(_) => f.write_str("https:"),
            },
        }
    }
}

impl PushTarget {
    /// Sends the note, and says in a sentence why it may not have arrived.
    pub(super) async fn push(&self, note: &str, private: bool) -> Result<(), String> {
        match self {
            Self::Command(program) => command(program, note).await,
            Self::File(path) => append(path, note).map_err(|error| error.to_string()),
            Self::Url(url) => post(url, note, private).await,
        }
    }
}

/// Appends the note and reaches the disk. A blank line ends each.
fn append(path: &PathBuf, note: &str) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(format!("{note}\n").as_bytes())?;
    file.sync_all()
}

async fn post(url: &str, note: &str, private: bool) -> Result<(), String> {
    let text = |error: ringfence::egress::EgressError| error.to_string();
    let request = Request::post(url)
        .and_then(|request| request.header("content-type", "text/plain; charset=utf-8"))
        .map_err(text)?
        .body(note.to_owned())
        .deadline(PATIENCE)
        .limit(ANSWER);
    let target = request.target();
    let host = target.host.to_string();
    let pattern: HostPattern = host.parse().map_err(|error| format!("its host: {error}"))?;
    let hosts: HostSet = std::iter::once(pattern).collect();
    if let Host::Address(address) = target.host
        && !private
        && !is_public(address)
    {
        return Err(format!("{address} is not a public address, and `--push-private` is not given"));
    }
    let lifted = if private { vec![host.as_str()] } else { Vec::new() };
    let lifted = Private::parse(lifted).map_err(|error| error.to_string())?;
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), lifted));
    let client = Client::builder().redirects(0).build();
    let answer = client.send(&Scope::new(grant), request).await.map_err(text)?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { Err(format!("the server answered {status}")) }
}

async fn command(program: &str, note: &str) -> Result<(), String> {
    let sandbox = choose(BackendChoice::Auto, "").map_err(|error| error.to_string())?;
    let granted = BinarySet::new([program]).map_err(|error| error.to_string())?;
    let launch = Launch {
        image: None,
        assurance: Assurance::Claimed,
        binary: program.to_owned(),
        arguments: Vec::new(),
        cwd: None,
        environment: BTreeMap::new(),
        timeout: Some(PATIENCE),
        stdin: note.as_bytes().to_vec(),
        limits: Limits { wall: Some(Span::new(PATIENCE)), ..Limits::default() },
        grant: Arc::new(Grant { process: Some(granted), ..Grant::default() }),
        network: None,
    };
    let ended = SandboxLauncher::new(sandbox).launch(launch).await.map_err(|error| error.to_string())?;
    if ended.exit_code == 0 {
        return Ok(());
    }
    let said = one_line(ended.stderr.lines().next().unwrap_or_default());
    let said = if said.is_empty() { said } else { format!(": {said}") };
    Err(format!("it ended with {}{said}", ended.exit_code))
}
