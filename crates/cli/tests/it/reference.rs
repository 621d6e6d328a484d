//! Reference pages are written by the code they describe.

use std::fmt::Write as _;

use ringfence::Code;
use ringfence::policy::Floor;
use ringfence::policy::explain::{Family, all};
use ringfence::policy::manifest::diff::ChangeCode;

use crate::bench::Bench;

/// Compares a page with what the code says; writes it anew when asked to.
pub(crate) fn assert_page(name: &str, page: &str) {
    let path = format!("{}/../../docs/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "run the tests with UPDATE_REFERENCE=1 to write docs/reference/{name} anew");
}

#[test]
fn codes() {
    let mut page = String::from(
        "# Codes\n\nStable: a code keeps its spelling and its meaning. `ringfence explain CODE` tells the same, and `ringfence explain CALL` what\nstands behind one refusal. Written by a test from `crates/policy/src/code.rs` and `crates/policy/src/explain`. Codes of manifests are in\n[manifest-codes.md](manifest-codes.md), those of the lint in [lint-codes.md](lint-codes.md); both are explained by the same command.\n\n| code | meaning |\n|---|---|\n",
    );
    for code in Code::ALL {
        writeln!(page, "| [`{code}`](#{}) | {} |", code.as_str().to_lowercase(), code.meaning()).unwrap();
    }
    page.push_str("\n## Problems that `ringfence check` tells\n\n| code | meaning | what to do | what that would also allow |\n|---|---|---|---|\n");
    for one in all().iter().filter(|one| one.family == Family::Check) {
        writeln!(page, "| `{}` | {} | {} | {} |", one.code, one.meaning, one.change, one.also).unwrap();
    }
    page.push_str("\n## Each code of a call\n");
    for one in all().iter().filter(|one| one.family == Family::Call) {
        writeln!(page, "\n### {}\n\n{}.\n", one.code, capital(one.meaning)).unwrap();
        writeln!(page, "- **Which rule decides:** {}", one.decided).unwrap();
        writeln!(page, "- **What to do:** {}", one.change).unwrap();
        writeln!(page, "- **What that would also allow:** {}", one.also).unwrap();
    }
    assert_page("codes.md", &page);
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

#[test]
fn manifest_codes() {
    let mut page = String::from(
        "# Codes of manifests\n\nWhat `ringfence manifest diff` and `verify` tell. Stable: a code keeps its spelling and its meaning. What is wider exits with 4.\nA server has the codes of tools. Written by a test from `crates/policy/src/manifest/diff/code.rs`.\n\n| code | meaning |\n|---|---|\n",
    );
    for code in ChangeCode::ALL {
        writeln!(page, "| `{code}` | {} |", code.meaning()).unwrap();
    }
    assert_page("manifest-codes.md", &page);
}

#[test]
fn floor() {
    let mut page = String::from(
        "# The floor\n\nRefused inside any granted tree, unless the personality names that very path in that direction. Names match anywhere in a\npath, in any case, and in the other spellings that some file systems take for the same name.\n\nOne rule gathers the lines: what does an editor, a shell, an agent, a language or a build tool run or trust when a folder is\nopened or entered, when its user logs in next, or when it is called, without asking?\n\nThese are not on the floor, on purpose:\n\n- what people build, test or start knowingly (`Makefile`, `package.json`, `build.rs`, `conftest.py`): it is the work itself\n- settings of linters, formatters and tests (`.eslintrc.js`, `.rubocop.yml`, `.pylintrc`): they change together with the code\n- pipelines of a forge (`.github/workflows`, `.gitlab-ci.yml`): they run on its machine, after somebody has pushed them\n- texts for agents that a project keeps like its README (`AGENTS.md`, `CLAUDE.md`): they are reviewed like it\n- a version and nothing else (`.nvmrc`, `.python-version`)\n- what runs only where a protected file says so (`.gitattributes`, `.env`)\n- what package managers make in a project (`.venv`, `node_modules`): it could not be made at all\n\nA name that ends with `.quarantined-1` or another number was moved aside, and nothing looks for it.\n\nWritten by a test from `crates/policy/src/path/floor/table`.\n\n| path | what | refused | why |\n|---|---|---|---|\n",
    );
    for entry in Floor::entries() {
        let refused = entry.only.map_or("read and write", |direction| direction.as_str());
        writeln!(page, "| `{}` | {} | {refused} | {} |", entry.pattern, entry.kind, entry.reason).unwrap();
    }
    assert_page("floor.md", &page);
}

#[test]
fn policy_file() {
    assert_page("policy-file.md", &ringfence::policy::form::page());
    let schema = serde_json::to_string_pretty(&ringfence::policy::form::schema()).unwrap();
    assert_page("ringfence.schema.json", &format!("{schema}\n"));
}

#[test]
fn command() {
    let bench = Bench::new();
    let mut page = String::from(
        "# The `ringfence` command\n\nWritten by a test from the command's own help (`crates/cli/tests/it/reference.rs`).\n",
    );
    for command in [
        &["--help"][..],
        &["approvals", "--help"],
        &["approvals", "list", "--help"],
        &["approvals", "show", "--help"],
        &["approvals", "approve", "--help"],
        &["approvals", "deny", "--help"],
        &["approvals", "resume", "--help"],
        &["approver", "--help"],
        &["approver", "add", "--help"],
        &["approver", "revoke", "--help"],
        &["approver", "list", "--help"],
        &["ask", "--help"],
        &["audit", "--help"],
        &["audit", "tail", "--help"],
        &["audit", "show", "--help"],
        &["audit", "search", "--help"],
        &["audit", "export", "--help"],
        &["audit", "replay", "--help"],
        &["audit", "forget-raw", "--help"],
        &["audit", "keygen", "--help"],
        &["audit", "checkpoint", "--help"],
        &["audit", "verify", "--help"],
        &["audit", "prove", "--help"],
        &["audit", "check-proof", "--help"],
        &["call", "--help"],
        &["check", "--help"],
        &["clean", "--help"],
        &["completions", "--help"],
        &["component", "--help"],
        &["component", "seal", "--help"],
        &["component", "show", "--help"],
        &["demo", "--help"],
        &["doctor", "--help"],
        &["explain", "--help"],
        &["gateway", "--help"],
        &["idempotency", "--help"],
        &["idempotency", "list", "--help"],
        &["idempotency", "settle", "--help"],
        &["import", "--help"],
        &["init", "--help"],
        &["install", "--help"],
        &["learn", "--help"],
        &["man", "--help"],
        &["manifest", "--help"],
        &["manifest", "accept", "--help"],
        &["manifest", "diff", "--help"],
        &["manifest", "show", "--help"],
        &["manifest", "verify", "--help"],
        &["manifest", "write", "--help"],
        &["pins", "--help"],
        &["pins", "accept", "--help"],
        &["pins", "diff", "--help"],
        &["pins", "list", "--help"],
        &["pins", "reject", "--help"],
        &["run", "--help"],
        &["scan", "--help"],
        &["schema", "--help"],
        &["serve", "--help"],
        &["store", "--help"],
        &["store", "migrate", "--help"],
        &["store", "check", "--help"],
        &["store", "backup", "--help"],
        &["store", "copy", "--help"],
        &["store", "accept", "--help"],
        &["tools", "--help"],
        &["wrap", "--help"],
    ] {
        let name =
            command.iter().filter(|word| !word.starts_with('-')).copied().collect::<Vec<_>>().join(" ");
        let title = if name.is_empty() { "ringfence".to_owned() } else { format!("ringfence {name}") };
        let help = bench.ringfence(command);
        let help = help.strip_suffix("exit 0").unwrap();
        writeln!(page, "\n## {title}\n\n```text\n{}\n```", help.trim_end()).unwrap();
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | it ran and failed |\n| 2 | the command line or its input is wrong |\n| 3 | refused by policy |\n| 4 | findings |\n");
    assert_page("cli.md", &page);
}
