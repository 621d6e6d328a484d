//! Trying a backend: forbidden acts are attempted through it, and must fail.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use crate::host::SearchPath;
use crate::inner::PROBE;
use crate::sandbox::Sandbox;
use crate::spec::Spec;
use crate::stream::Streams;

/// What the canary file says. Whoever prints it has read it.
const CANARY: &str = "ringfence-canary-4d1f";

/// How the name of a canary begins.
const PREFIX: &str = "canary-";

/// The line that says that a program could be started.
const STARTED: &str = "started";

/// The last line: everything was tried.
const TRIED: &str = "tried";

/// How often what does not start is tried: two firejails that start at the same moment can end one another.
const ATTEMPTS: u32 = 3;

/// Runs a shell that tries to read a file, to write it and to start a program, none of which it was granted. Where there is no
/// shell, `inner` does the same, which is a program that calls [`crate::inner::stage`].
///
/// # Errors
///
/// What tries it could not be started, or one of the acts succeeded.
pub(crate) fn probe(sandbox: &Sandbox, folder: &Path, inner: &Path) -> Result<(), String> {
    let mut attempt = 1;
    loop {
        match try_once(sandbox, folder, inner) {
            Err(Failure::NotStarted(_)) if attempt < ATTEMPTS => attempt += 1,
            Err(Failure::NotStarted(why) | Failure::Unusable(why)) => return Err(why),
            Ok(()) => return Ok(()),
        }
    }
}

/// Why a backend cannot be used.
enum Failure {
    /// What tries it did not start: nothing was tried.
    NotStarted(String),
    /// Something that was not granted succeeded, or there is nothing to try it with.
    Unusable(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Unusable(why)
    }
}

fn try_once(sandbox: &Sandbox, folder: &Path, inner: &Path) -> Result<(), Failure> {
    let canary = Canary::new(folder.join(fresh_name()), CANARY)?;
    let search = SearchPath::default();
    let (spec, _other) = match (search.find("sh"), search.find("cat")) {
        (Some(shell), Some(other)) => (by_shell(shell, &canary, other), None),
        _ => {
            let other = Canary::program(program_beside(&canary.0), inner)?;
            (by_program(inner, &canary.0, &other.0), Some(other))
        }
    };
    let report =
        sandbox.run(&spec, Streams::default()).map_err(|error| Failure::NotStarted(error.to_string()))?;
    let mut said = String::from_utf8_lossy(&report.stdout.bytes).into_owned();
    if spec.program == inner {
        said += &String::from_utf8_lossy(&report.stderr.bytes);
    }
    let kept = std::fs::read_to_string(&canary.0).is_ok_and(|text| text == CANARY);
    judge(&said, kept).map_err(|failure| match failure {
        Failure::NotStarted(_) => {
            let why = String::from_utf8_lossy(&report.stderr.bytes).trim().to_owned();
            Failure::NotStarted(format!("`{}` did not start: {why}", spec.program.display()))
        }
        Failure::Unusable(_) => failure,
    })
}

/// Judges what was printed. An act that succeeded counts even where the rest was not tried.
fn judge(said: &str, kept: bool) -> Result<(), Failure> {
    let printed = |line: &str| said.lines().any(|one| one == line);
    match () {
        () if said.contains(CANARY) => Err("a file that was not granted could be read".to_owned().into()),
        () if !kept => Err("a file that was not granted could be written".to_owned().into()),
        () if printed(STARTED) => Err("a program that was not granted could be started".to_owned().into()),
        () if !printed(TRIED) => Err(Failure::NotStarted(String::new())),
        () => Ok(()),
    }
}

/// Returns a name that no probe of this or another process has: their numbers repeat in containers.
fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{PREFIX}{}-{number}-{}", std::process::id(), now.as_nanos())
}

fn program_beside(canary: &Path) -> PathBuf {
    let mut name = canary.as_os_str().to_owned();
    name.push("-program");
    name.into()
}

/// The canary has no end of line, for which `read` returns an error though it has read it. A program that was started may fail;
/// 126 and 127 mean that it was not.
const SCRIPT: &str = "read line <\"$1\"; echo \"$line\"; echo broken >\"$1\"; \"$2\" </dev/null; [ $? -ge 126 ] || echo started; echo tried";

fn by_shell(shell: PathBuf, canary: &Canary, other: PathBuf) -> Spec {
    let arguments =
        ["-c".into(), SCRIPT.into(), "sh".into(), canary.0.clone().into_os_string(), other.into_os_string()];
    Spec::new(shell).arguments(arguments)
}

