//! The two far ends of one case, one that is granted and one that is not, and the ways to run a program against them.

use std::fmt;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::authority::Authority;
use super::far::{self, Far, Service};
use super::http::Pages;
use crate::matrix::process::{Ended, finished};
use crate::matrix::stage::{PATH, Stage, Work};

/// The name that is granted.
pub(crate) const NEAR: &str = "near.rf.test";
/// The name that is not.
pub(crate) const OTHER: &str = "other.rf.test";

/// Where a case happens.
pub(crate) struct Ends<'a> {
    pub(crate) work: Work<'a>,
    /// The far end of [`NEAR`].
    pub(crate) near: Far,
    /// The far end of [`OTHER`]; nothing may ever reach it.
    pub(crate) other: Far,
    /// Answers on the host's own loopback address, and on the one it has in its network.
    canaries: [(Far, u16); 2],
    authority: PathBuf,
    /// What every far end says.
    pub(crate) token: String,
}

impl<'a> Ends<'a> {
    /// Makes both far ends, with HTTP on 80 and 443, and a folder of the same name.
    pub(crate) fn new(stage: &'a Stage, authority: &Authority, name: &str, pages: &Pages) -> Self {
        let work = stage.folder(&name.replace("::", "-"));
        let token = format!("token-{}-{}", std::process::id(), name.replace("::", "-"));
        let pages = Pages { token: token.clone(), ..pages.clone() };
        let path = authority.path.clone();
        let end = |host: &str| {
            let mut far = Far::new(far::address(), pages.clone());
            let names = [host.to_owned(), format!("*.{host}"), far.address.to_string()];
            far.serve(443, Service::Https(authority.acceptor(&names)));
            far.serve(80, Service::Http);
            far
        };
        let canary = |address: std::net::IpAddr| {
            let mut far = Far::new(address, pages.clone());
            let port = far.serve(0, Service::Http);
            (far, port)
        };
        let (near, other) = (end(NEAR), end(OTHER));
        let canaries = [canary([127, 0, 0, 1].into()), canary(own_address())];
        Self { work, near, other, canaries, authority: path, token }
    }

    /// Runs a command inside, with these hosts granted. Both names resolve and may be on loopback, so that the grant
    /// alone decides.
    pub(crate) fn confined(&self, hosts: &[&str], flags: &[&str], command: &[String]) -> Ran {
        let private = ["--private", NEAR, "--private", OTHER];
        self.run_with(hosts, &[&private, flags].concat(), command, PATH)
    }

    /// Runs a command inside; `private` and everything else is the caller's.
    pub(crate) fn run_with(&self, hosts: &[&str], flags: &[&str], command: &[String], path: &str) -> Ran {
        let mut ringfence = self.command(hosts, flags, command);
        Ran::new(finished(ringfence.env("PATH", path).stdin(Stdio::null())))
    }

    /// The command that runs another one inside.
    pub(crate) fn command(&self, hosts: &[&str], flags: &[&str], command: &[String]) -> Command {
        let mut all: Vec<String> = vec!["--json".into(), "--read".into(), "{ca}".into()];
        for (name, address) in [(NEAR, self.near.address), (OTHER, self.other.address)] {
            all.extend(["--resolve".into(), format!("{name}={address}")]);
        }
        all.extend(hosts.iter().flat_map(|host| ["--host".to_owned(), (*host).to_owned()]));
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        if !all.iter().any(|flag| flag.starts_with("wall=")) {
            all.extend(["--limit".into(), "wall=40s".into()]);
        }
        let expanded = |words: &[String]| words.iter().map(|word| self.expand(word)).collect::<Vec<_>>();
        let (all, command) = (expanded(&all), expanded(command));
        let flags: Vec<&str> = all.iter().map(String::as_str).collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        self.work.ringfence(&flags, &command)
    }

