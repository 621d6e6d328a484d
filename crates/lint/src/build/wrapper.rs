//! The compiler's stand-in: asks the compiler to say what it understood, for the crates that become part of the tool.
//!
//! Cargo starts this program instead of `rustc`, inside the sandbox. Only for a crate of the target (not for a build script, a
//! procedural macro, or a question that a build script asks the compiler) are flags added.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::mir::{MirError, Summary, Unit, summarise};

/// The variable by which this program knows that it stands in for the compiler.
pub const VARIABLE: &str = "RINGFENCE_LINT_COMPILER";

/// What makes the compiler write what it understood, fully qualified and as it was written. What ships is built for release; what
/// is read is not optimised, so that no call is optimised away.
pub(super) const FLAGS: &[&str] = &[
    "-Copt-level=0",
    "--emit=mir",
    "-Ztrim-diagnostic-paths=no",
    "-Zinline-mir=no",
    "-Zmir-include-spans=on",
    "--cap-lints=allow",
];

/// What is known of a compiled crate from how the compiler was called.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Called {
    /// The crate's name.
    pub(super) name: String,
    /// The package's name and version.
    pub(super) package: (String, String),
    /// The package's folder.
    pub(super) folder: PathBuf,
    /// The folder that the compiler ran in, which relative file names start from.
    pub(super) directory: PathBuf,
    /// Whether cargo fetched it, instead of finding it in a folder.
    pub(super) fetched: bool,
    /// The crates that it may name, and the stem of each one's files.
    pub(super) externs: Vec<(String, String)>,
}

/// What is kept of a compiled crate.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    pub(super) called: Called,
    pub(super) summary: Summary,
    /// Why what the compiler wrote was not understood.
    pub(super) unreadable: Option<String>,
    /// Variables of ours that it asks for while it is compiled: it could be another crate elsewhere.
    pub(super) asks: Vec<String>,
}

/// Where what the compiler wrote for a crate is: `folder/stem.mir`.
#[derive(Debug)]
struct Written {
    folder: PathBuf,
    stem: String,
    called: Called,
}

/// Runs the compiler with these arguments, the first of which is the compiler itself.
pub fn stand_in(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let Some(compiler) = arguments.next() else { return ExitCode::FAILURE };
    let arguments: Vec<OsString> = arguments.collect();
    let written = written(&arguments, |name| std::env::var(name).ok());
    #[expect(clippy::disallowed_methods, reason = "it runs inside the sandbox, in place of the compiler")]
    let mut command = std::process::Command::new(compiler);
    command.args(&arguments).env_remove(VARIABLE);
    if written.is_some() {
        // Only here: build scripts that ask the compiler what it can do must get the ordinary answer.
        command.args(FLAGS).env("RUSTC_BOOTSTRAP", "1");
        // Without optimisation the compiler would take this for a build with assertions, which is not what ships.
        let is_said = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"debug-assertions=");
        if !arguments.iter().any(is_said) {
            command.arg("-Cdebug-assertions=off");
        }
    }
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => return told(&format!("the compiler cannot be started: {error}")),
    };
    if !status.success() {
        return ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
    }
    match written.map(Written::keep) {
        None | Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => told(&error),
    }
}

fn told(message: &str) -> ExitCode {
    use std::io::Write;
    let _told = writeln!(std::io::stderr().lock(), "ringfence lint: {message}");
    ExitCode::FAILURE
}

/// Says what the compiler will write, when it is called for a crate of the target.
fn written(arguments: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Option<Written> {
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.to_str()).collect::<Option<_>>()?;
    let after = |flag: &str| {
        let at = texts.iter().position(|text| *text == flag)?;
        texts.get(at + 1).copied()
    };
    let codegen = |name: &str| {
        let pairs = texts.windows(2).filter_map(|pair| match pair {
            ["-C", value] => Some(*value),
            _ => None,
        });
        pairs.filter_map(|value| value.strip_prefix(name)?.strip_prefix('=')).next()
    };
    after("--target")?;
    let is_cargo = texts.contains(&"--error-format=json");
    let name = after("--crate-name")?;
    // Cargo names the target for crates of the target only, never for build scripts and procedural macros. Names do not decide: a
    // crate may be called anything.
    if !is_cargo {
        return None;
    }
    let folder = PathBuf::from(after("--out-dir")?);
    let stem = format!("{name}{}", codegen("extra-filename").unwrap_or_default());
    let externs = texts.windows(2).filter_map(|pair| match pair {
        ["--extern", value] => {
            let (name, path) = value.split_once('=')?;
            // Options such as `priv:` or `noprelude:` stand before the name.
            let name = name.rsplit(':').next()?;
            let stem = Path::new(path).file_stem().and_then(OsStr::to_str)?;
            Some((name.to_owned(), stem.strip_prefix("lib").unwrap_or(stem).to_owned()))
        }
        _ => None,
    });
    let folder_of_package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let called = Called {
        fetched: variable("CARGO_HOME").is_some_and(|home| folder_of_package.starts_with(home)),
        name: name.to_owned(),
        package: (variable("CARGO_PKG_NAME")?, variable("CARGO_PKG_VERSION")?),
        folder: folder_of_package,
        directory: std::env::current_dir().ok()?,
        externs: externs.collect(),
    };
    Some(Written { folder, stem, called })
}

