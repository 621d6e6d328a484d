//! Where things are: the servers, the command under test, and a folder of its own for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};

/// Where programs are looked for, on the host as inside.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// A variable of whoever starts the server, which must not reach it.
pub(crate) const CANARY: (&str, &str) = ("RINGFENCE_E2E_CANARY", "canary-4711-of-the-environment");

/// The root of the sources.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The servers and clients: `RINGFENCE_TEST_MCP`, or where `script/mcp-servers` puts them. Never left out.
pub(crate) fn installed() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(named) = std::env::var_os("RINGFENCE_TEST_MCP") {
            return PathBuf::from(named);
        }
        let output = Command::new(root().join("script/mcp-servers")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().lines().last().unwrap())
    })
}

/// A file of `e2e/mcp`.
pub(crate) fn file(name: &str) -> String {
    format!("{}/mcp/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The command line of a server of npm.
pub(crate) fn npm(package: &str, arguments: &[&str]) -> Vec<String> {
    let script = installed().join(format!("npm/node_modules/@modelcontextprotocol/{package}/dist/index.js"));
    line(&["node", script.to_str().unwrap()], arguments)
}

/// The command line of a program of PyPI, in the environment `py` or `py2`.
pub(crate) fn python(environment: &str, program: &str, arguments: &[&str]) -> Vec<String> {
    let path = installed().join(environment).join("bin").join(program);
    line(&[path.to_str().unwrap()], arguments)
}

/// The Node that the Inspector and the conformance suite demand.
pub(crate) fn newer_node() -> PathBuf {
    installed().join("node/node")
}

/// The command line of the attack server in one of its modes.
pub(crate) fn attack(arguments: &[&str]) -> Vec<String> {
    line(&["/usr/bin/python3", &file("attack.py")], arguments)
}

fn line(first: &[&str], rest: &[&str]) -> Vec<String> {
    first.iter().chain(rest).map(|&word| word.to_owned()).collect()
}

/// One test's folder: the workspace, a home, and the policy with its pins.
pub(crate) struct Scene {
    folder: TempDir,
    /// The server that the policy is about.
    pub(crate) name: String,
    /// How that server is started.
    pub(crate) command: Vec<String>,
    /// Variables that it gets by itself; inside the fence the policy says which.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Scene {
    /// A server of that name, without a policy.
    pub(crate) fn new(name: &str, command: Vec<String>) -> Self {
        // Not in `/tmp`, of which a sandbox has one of its own.
        let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder =
            tempfile::Builder::new().prefix("mcp-").tempdir_in(base.canonicalize().unwrap()).unwrap();
        for part in ["workspace", "home", "policy"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        Self { folder, name: name.to_owned(), command, variables: Vec::new() }
    }

    /// A server whose policy is an example's, and whose command depends on the workspace.
    pub(crate) fn example(example: &str, command: impl Fn(&Path) -> Vec<String>) -> Self {
        let mut scene = Self::new(example, Vec::new());
        scene.command = command(&scene.workspace());
        let path = root().join(format!("examples/mcp/{example}/ringfence.toml"));
        let text = fs::read_to_string(path).unwrap();
        // The package is installed already; all else is the example as it is.
        let (mut lines, mut replaced) = (Vec::new(), 0);
        for line in text.lines() {
            if line.starts_with("command = [") {
                replaced += 1;
                lines.push(format!("command = {:?}", scene.command));
            } else {
                if let Some(name) = line.strip_prefix("name = ") {
                    scene.name = name.trim_matches('"').to_owned();
                }
                lines.push(line.to_owned());
            }
        }
        assert_eq!(replaced, 1, "{text}");
        scene.policy(&lines.join("\n"));
        scene
    }

    /// A server that is granted what the text says; accepted at first sight when it is clean.
    pub(crate) fn granted(name: &str, command: Vec<String>, personality: &str, entry: &str) -> Self {
        let scene = Self::new(name, command);
        let mut text = format!("[personality]\nid = \"e2e\"\n{personality}\n[[server]]\nname = \"{name}\"\n");
        text += &format!("command = {:?}\naccept = \"clean\"\n{entry}\n", scene.command);
        scene.policy(&text);
        scene
    }

    /// An attack server that is granted nothing, in one of its modes.
    pub(crate) fn attack(arguments: &[&str]) -> Self {
        Self::granted("attack", attack(arguments), "", "")
    }

    /// Writes the policy.
    pub(crate) fn policy(&self, text: &str) {
        fs::write(self.policy_file(), text).unwrap();
    }

    pub(crate) fn policy_file(&self) -> PathBuf {
        self.folder.path().join("policy/ringfence.toml")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A place beside the workspace, which nothing grants.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Empties the workspace.
    pub(crate) fn clear(&self) {
        fs::remove_dir_all(self.workspace()).unwrap();
        fs::create_dir(self.workspace()).unwrap();
    }

    /// The server by itself.
    pub(crate) fn direct(&self) -> Command {
        let (program, arguments) = self.command.split_first().unwrap();
        let mut command = self.host(program);
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The server inside the fence.
    pub(crate) fn wrapped(&self) -> Command {
        let mut command = self.ringfence(&["wrap", "--name", &self.name, "--"]);
        command.args(&self.command);
        command
    }

    /// A person looks at what is withheld, and accepts one of the tools; without a look that must fail.
    pub(crate) fn accept(&self, tool: &str) {
        // A first session, in which the definition is seen.
        Client::connect(self.wrapped(), LEGACY, Answers::default()).tools();
        let accept = || self.ringfence(&["pins", "accept", "--server", &self.name, tool]).output().unwrap();
        assert!(!accept().status.success(), "`{tool}` was accepted though nobody had looked at it");
        let shown = self.ringfence(&["pins", "diff", "--server", &self.name]).output().unwrap();
        assert_eq!(shown.status.code(), Some(4), "{}", String::from_utf8_lossy(&shown.stderr));
        let accepted = accept();
        assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    }

    /// The command under test with this policy and workspace.
    pub(crate) fn ringfence(&self, arguments: &[&str]) -> Command {
        let mut command = self.host(ringfence_e2e::ringfence().to_str().unwrap());
        command
            .arg("--policy")
            .arg(self.policy_file())
            .arg("--workspace")
            .arg(self.workspace())
            .args(arguments);
        command
    }

    /// A program with a small environment and homes of its own.
    pub(crate) fn host(&self, program: &str) -> Command {
        let home = self.folder.path().join("home");
        let mut command = Command::new(program);
        command.env_clear().env("PATH", PATH).env("HOME", &home).env(CANARY.0, CANARY.1);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_CACHE_HOME", home.join("cache"));
        command.current_dir(self.workspace());
        command
    }
}