    /// Runs a command without a sandbox, where both names resolve by the machine's own file of hosts.
    pub(crate) fn unconfined(&self, variables: &[&str], command: &[String], path: &str) -> Ended {
        let hosts = self.work.stage.path().join(format!("hosts-{}", self.token));
        let lines = [
            "127.0.0.1 localhost".to_owned(),
            format!("{} {NEAR} a.{NEAR}", self.near.address),
            format!("{} {OTHER}", self.other.address),
        ];
        fs::write(&hosts, lines.join("\n") + "\n").unwrap();
        fs::set_permissions(&hosts, PermissionsExt::from_mode(0o644)).unwrap();
        let mut inner = self.work.stage.host("env");
        inner.args(variables.iter().map(|variable| self.expand(variable)));
        inner.args(command.iter().map(|word| self.expand(word)));
        let mut outer = Command::new("unshare");
        let mount = r#"mount --bind "$0" /etc/hosts && exec "$@""#;
        outer
            .args(["--mount", "sh", "-c", mount])
            .arg(&hosts)
            .arg(inner.get_program())
            .args(inner.get_args());
        outer.env_clear().env("PATH", path).env("HOME", self.work.stage.path().join("home"));
        finished(outer.current_dir(&self.work.folder).stdin(Stdio::null()))
    }

    /// Whether nothing arrived anywhere.
    pub(crate) fn untouched(&self) -> Result<(), String> {
        self.near.untouched()?;
        self.other_untouched()
    }

    /// Whether nothing arrived where nothing may.
    pub(crate) fn other_untouched(&self) -> Result<(), String> {
        self.canaries.iter().try_for_each(|(far, _)| far.untouched())?;
        self.other.untouched()
    }

    /// Fills in the names, the addresses and the files of this case.
    pub(crate) fn expand(&self, word: &str) -> String {
        let [(_, loopback), (outside, port)] = &self.canaries;
        word.replace("{near}", NEAR)
            .replace("{other}", OTHER)
            .replace("{near-ip}", &self.near.address.to_string())
            .replace("{other-ip}", &self.other.address.to_string())
            .replace("{ca}", self.authority.to_str().unwrap())
            .replace("{canary}", &loopback.to_string())
            .replace("{own}", &format!("{}:{port}", outside.address))
            .replace("{work}", self.work.folder.to_str().unwrap())
    }
}

/// The address of this machine in its network, or on loopback where it has none.
fn own_address() -> std::net::IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent: this only asks which address would be.
    match socket.connect("198.51.100.1:9") {
        Ok(()) => socket.local_addr().unwrap().ip(),
        Err(_) => [127, 0, 0, 1].into(),
    }
}

/// What a confined command did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    stderr: String,
    /// What is told of its connections and its refused names.
    pub(crate) connections: Vec<Value>,
}

impl Ran {
    /// Reads the JSON of a command that has ended.
    pub(crate) fn new(ended: Ended) -> Self {
        let Ok(told) = serde_json::from_str::<Value>(&ended.stdout) else {
            return Self {
                code: ended.code,
                stdout: ended.stdout,
                stderr: ended.stderr,
                connections: Vec::new(),
            };
        };
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        Self {
            code: ended.code,
            stdout: text("stdout"),
            stderr: text("stderr") + told["error"].as_str().unwrap_or_default() + &ended.stderr,
            connections: told["connections"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// Whether it ended well and said something.
    pub(crate) fn must(&self, says: &str) -> Result<(), String> {
        let right = self.code == Some(0) && self.stdout.contains(says);
        if right { Ok(()) } else { Err(format!("wanted 0 and `{says}`, got {self:?}")) }
    }

    /// Whether a connection to a host is told of that ended like this: `done`, `refused`, `failed`, `cut`.
    pub(crate) fn tells(&self, host: &str, verdict: &str) -> Result<(), String> {
        let right = |one: &&Value| one["host"] == host && one["verdict"] == verdict;
        match self.connections.iter().find(right) {
            Some(_) => Ok(()),
            None => Err(format!("nothing is told of `{host}` as {verdict}: {self:?}")),
        }
    }

    /// The connections for which a far end was dialled.
    pub(crate) fn dialled(&self) -> impl Iterator<Item = &Value> {
        self.connections.iter().filter(|one| one.get("address").is_some())
    }

    /// How many connections ended like this.
    pub(crate) fn count(&self, verdict: &str) -> usize {
        self.connections.iter().filter(|one| one["verdict"] == verdict).count()
    }
}

/// Of many connections only the first are shown.
impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, stdout, stderr, connections } = self;
        write!(f, "{code:?}, stdout {stdout:?}, stderr {stderr:?}, {} connections:", connections.len())?;
        connections.iter().take(12).try_for_each(|one| write!(f, " {one}"))
    }
}
