//! Finding programs: on a fixed search path, to one absolute file, with what it needs to run.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::companion::{Companion, behind_proxy, companions};
use super::judge::Judge;
use super::path::{Found, Kind, find, open_plain};
use crate::error::SandboxError;

/// The folders in which programs are looked for, in order. The environment decides nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SearchPath(Vec<PathBuf>);

impl Default for SearchPath {
    /// The folders of the system.
    fn default() -> Self {
        let system = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
        Self(system.map(PathBuf::from).to_vec())
    }
}

impl SearchPath {
    /// Adds folders at the end; relative ones are left out, since they would mean whatever the working directory is.
    #[must_use]
    pub fn and(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        for folder in folders {
            if folder.is_absolute() && !self.0.contains(&folder) {
                self.0.push(folder);
            }
        }
        self
    }

    /// Returns the file that a bare name or an absolute path means, as it is written there.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Path::new(name).is_absolute().then(|| PathBuf::from(name));
        }
        self.0.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// How deep scripts that start one another are followed: as deep as the kernel does.
const MOST_INTERPRETERS: u8 = 4;

/// Who asks for a program.
#[derive(Clone, Copy, Debug)]
enum By {
    /// Whoever grants it.
    Name,
    /// The first line of a script.
    Script,
    /// Settings of a proxy.
    Settings,
}

/// A program that was found, with everything it needs beside the platform.
#[derive(Clone, Debug)]
pub struct Program {
    /// The path it was asked for by.
    pub asked: PathBuf,
    /// The file.
    pub found: Found,
    pub(crate) companions: Vec<Companion>,
    /// What starts it, where it is a script: interpreters, the first being named in its first line.
    pub(crate) interpreters: Vec<Program>,
}

impl Program {
    /// Looks at a program that was named.
    ///
    /// # Errors
    ///
    /// It is missing, is not a file, may not be executed, or its interpreter is missing or may not be given.
    pub(crate) fn find(path: &Path, judge: &Judge<'_>) -> Result<Self, SandboxError> {
        Self::at_depth(path, 0, By::Name, None, judge)
    }

    /// `script` is the file that names it, where one does.
    fn at_depth(
        path: &Path,
        depth: u8,
        by: By,
        script: Option<&Path>,
        judge: &Judge<'_>,
    ) -> Result<Self, SandboxError> {
        let refused = |why: String| SandboxError::Program { path: path.to_path_buf(), why };
        let missing = |why: &str| SandboxError::NoProgram { path: path.to_path_buf(), why: why.to_owned() };
        if !path.is_absolute() {
            return Err(missing("no program of this name is found, and it is not an absolute path"));
        }
        let found = find(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(&error.to_string()),
            _ => refused(error.to_string()),
        })?;
        if found.kind != Kind::File || !is_program(&found.real) {
            return Err(missing("it is not an executable file"));
        }
        let judged = match by {
            By::Name => judge.program(path, &found),
            By::Script => judge.interpreter(path, &found),
            By::Settings => judge.behind_proxy(path, &found),
        };
        judged.map_err(refused)?;
        if let Some(behind) = behind_proxy(path, &found.real, judge).filter(|_| depth == 0) {
            return Self::at_depth(&behind, depth + 1, By::Settings, None, judge);
        }
        let mut interpreters = Vec::new();
        if depth < MOST_INTERPRETERS {
            for interpreter in shebang(&found.real) {
                let script = Some(found.real.as_path());
                interpreters.push(Self::at_depth(&interpreter, depth + 1, By::Script, script, judge)?);
            }
        }
        let companions = companions(path, &found, script, judge);
        Ok(Self { asked: path.to_path_buf(), found, companions, interpreters })
    }

    /// Goes through the program and whatever starts it.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        all.extend(self.interpreters.iter().flat_map(Self::all));
        all
    }
}

/// Returns what the first line of a script names: its interpreter, and after `env` the program that `env` looks for.
fn shebang(path: &Path) -> Vec<PathBuf> {
    let mut head = [0; 256];
    let read = open_plain(path).and_then(|mut file| file.read(&mut head).ok()).unwrap_or(0);
    let Some(line) = head.get(..read).and_then(|head| head.strip_prefix(b"#!")) else { return Vec::new() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let Some(first) = words.next().map(|word| PathBuf::from(std::ffi::OsStr::from_bytes(word))) else {
        return Vec::new();
    };
    let is_env = first.file_name().is_some_and(|name| name == "env");
    let target = words
        .filter(|word| !word.starts_with(b"-") && !word.contains(&b'='))
        .find_map(|word| std::str::from_utf8(word).ok())
        .filter(|_| is_env)
        .and_then(|name| SearchPath::default().find(name));
    std::iter::once(first).chain(target).collect()
}
