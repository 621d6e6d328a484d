//! Running a command to its end, or to the end of patience.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::matrix::sys;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(150);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; 128 and the number when the command itself was killed; `None` when it never ended.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Whether it ended with a code and said something among the rest.
    pub(crate) fn must(&self, code: i32, says: &str) -> Result<(), String> {
        if self.code == Some(code) && self.stdout.contains(says) {
            Ok(())
        } else {
            Err(format!("wanted {code} and `{says}`, got {self:?}"))
        }
    }

    /// The rest of the first line that begins with a word.
    pub(crate) fn line(&self, word: &str) -> Option<&str> {
        self.stdout.lines().find_map(|line| line.trim().strip_prefix(word))
    }
}

/// Runs to the end, or to the end of patience.
pub(crate) fn finished(command: &mut Command) -> Ended {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = drained(child.stdout.take().unwrap());
    let stderr = drained(child.stderr.take().unwrap());
    let code = waited(&mut child);
    Ended { code, stdout: collected(stdout), stderr: collected(stderr) }
}

/// What was read; what a survivor holds open is not waited for.
pub(crate) fn collected(reader: thread::JoinHandle<Vec<u8>>) -> String {
    let start = Instant::now();
    while !reader.is_finished() {
        if start.elapsed() > Duration::from_secs(20) {
            return "(a survivor holds it open)".to_owned();
        }
        thread::sleep(Duration::from_millis(1));
    }
    String::from_utf8_lossy(&reader.join().unwrap()).into_owned()
}

/// Reads all of it, beside whatever else is done.
pub(crate) fn drained(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut block = [0; 4096];
        // A terminal whose other side is closed answers with an error.
        while let Ok(count @ 1..) = from.read(&mut block) {
            bytes.extend_from_slice(&block[..count]);
        }
        bytes
    })
}

/// The exit code, or `None` when it had to be killed.
pub(crate) fn waited(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap()));
        }
        if start.elapsed() > PATIENCE {
            sys::kill(child.id());
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
