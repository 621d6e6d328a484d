//! One step of an install, inside the fence.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringfence::egress::{Verdict, Via};
use ringfence::policy::{Limits, NetworkGrant, Size, Span};
use ringfence::sandbox::{Access, Ending, Spec, Streams};

use super::InstallError;
use crate::error::CommandError;
use crate::network::{CommandNetwork, NetworkArgs, Told};
use crate::sandbox::{BackendChoice, choose};
use crate::shown::one_line;

/// How much of what a failing step wrote is told.
const SHOWN: usize = 600;

/// The certificates that this machine trusts, wherever they are.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What a step runs, and what it may touch beside the platform: one folder to write, some to read.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// What it is called in a message: `the install`.
    pub(crate) name: &'static str,
    pub(crate) package: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    /// The folder that it may write to, and starts in.
    pub(crate) folder: &'a Path,
    pub(crate) readable: Vec<PathBuf>,
    /// Folders beside its own that it may write to.
    pub(crate) kept: Vec<PathBuf>,
    /// Whether it may start what it has just written, as making a virtual environment does.
    pub(crate) starts_own: bool,
    pub(crate) variables: Vec<(&'static str, OsString)>,
    pub(crate) network: Option<&'a NetworkGrant>,
    /// When the time of the whole install is up.
    pub(crate) until: Instant,
}

impl Step<'_> {
    /// Runs it. What it writes is read only when it fails.
    pub(crate) fn run(self) -> Result<(), InstallError> {
        let refused =
            |error| InstallError::Refused { step: self.name, package: self.package.to_owned(), error };
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.late(String::new()));
        }
        let started = |error| InstallError::File(CommandError::Start(error));
        let sandbox = choose(BackendChoice::Auto, "").map_err(refused)?;
        let mut spec = Spec::new(self.program)
            .called(self.program)
            .arguments(self.arguments.iter().cloned())
            .limits(limits(left))
            .tree(self.folder, Access::WRITE)
            .directory(self.folder)
            .variable("HOME", self.folder.join(".home"))
            .variable("LANG", "C.UTF-8");
        for path in &self.kept {
            spec = spec.tree(path, Access::WRITE);
        }
        for path in &self.readable {
            spec = spec.tree(path, Access::EXECUTE);
        }
        if self.starts_own {
            spec = spec.any_binary();
        }
        for (name, value) in &self.variables {
            spec = spec.variable(*name, value);
        }
        if let Some(authorities) = authorities() {
            for name in ["NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
                spec = spec.variable(name, &authorities);
            }
            spec = spec.tree(authorities, Access::READ);
        }
        if let Some(grant) = self.network {
            spec = spec.network(grant);
        }
        let plan = sandbox.plan(&spec).map_err(refused)?;
        let network = match self.network {
            Some(grant) => {
                let args = NetworkArgs::default();
                Some(CommandNetwork::new(&args, grant.clone(), plan.limits, Told::Nobody).map_err(started)?)
            }
            None => None,
        };
        let mut streams = Streams::default();
        if let Some(network) = &network {
            streams = streams.gate(|made| network.open(made));
        }
        let report = sandbox.run_plan(&plan, streams);
        let seen = network.map(|network| network.close().0);
        let report = report.map_err(refused)?;
        if report.ending == Ending::Exited(0) {
            return Ok(());
        }
        let mut names: Vec<String> = Vec::new();
        for evidence in seen.iter().flat_map(|seen| &seen.listed) {
            let is_refused = matches!(evidence.verdict, Verdict::Refused { .. });
            if evidence.via == Via::Dns && is_refused && !names.contains(&evidence.host) {
                names.push(evidence.host.clone());
            }
        }
        let told = names.iter().take(5).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
        let refused = if told.is_empty() { String::new() } else { format!("; refused hosts: {told}") };
        if report.ending == Ending::TimedOut {
            return Err(self.late(refused));
        }
        let output = [report.stdout.bytes, report.stderr.bytes].concat();
        Err(InstallError::Failed {
            step: self.name,
            package: self.package.to_owned(),
            code: report.ending.code(),
            output: tail(&String::from_utf8_lossy(&output)),
            refused,
        })
    }

    fn late(&self, refused: String) -> InstallError {
        InstallError::Late { step: self.name, package: self.package.to_owned(), refused }
    }
}

fn limits(left: Duration) -> Limits {
    Limits {
        wall: Some(Span::new(left)),
        cpu: Some(Span::new(Duration::from_secs(300))),
        memory: Some(Size::new(2 << 30)),
        processes: Some(256),
        open_files: Some(4096),
        file_size: Some(Size::new(1 << 30)),
        scratch: Some(Size::new(512 << 20)),
        ..Limits::default()
    }
}

/// Returns the certificates that the user or else the machine names. A registry on a private network needs them.
fn authorities() -> Option<PathBuf> {
    let own = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"].into_iter().filter_map(std::env::var_os);
    let mut files = own.map(PathBuf::from).chain(AUTHORITIES.iter().map(PathBuf::from));
    // Whoever runs the install names it, and a link on the way is theirs.
    files.find(|file| file.is_absolute() && file.is_file()).and_then(|file| file.canonicalize().ok())
}

/// The end of what a step wrote, on one line.
fn tail(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = one_line(&words.join(" "));
    let count = line.chars().count();
    if count <= SHOWN {
        return line;
    }
    std::iter::once('…').chain(line.chars().skip(count - SHOWN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_when_the_time_of_the_install_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().canonicalize().unwrap();
        for left in [Duration::ZERO, Duration::from_secs(1)] {
            let start = Instant::now();
            let step = Step {
                name: "the install",
                package: "x",
                program: Path::new("/bin/sleep"),
                arguments: vec!["3600".into()],
                folder: &own,
                readable: Vec::new(),
                kept: Vec::new(),
                starts_own: false,
                variables: Vec::new(),
                network: None,
                until: start + left,
            };
            let error = step.run().unwrap_err();
            assert_eq!(error.to_string(), "the install of `x` was stopped: an install may take 5 minutes");
            // The whole time of an install would be 5 minutes, and the command takes an hour.
            assert!(start.elapsed() >= left && start.elapsed() < Duration::from_secs(120), "{left:?}");
        }
    }
}