impl Written {
    /// Keeps what was called and what it says, in short. What the compiler wrote is many times as long, and goes.
    fn keep(self) -> Result<(), String> {
        let path = self.folder.join(format!("{}.unit.json", self.stem));
        let unit = Unit {
            name: self.called.name.clone(),
            package: format!("{}@{}", self.called.package.0, self.called.package.1),
            own: !self.called.fetched,
            mir: self.folder.join(format!("{}.mir", self.stem)),
            source_root: self.called.directory.clone(),
            shown_root: String::new(),
            externs: Vec::new(),
            proc_macro_or_build: false,
        };
        // One crate that is not understood must be answered for; it does not keep anybody from the others.
        let (summary, unreadable) = match summarise(&unit) {
            Ok(summary) => (summary, None),
            Err(error @ MirError::Dialect { .. }) => (Summary::default(), Some(error.to_string())),
            Err(error) => return Err(error.to_string()),
        };
        let known = std::fs::read_to_string(self.folder.join(format!("{}.d", self.stem))).unwrap_or_default();
        let kept = Kept { called: self.called, summary, unreadable, asks: asks(&known) };
        let text = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
        let _gone = std::fs::remove_file(&unit.mir);
        std::fs::write(&path, text)
            .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
    }
}

/// Returns the variables of ours that a crate asks for, from what the compiler says its result depends on.
fn asks(depends: &str) -> Vec<String> {
    let asked = depends.lines().filter_map(|line| line.strip_prefix("# env-dep:"));
    let names = asked.map(|line| line.split('=').next().unwrap_or(line));
    names
        .filter(|name| super::fence::OWN_VARIABLES.contains(name) || *name == VARIABLE)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_asks_whether_it_is_looked_at_is_told_of() {
        let depends = "a.rmeta: src/lib.rs\n\n# env-dep:CARGO_PKG_NAME=a\n# env-dep:CARGO_TERM_COLOR=never\n# env-dep:RUSTC_BOOTSTRAP\n# env-dep:GIT=1\n";
        assert_eq!(asks(depends), ["CARGO_TERM_COLOR", "RUSTC_BOOTSTRAP"]);
    }

    fn decide(line: &str) -> Option<String> {
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let written = written(&arguments, |name| Some(name.to_lowercase()))?;
        let externs: Vec<String> =
            written.called.externs.iter().map(|(name, stem)| format!("{name}={stem}")).collect();
        Some(format!("{}/{} {}", written.folder.display(), written.stem, externs.join(" ")))
    }

    #[test]
    fn only_crates_of_the_target_are_asked() {
        let usual = "--crate-name demo --edition=2024 src/lib.rs --error-format=json --crate-type lib \
                     --emit=dep-info,metadata -C extra-filename=-0123 --out-dir /t/deps --target x \
                     --extern regex=/t/deps/libregex-77.rmeta --extern priv:sys=/t/deps/libsys-1.rmeta";
        assert_eq!(decide(usual).unwrap(), "/t/deps/demo-0123 regex=regex-77 sys=sys-1");
        for (from, to) in [
            ("--error-format=json", "--error-format=human"), // a build script's own question
            (" --target x", ""), // of the host: build scripts and their dependencies
            ("--out-dir /t/deps", ""),
        ] {
            assert_eq!(decide(&usual.replace(from, to)), None, "{to}");
        }
        let disguised = usual.replace("--crate-name demo", "--crate-name build_script_build");
        assert!(decide(&disguised).is_some(), "a name is no excuse");
        assert_eq!(decide("-vV"), None);
        assert_eq!(decide("- --crate-name ___ --print=file-names --target x"), None);
    }
}
