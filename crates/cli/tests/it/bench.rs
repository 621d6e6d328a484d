//! A workbench: a temporary directory in which the real binary runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The program under test. These files also test the program that brings an engine for components.
pub(crate) const BINARY: &str =
    match (option_env!("CARGO_BIN_EXE_ringfence"), option_env!("CARGO_BIN_EXE_ringfence-components")) {
        (Some(binary), _) | (None, Some(binary)) => binary,
        (None, None) => panic!("cargo names the program under test"),
    };

/// A temporary workspace.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Adds a file.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// The directory, free of symbolic links.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Runs the binary with an empty environment and returns what it printed, its errors and its exit code.
    pub(crate) fn ringfence(&self, arguments: &[&str]) -> String {
        self.shown(&self.run(arguments, b""))
    }

    /// The same, with something on standard input.
    pub(crate) fn ringfence_with(&self, arguments: &[&str], input: &[u8]) -> String {
        self.shown(&self.run(arguments, input))
    }

    /// The same, with these variables.
    pub(crate) fn ringfence_in(&self, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = command(&self.path()).args(arguments).envs(variables.iter().copied()).output().unwrap();
        self.shown(&output)
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = command(&self.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // The command may end before it has read everything.
            let _written = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    fn shown(&self, output: &Output) -> String {
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(self.path().to_str().unwrap(), "[W]");
        let code = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        format!("{}{}exit {code}", text(&output.stdout), text(&output.stderr))
    }
}

/// A tool of a policy file that reads what the personality may, with further lines.
pub(crate) fn reading_tool(name: &str, description: &str, lines: &str) -> String {
    let reach = r#"capabilities = { fs_reach = { read = "from-personality" } }"#;
    format!(
        "\n[[tool]]\nname = \"{name}\"\ndescription = \"{description}\"\nbuiltin = \"read_file\"\n{reach}\n{lines}\n"
    )
}

/// The binary, in a directory, with nothing of our environment.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.current_dir(directory).env_clear();
    command
}
