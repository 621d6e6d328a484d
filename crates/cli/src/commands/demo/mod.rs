//! `ringfence demo`

mod scene;
mod tools;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ringfence::policy::{NoFiles, Places, Toolbox, Variables};
use ringfence::{Backends, HostFiles, MemoryAudit, Outcome, Refusal, Registry, Report, Run, declared_tool};

use crate::error::{CommandError, Exit};
use crate::table::table;

/// The policy that is played, also an example to start from.
const POLICY: &str = include_str!("../../../../../examples/demo/ringfence.toml");

/// Play a small agent through allowed and hostile calls
///
/// Needs no services and no network: the calls run against a temporary workspace. Shows what was allowed, what was
/// refused, and which line of policy decided.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Print the policy that is played
    #[arg(long)]
    policy_text: bool,
}

pub(crate) fn run(args: &DemoArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if args.policy_text {
        write!(out, "{POLICY}")?;
        return Ok(Exit::Done);
    }
    let workspace = scene::Workspace::create().map_err(CommandError::Start)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::Start)?;
    let stage = Stage::new(workspace.path())?;
    // One of the tools panics on purpose; the table says so, and a backtrace would only bury it.
    std::panic::set_hook(Box::new(|_| {}));
    let mut rows = Vec::new();
    let mut surprises = 0;
    for (number, step) in scene::steps(workspace.path()).into_iter().enumerate() {
        let report = runtime.block_on(stage.play(&step));
        let (verdict, why) = stage.verdict(&report);
        if verdict != step.expected {
            surprises += 1;
        }
        rows.push([(number + 1).to_string(), step.what.to_owned(), verdict.to_owned(), why]);
    }
    drop(std::panic::take_hook());
    writeln!(out, "An agent works in a workspace under the policy of examples/demo/ringfence.toml.\n")?;
    write!(out, "{}", table(["#", "THE AGENT ASKS TO", "VERDICT", "DECIDED BY"], &rows))?;
    let refused = rows.iter().filter(|row| row.get(2).is_some_and(|verdict| verdict == "refused")).count();
    writeln!(
        out,
        "\n{} calls, {refused} refused, {} audit records, 1 payment made. `ringfence demo --policy-text` prints the policy.",
        rows.len(),
        stage.audit.records().len(),
    )?;
    if surprises > 0 || stage.payments() != 1 {
        writeln!(out, "{surprises} calls came out otherwise than they should: please report this.")?;
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

/// The registry under the demo's policy.
struct Stage {
    registry: Registry,
    run: Run,
    audit: Arc<MemoryAudit>,
    maria: Arc<tools::Maria>,
    ledger: tools::Ledger,
}

impl Stage {
    fn new(workspace: &Path) -> Result<Self, CommandError> {
        let input = |message: String| CommandError::Input { message, hint: None };
        let variables = Variables { workspace: Some(workspace.to_path_buf()), ..Variables::default() };
        let toolbox = Toolbox::from_toml(POLICY).map_err(|error| input(error.to_string()))?;
        let (declarations, gaps) = toolbox.declarations(&variables, NoFiles);
        if let Some(gap) = gaps.first() {
            return Err(input(format!("tool `{}`: {}", gap.tool, gap.message)));
        }
        let personality = toolbox.personality.unwrap_or_default();
        let personality = personality.expand(&variables).map_err(|error| input(error.to_string()))?;
        let (audit, maria) = (Arc::new(MemoryAudit::default()), Arc::new(tools::Maria::default()));
        let registry = Registry::builder()
            .personality(personality)
            .backends(
                Backends::none()
                    .files(HostFiles::new())
                    .network(ringfence::egress::Client::builder().build())
                    .secrets(Arc::new(tools::DemoSecrets)),
            )
            .audit(Arc::clone(&audit) as Arc<_>)
            .approver(Arc::clone(&maria) as Arc<_>)
            .build();
        for declaration in declarations {
            let tool = declared_tool(declaration).map_err(|error| input(error.to_string()))?;
            registry.register_shared(&tool).map_err(|error| input(error.to_string()))?;
        }
        let ledger = tools::Ledger::default();
        tools::register(&registry, &ledger).map_err(input)?;
        let run = Run::builder("demo", "demo").proposed_by("agent").in_directory(workspace).start();
        Ok(Self { registry, run, audit, maria, ledger })
    }

    async fn play(&self, step: &scene::Step) -> Report {
        if step.approved_by_a_person {
            self.maria.agree();
        }
        self.registry.call(&self.run, step.call.clone()).await
    }

    fn payments(&self) -> usize {
        self.ledger.count()
    }

    /// Returns the verdict, and what decided it.
    fn verdict(&self, report: &Report) -> (&'static str, String) {
        match &report.outcome {
            Outcome::Done(output) => ("allowed", first_words(output.text())),
            Outcome::Refused(refusal) => {
                ("refused", format!("{}{}", refusal.code, decided_by(&report.tool, refusal)))
            }
            Outcome::Failed(failure) if failure.code == ringfence::Code::ExecutionFailed => {
                ("failed", first_words(&failure.message))
            }
            // The tool's code ran, and a handle refused what it tried.
            Outcome::Failed(failure) => {
                let refusal = Refusal::new(failure.code, failure.message.clone());
                ("refused", format!("{}{}", failure.code, decided_by(&report.tool, &refusal)))
            }
        }
    }
}

/// Returns the line of policy that stands behind a refusal.
fn decided_by(tool: &str, refusal: &Refusal) -> String {
    use ringfence::Code;
    let Some(places) = Places::read(POLICY) else { return String::new() };
    let written =
        if refusal.message.contains("write not permitted") { "fs_reach.write" } else { "fs_reach.read" };
    let (whose, field) = match refusal.code {
        Code::ApprovalRequired => ("personality", "approvals.financial"),
        Code::ConstraintViolated => ("tool", "constraints"),
        Code::HostNotAllowed => ("personality", "network"),
        Code::InputInvalid => return " (the tool's input schema)".to_owned(),
        Code::NotAvailable => return " (no sandbox is wired, so no process starts)".to_owned(),
        Code::PathNotReachable => ("personality", written),
        Code::SecretNotDeclared => ("personality", "secrets"),
        _ => return String::new(),
    };
    let place = match whose {
        "tool" => places.tool(tool, field),
        _ => places.personality(field),
    };
    let line = place.map_or_else(String::new, |(line, _)| format!(" line {line}"));
    format!("{line} {field}")
}

fn first_words(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 44 { line.to_owned() } else { line.chars().take(43).chain(['…']).collect() }
}
