//! Trying a backend: forbidden acts are attempted through it, and must fail.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::host::SearchPath;
use crate::sandbox::Sandbox;
use crate::spec::Spec;
use crate::stream::Streams;

/// What the canary file says. Whoever prints it has read it.
const CANARY: &str = "ringfence-canary-4d1f";

/// Runs a shell that tries to read a file, to write it and to start a program, none of which it was granted.
///
/// # Errors
///
/// The shell could not be started, or one of the acts succeeded.
pub(crate) fn probe(sandbox: &Sandbox, folder: &Path) -> Result<(), String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let search = SearchPath::default();
    let shell = search.find("sh").ok_or("there is no shell to try it with")?;
    let other = search.find("cat").ok_or("there is no program to try it with")?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let canary = Canary::new(folder.join(format!("canary-{}-{number}", std::process::id())))?;
    let script = "echo ready; read line <\"$1\" && echo \"$line\"; echo broken >\"$1\"; \"$2\" </dev/null && echo started";
    let arguments =
        ["-c".into(), script.into(), "sh".into(), canary.0.clone().into_os_string(), other.into_os_string()];
    let report = sandbox
        .run(&Spec::new(shell).arguments(arguments), Streams::default())
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&report.stdout.bytes);
    let kept = std::fs::read_to_string(&canary.0).is_ok_and(|text| text == CANARY);
    match () {
        () if !said.contains("ready") => {
            let why = String::from_utf8_lossy(&report.stderr.bytes).trim().to_owned();
            Err(format!("the shell did not start: {why}"))
        }
        () if said.contains(CANARY) => Err("a file that was not granted could be read".into()),
        () if !kept => Err("a file that was not granted could be written".into()),
        () if said.contains("started") => Err("a program that was not granted could be started".into()),
        () => Ok(()),
    }
}

/// A file outside every grant, removed afterwards.
struct Canary(PathBuf);

impl Canary {
    fn new(path: PathBuf) -> Result<Self, String> {
        std::fs::write(&path, CANARY).map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.0);
    }
}
