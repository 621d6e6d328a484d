//! `ringfence demo`

mod live;
mod scene;
mod stage;
mod told;
mod tools;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use self::live::Live;
use self::scene::{Scene, Step};
use self::stage::{Played, Stage};
use self::told::{Told, Totals};
use crate::error::{CommandError, Exit};
use crate::interrupt::first_signal;
use crate::load::Place;
use crate::serving::{ADDRESS, DemoConsole};
use crate::shown::json_line;

/// The policy that is played. `examples/demo` has the same, to start from; a package cannot reach out of its folder.
const POLICY: &str = include_str!("ringfence.toml");

/// Play a small agent through allowed and hostile calls
///
/// Needs no services and no network: the calls run against a temporary workspace and a store of their own. Shows what was allowed,
/// what was refused, and which line of policy decided. On a terminal the console stays open over it until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence demo
  ringfence demo --json | jq '.steps[] | select(.outcome == \"refused\")'
  ringfence demo --policy-text > ringfence.toml")]
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
    /// Print what was played as one JSON object, and end
    #[arg(long, conflicts_with_all = ["policy_text", "stay"])]
    json: bool,
    /// Be the process that dies in the middle of a payment
    #[arg(long, hide = true, value_name = "DIR")]
    dying: Option<PathBuf>,
}

pub(crate) fn run(args: &DemoArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if place.is_named || place.workspace.is_some() {
        return Err(CommandError::Input {
            message: "the demo has a policy and a workspace of its own, and takes no other".to_owned(),
            hint: Some(
                "leave --policy and --workspace out; `ringfence demo --policy-text` prints a policy to start from",
            ),
        });
    }
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
    let scene = Scene::create(POLICY).map_err(|error| CommandError::File {
        verb: "make a folder for the demo in",
        path: std::env::temp_dir(),
        error,
        hint: Some("set TMPDIR to a folder that you may write to"),
    })?;
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
    let stage = Stage::new(scene, false).await?;
    let steps = scene::steps(&scene.workspace());
    if args.json {
        let played = all(&stage, scene, &steps, &Live::unwatched(), &mut std::io::sink()).await?;
        let told = Told::of(&steps, &played, scene);
        writeln!(out, "{}", json_line(&json!(told)))?;
        return Ok(told.exit());
    }
    let live = Live::new();
    writeln!(out, "An agent works in a workspace under the policy of examples/demo/ringfence.toml.\n")?;
    live.head(out)?;
    let played = all(&stage, scene, &steps, &live, out).await?;
    let told = Told::of(&steps, &played, scene);
    let Totals { calls, refused, paid, surprises, .. } = told.totals;
    writeln!(
        out,
        "\n{calls} calls, {refused} refused, {paid} invoices paid, none of them twice. Every call is in the audit.",
    )?;
    if told.exit() == Exit::Failed {
        writeln!(out, "{surprises} calls came out otherwise than they should: please report this.")?;
        return Ok(Exit::Failed);
    }
    let own = own_name();
    let stays = args.stay || (live.is_watched && !args.leave);
    let console = if stays {
        let console = DemoConsole::start(&stage.store, &stage.place, &stage.live).await?;
        writeln!(out, "\nThe console, where people see this and decide: {}", console.link)?;
        writeln!(out, "The link lets you in once; from then on the console is at {}", console.url)?;
        Some(console)
    } else {
        let line = format!("`{own} demo --stay` opens the console, where people see this and decide");
        writeln!(out, "\n{line}: http://{ADDRESS}/")?;
        None
    };
    writeln!(out, "\nTo try next:")?;
    writeln!(out, "  {own} explain PATH_NOT_REACHABLE    what a refusal means, and what to do")?;
    writeln!(out, "  {own} run --read . -- ls -la        one command, with one folder and nothing else")?;
    writeln!(out, "  {own} init                          fence a tool of your own")?;
    if let Some(console) = console {
        writeln!(
            out,
            "\nThe files of this demo are in {}. Ctrl-C ends it and removes them.",
            scene.root().display()
        )?;
        out.flush()?;
        first_signal().await.map_err(CommandError::Start)?;
        console.stop().await;
    }
    Ok(Exit::Done)
}

/// Plays all steps, and shows each as it comes out.
async fn all(
    stage: &Stage,
    scene: &Scene,
    steps: &[Step],
    live: &Live,
    out: &mut dyn Write,
) -> Result<Vec<Played>, CommandError> {
    let mut all = Vec::new();
    for (number, step) in (1..).zip(steps) {
        live.begin(out, number, steps.len(), step.what)?;
        // One of the tools panics on purpose; the table says so, and a backtrace would only bury it.
        std::panic::set_hook(Box::new(|_| {}));
        let played = stage.play(step, scene).await;
        drop(std::panic::take_hook());
        let played = played?;
        live.end(out, number, step.what, &played)?;
        all.push(played);
    }
    Ok(all)
}

/// Returns how this program is called here.
fn own_name() -> String {
    let own = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if own.components().count() > 1 { own.display().to_string() } else { "ringfence".to_owned() }
}

fn first_words(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 44 { line.to_owned() } else { line.chars().take(43).chain(['…']).collect() }
}
