//! A gateway whose console is measured.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Outcome;

/// A gateway that runs, and ends with its owner.
pub struct Gateway {
    child: Child,
    /// Where its console is.
    pub address: String,
}

impl Gateway {
    /// Starts the command beside this program, or `RINGFENCE_BIN`, over a store.
    ///
    /// # Errors
    ///
    /// It does not start, or has no console.
    #[expect(clippy::disallowed_methods, reason = "a measurement starts programs")]
    pub fn start(folder: &Path, store: &Path) -> Outcome<Self> {
        let own = std::env::current_exe()?;
        let ringfence =
            std::env::var_os("RINGFENCE_BIN").map_or_else(|| own.with_file_name("ringfence"), PathBuf::from);
        if !ringfence.exists() {
            return Err(
                "no `ringfence` beside this program: build it with `cargo build --profile dist`".into()
            );
        }
        let policy = folder.join("ringfence.toml");
        std::fs::write(&policy, "[personality]\nid = \"bench\"\n")?;
        let mut child = Command::new(ringfence)
            .arg("--policy")
            .arg(&policy)
            .args([
                "gateway",
                "--listen",
                "127.0.0.1:0",
                "--console",
                "127.0.0.1:0",
                "--anonymous",
                "--store",
            ])
            .arg(store)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let errors = child.stderr.take().ok_or("it has no error stream")?;
        let mut gateway = Self { child, address: String::new() };
        let mut lines = BufReader::new(errors).lines();
        while gateway.address.is_empty() {
            let line = lines.next().ok_or("the gateway tells no address of a console")??;
            if let Some((_, rest)) = line.split_once("console: http://") {
                gateway.address = rest.split('/').next().unwrap_or_default().to_owned();
            }
        }
        // What it says later is not waited for.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(gateway)
    }

    /// How much memory it has, in bytes.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn resident(&self) -> Outcome<u64> {
        self.status("VmRSS:")
    }

    /// How much memory it had at most, in bytes.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn peak(&self) -> Outcome<u64> {
        self.status("VmHWM:")
    }

    #[expect(clippy::disallowed_methods, reason = "the system tells it in a file")]
    fn status(&self, name: &str) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
