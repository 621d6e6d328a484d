//! Where one page happens: a shell in namespaces of its own, which is told one step after the other.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::docs::far::{self, HOSTS};
use crate::docs::{needs, root};

/// How long one step may take. The longest builds a component.
const PATIENCE: Duration = Duration::from_secs(600);

/// A shell that goes on until this is dropped, and everything it started with it.
pub(crate) struct World {
    folder: TempDir,
    shell: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    count: usize,
}

impl World {
    /// Begins a session for a page with these fixtures.
    pub(crate) fn new(fixtures: &[&str]) -> Self {
        let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder =
            tempfile::Builder::new().prefix("docs-").tempdir_in(base.canonicalize().unwrap()).unwrap();
        far::certificates(folder.path());
        fs::write(folder.path().join("hosts"), HOSTS).unwrap();
        fs::create_dir(folder.path().join("steps")).unwrap();
        let mut shell = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            shell.args(["--user", "--map-root-user"]);
        }
        shell.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]);
        shell.arg(root().join("e2e/tests/docs/session.sh")).arg(folder.path());
        shell.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        shell.env("RF_ROOT", root()).env("RF_PROGRAMS", ringfence_e2e::ringfence().parent().unwrap());
        for (variable, name, usual) in
            [("RF_CARGO", "CARGO_HOME", ".cargo"), ("RF_RUSTUP", "RUSTUP_HOME", ".rustup")]
        {
            let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(usual);
            shell.env(variable, std::env::var_os(name).map_or_else(home, PathBuf::from));
        }
        if fixtures.contains(&"packages") {
            shell.env("RF_PACKAGES", needs::packages());
        }
        if fixtures.iter().any(|name| ["compiled", "component"].contains(name)) {
            shell.env("RF_GUESTS", needs::guests());
        }
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { folder, shell, input, answers, count: 0 }
    }

    /// Puts a text where the session finds it, and returns its path there.
    pub(crate) fn put(&mut self, text: &str) -> String {
        self.count += 1;
        let name = format!("{:03}.put", self.count);
        fs::write(self.steps().join(&name), text).unwrap();
        format!("/home/.world/steps/{name}")
    }

    /// Runs a script in the session; returns its exit code and what it printed.
    pub(crate) fn run(&mut self, script: &str) -> Result<(i32, String), String> {
        self.count += 1;
        let name = format!("{:03}", self.count);
        fs::write(self.steps().join(format!("{name}.sh")), script).unwrap();
        writeln!(self.input, "{name}").map_err(|_| self.ended())?;
        let answer = match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("it takes too long; so far:\n{}", self.printed(&name)));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("{}\n{}", self.printed(&name), self.ended()));
            }
        };
        let status = answer.strip_prefix(&name).and_then(|status| status.trim().parse().ok());
        Ok((status.ok_or(format!("the session answers `{answer}`"))?, self.printed(&name)))
    }

    /// Starts a command that goes on; returns what it has printed when it has begun.
    pub(crate) fn begin(&mut self, command: &str, until: &str) -> Result<(i32, String), String> {
        let file = self.put(command);
        let quoted = until.replace('\'', r"'\''");
        self.run(&format!("source {file} >{file}.log 2>&1 &\nhas_begun $! {file}.log '{quoted}'\n(exit $?) && cat {file}.log"))
    }

    fn steps(&self) -> PathBuf {
        self.folder.path().join("steps")
    }

    fn printed(&self, name: &str) -> String {
        let bytes = fs::read(self.steps().join(format!("{name}.out"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn ended(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("session.log")).unwrap_or_default();
        format!("the session has ended:\n{log}")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Whatever it started is in its process namespace, and ends with it.
        let _killed = self.shell.kill();
        let _reaped = self.shell.wait();
    }
}