/// Has a program of ours try it. See [`attempt`].
pub(crate) fn by_program(inner: &Path, canary: &Path, other: &Path) -> Spec {
    Spec::new(inner).arguments([PROBE.into(), canary.as_os_str().to_owned(), other.as_os_str().to_owned()])
}

/// Tries to read and write a canary and to start the program beside it, and returns what could be done. Other files are left alone:
/// anybody can start ringfence with these arguments.
pub(crate) fn attempt(canary: &Path, other: &Path) -> String {
    let is_canary = canary.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    if !is_canary || other != program_beside(canary) {
        return "these are not the files of a self-test".to_owned();
    }
    let mut said = String::new();
    if let Ok(text) = std::fs::read_to_string(canary) {
        if text != CANARY {
            return "this is not the canary of a self-test".to_owned();
        }
        said = format!("{text}\n");
    }
    // Whether it was written is seen outside.
    let _written = std::fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(canary)
        .map(|mut file| file.write_all(b"broken"));
    if let Ok(mut started) =
        Command::new(other).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    {
        said = format!("{said}{STARTED}\n");
        let _ended = started.wait();
    }
    format!("{said}{TRIED}")
}

/// A file outside every grant, removed afterwards.
struct Canary(PathBuf);

impl Canary {
    fn new(path: PathBuf, text: &str) -> Result<Self, String> {
        let write = || {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true).open(&path)?.write_all(text.as_bytes())
        };
        write().map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// A program, which is a script for one that is granted: only its own file is in the way.
    fn program(path: PathBuf, interpreter: &Path) -> Result<Self, String> {
        let canary = Self::new(path, &format!("#!{}\n", interpreter.display()))?;
        let failed = |error: std::io::Error| format!("`{}`: {error}", canary.0.display());
        std::fs::set_permissions(&canary.0, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        // One that nobody can start, as on a file system without programs, would show nothing.
        let mut outside = Command::new(&canary.0);
        outside.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        outside.spawn().and_then(|mut started| started.wait()).map_err(failed)?;
        Ok(canary)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Tier, Unconfined};

    #[test]
    fn a_program_that_nothing_confines_does_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let canary = Canary::new(folder.path().join("canary-1"), CANARY).unwrap();
        let other = Canary::program(program_beside(&canary.0), Path::new("/bin/true")).unwrap();
        assert_eq!(attempt(&canary.0, &other.0), format!("{CANARY}\nstarted\ntried"));
        assert_eq!(std::fs::read_to_string(&canary.0).unwrap(), "broken");
    }

    #[test]
    fn files_that_are_no_canary_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (mark, path) = (folder.path().join("mark"), folder.path().join("canary-1"));
        let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
        let other = Canary::new(program_beside(&path), &script).unwrap();
        std::fs::set_permissions(&other.0, std::fs::Permissions::from_mode(0o700)).unwrap();
        let notes = Canary::new(path, "my notes").unwrap();
        for (canary, other) in [(&notes.0, &other.0), (&other.0, &notes.0), (&notes.0, &notes.0)] {
            assert!(!attempt(canary, other).contains(TRIED));
        }
        assert_eq!(std::fs::read_to_string(&notes.0).unwrap(), "my notes");
        assert!(!mark.exists());
    }

    #[test]
    fn a_backend_that_confines_nothing_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(Unconfined).at_least(Tier::Unconfined);
        let found = probe(&sandbox, folder.path(), Path::new("/none"));
        assert_eq!(found, Err("a file that was not granted could be read".to_owned()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn each_act_is_seen_by_itself() {
        let why = |said: &str, kept| match judge(said, kept) {
            Ok(()) => String::new(),
            Err(Failure::NotStarted(_)) => "not started".to_owned(),
            Err(Failure::Unusable(why)) => why,
        };
        #[rustfmt::skip]
        let cases = [
            ("\ntried\n",                 true,  ""),
            ("",                          true,  "not started"),
            ("it was already tried\n",    true,  "not started"),
            (CANARY,                      true,  "a file that was not granted could be read"),
            ("",                          false, "a file that was not granted could be written"),
            ("\nstarted\n",               true,  "a program that was not granted could be started"),
            ("\nstarted\ntried\n",        true,  "a program that was not granted could be started"),
        ];
        for (said, kept, wanted) in cases {
            assert_eq!(why(said, kept), wanted, "{said:?} {kept}");
        }
    }
}
