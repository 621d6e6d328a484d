//! Processes of their own: this very binary, running one test that is ignored otherwise.
#![expect(clippy::disallowed_methods, reason = "a test starts processes and hands them a path")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Tells the child where its database is.
const VARIABLE: &str = "RINGFENCE_TEST_CHILD_DATABASE";

/// Returns the database of the child; none if this is no child.
pub(super) fn path() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// Starts a test as a process of its own, whose output can be read.
pub(super) fn spawn(test: &str, path: &Path) -> Child {
    command(&[], test, path).spawn().unwrap()
}

/// Returns the command that runs a test as a process of its own, after the words of another command.
pub(super) fn command(before: &[&str], test: &str, path: &Path) -> Command {
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut words = before.iter().map(OsString::from).chain([program]);
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(VARIABLE, path)
        .stdout(Stdio::piped());
    command
}
