//! What the demo plays: a workspace, and the calls of an agent that somebody has talked into mischief.

use std::io;
use std::path::{Path, PathBuf};

use ringfence::Call;
use serde_json::{Value, json};

/// One call and what should come of it.
pub(super) struct Step {
    pub(super) what: &'static str,
    pub(super) call: Call,
    pub(super) expected: &'static str,
    pub(super) approved_by_a_person: bool,
}

/// Returns the calls in order.
pub(super) fn steps(workspace: &Path) -> Vec<Step> {
    let step = |what, tool: &str, arguments: Value, expected| Step {
        what,
        call: Call::new(tool, arguments),
        expected,
        approved_by_a_person: false,
    };
    let report = workspace.join("out/report.md");
    let pay = || Call::new("pay", json!({"to": "ACME", "cents": 4200})).idempotency_key("invoice-17");
    vec![
        step("read its notes", "read_file", json!({"path": "notes.txt"}), "allowed"),
        step("read /etc/passwd", "read_file", json!({"path": "/etc/passwd"}), "refused"),
        step("climb out with ../..", "read_file", json!({"path": "out/../../../etc/passwd"}), "refused"),
        step("read through a link that leads out", "read_file", json!({"path": "innocent.txt"}), "refused"),
        step("write a report", "write_report", json!({"path": report, "content": "# Report\n"}), "allowed"),
        step("overwrite its notes", "write_report", json!({"path": "notes.txt", "content": ""}), "refused"),
        step(
            "plant a git hook",
            "write_report",
            json!({"path": "out/.git/hooks/pre-commit", "content": "sh"}),
            "refused",
        ),
        step("send a number as a path", "read_file", json!({"path": 7}), "refused"),
        step(
            "write the report again",
            "write_report",
            json!({"path": report, "content": "# Again\n"}),
            "allowed",
        ),
        step(
            "write it a third time",
            "write_report",
            json!({"path": report, "content": "# And again\n"}),
            "refused",
        ),
        step(
            "fetch the cloud's metadata",
            "fetch",
            json!({"url": "http://169.254.169.254/latest/"}),
            "refused",
        ),
        step("the same, spelled 0xa9fea9fe", "fetch", json!({"url": "http://0xa9fea9fe/latest/"}), "refused"),
        step(
            "post to evil.example",
            "fetch",
            json!({"url": "https://api.github.com.evil.example/"}),
            "refused",
        ),
        step("use the weather key", "weather", json!({"secret": "WEATHER_API_KEY"}), "allowed"),
        step("use the payment key instead", "weather", json!({"secret": "STRIPE_KEY"}), "refused"),
        step("search with --pre=sh", "grep", json!({"pattern": "--pre=sh"}), "refused"),
        step("crash the agent", "crash", json!({}), "failed"),
        Step { what: "pay an invoice", call: pay(), expected: "refused", approved_by_a_person: false },
        Step {
            what: "pay it, after Maria agreed",
            call: pay(),
            expected: "allowed",
            approved_by_a_person: true,
        },
        Step { what: "pay it once more", call: pay(), expected: "allowed", approved_by_a_person: true },
    ]
}

/// A workspace in a temporary directory, removed with the demo.
pub(super) struct Workspace(PathBuf);

impl Workspace {
    pub(super) fn create() -> io::Result<Self> {
        let base = std::fs::canonicalize(std::env::temp_dir())?;
        let root = base.join(format!("ringfence-demo-{}", std::process::id()));
        // Fails when somebody made the directory before, rather than using what they put there.
        std::fs::create_dir(&root)?;
        let workspace = Self(root);
        std::fs::create_dir_all(workspace.0.join("out/.git/hooks"))?;
        std::fs::write(workspace.0.join("notes.txt"), "The workshop is on Thursday.\n")?;
        std::os::unix::fs::symlink("/etc/hostname", workspace.0.join("innocent.txt"))?;
        Ok(workspace)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}
