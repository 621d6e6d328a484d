//! `ringfence demo`

mod live;
mod scene;
mod stage;
mod tools;

use std::io::Write;
use std::path::{Path, PathBuf};

use ringfence::Refusal;
use ringfence::policy::Places;

use self::live::Live;
use self::scene::Scene;
use self::stage::Stage;
use crate::error::{CommandError, Exit};
use crate::interrupt::first_signal;
use crate::serving::DemoConsole;

/// The policy that is played, also an example to start from.
const POLICY: &str = include_str!("../../../../../examples/demo/ringfence.toml");

/// Play a small agent through allowed and hostile calls
///
/// Needs no services and no network: the calls run against a temporary workspace and a store of their own. Shows what was allowed,
/// what was refused, and which line of policy decided. On a terminal the console stays open over it until Ctrl-C.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Print the policy that is played
    #[arg(long)]
    policy_text: bool,
    /// Keep the console open until Ctrl-C, also where there is no terminal
    #[arg(long, conflicts_with = "leave")]
    stay: bool,
    /// End when all is played, also on a terminal
    #[arg(long)]
    leave: bool,
    /// Be the process that dies in the middle of a payment
    #[arg(long, hide = true, value_name = "DIR")]
    dying: Option<PathBuf>,
}

pub(crate) fn run(args: &DemoArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if args.policy_text {
        write!(out, "{POLICY}")?;
        return Ok(Exit::Done);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CommandError::Start)?;
    if let Some(root) = &args.dying {
        runtime.block_on(die(root))?;
        return Ok(Exit::Failed);
    }
    let scene = Scene::create(POLICY).map_err(CommandError::Start)?;
    let exit = runtime.block_on(play(args, &scene, out));
    runtime.shutdown_background();
    exit
}

async fn die(root: &Path) -> Result<(), CommandError> {
    let stage = Stage::new(&Scene::of(root.to_path_buf()), true).await?;
    stage.pay_and_die(scene::pay(18)).await;
    Ok(())
}

async fn play(args: &DemoArgs, scene: &Scene, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let live = Live::new();
    writeln!(out, "An agent works in a workspace under the policy of examples/demo/ringfence.toml.\n")?;
    live.head(out)?;
    let stage = Stage::new(scene, false).await?;
    let steps = scene::steps(&scene.workspace());
    let (mut refused, mut surprises) = (0, 0);
    for (number, step) in (1..).zip(&steps) {
        live.begin(out, number, steps.len(), step.what)?;
        // One of the tools panics on purpose; the table says so, and a backtrace would only bury it.
        std::panic::set_hook(Box::new(|_| {}));
        let played = stage.play(step, scene).await;
        drop(std::panic::take_hook());
        let played = played?;
        // A machine without a sandbox starts no program, and says so.
        let is_right = played.0 == step.expected || played.1.starts_with("NOT_AVAILABLE");
        surprises += usize::from(!is_right);
        refused += usize::from(played.0 == "refused");
        live.end(out, number, step.what, &played)?;
    }
    let payments = tools::Ledger::count(&scene.ledger());
    writeln!(
        out,
        "\n{} calls, {refused} refused, {payments} invoices paid, none of them twice. Every call is in the audit.",
        steps.len(),
    )?;
    if surprises > 0 || payments != 2 {
        writeln!(out, "{surprises} calls came out otherwise than they should: please report this.")?;
        return Ok(Exit::Failed);
    }
    let console = DemoConsole::start(&stage.store, &stage.place, &stage.live).await?;
    let own = own_name();
    let stays = args.stay || (live.is_watched && !args.leave);
    if stays {
        writeln!(out, "\nThe console, where people see this and decide: {}", console.link)?;
    } else {
        writeln!(out, "\nThe console is at {}; `{own} demo --stay` keeps it open.", console.url)?;
    }
    writeln!(out, "\nTo try next:")?;
    writeln!(out, "  {own} explain PATH_NOT_REACHABLE    what a refusal means, and what to do")?;
    writeln!(out, "  {own} run --read . -- ls -la        one command, with one folder and nothing else")?;
    writeln!(out, "  {own} init                          fence a tool of your own")?;
    if stays {
        writeln!(
            out,
            "\nThe files of this demo are in {}. Ctrl-C ends it and removes them.",
            scene.root().display()
        )?;
        out.flush()?;
        first_signal().await.map_err(CommandError::Start)?;
    }
    console.stop().await;
    Ok(Exit::Done)
}

/// Returns how this program is called here.
fn own_name() -> String {
    let own = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if own.components().count() > 1 { own.display().to_string() } else { "ringfence".to_owned() }
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
