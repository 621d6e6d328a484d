//! What `wrap`, `serve` and `gateway` have in common: a house of servers and tools, and the edges that clients come in by.

mod complaint;
mod console;
mod dropped;
mod house;
mod labelled;
mod log;
mod open;
mod starter;
mod tried;
mod watch;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringfence_server::stdio;
use ringfence_server::{Agent, House, Room};
use tokio::runtime::Runtime;

use crate::error::{CommandError, Exit};
use crate::interrupt::first_signal;
use crate::load::Loaded;
use crate::store::StoreName;

pub(crate) use console::{ADDRESS, ConsoleArgs, DemoConsole, Wanted};
pub(crate) use house::server_spec;
pub(crate) use log::{log_to_error_stream, tell};
pub(crate) use open::{IDLE, Listening, Plan, Standing};
pub(crate) use watch::Watch;

use self::open::open;
pub(crate) use starter::Fenced;

/// The stack of a thread. Memory is taken only as far as it is used; a test holds the use to half of it.
const STACK: usize = 8 << 20;

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Says whether this process lets clients in, or has.
pub(crate) fn has_begun() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed)
}

/// Opens a house and lets clients in: those that connect, or the one that has started us.
pub(crate) fn serve(
    plan: Plan<'_>,
    loaded: Loaded,
    store: Option<&StoreName>,
    listening: Option<Listening>,
    console: Option<Wanted>,
) -> Result<Exit, CommandError> {
    serve_until_changed(plan, loaded, store, listening, console).map(|_| Exit::Done)
}

/// The same; returns where clients connected, when the policy was changed and is to be put in force.
pub(crate) fn serve_until_changed(
    plan: Plan<'_>,
    loaded: Loaded,
    store: Option<&StoreName>,
    listening: Option<Listening>,
    console: Option<Wanted>,
) -> Result<Option<Standing>, CommandError> {
    HAS_BEGUN.store(true, Ordering::Relaxed);
    raise_open_files();
    let runtime = if listening.is_some() { large_runtime()? } else { small_runtime()? };
    let served = runtime.block_on(async {
        let live = console.as_ref().map(Wanted::live).unwrap_or_default();
        let opened = open(plan, loaded, store, live).await?;
        match listening {
            Some(listening) => listening.run(&opened, console).await,
            None => {
                let console = match console {
                    Some(console) => console.start(&opened).await?,
                    None => None,
                };
                serve_stdio(&opened.house).await?;
                if let Some(console) = console {
                    console.stop().await;
                }
                Ok(None)
            }
        }
    });
    runtime.shutdown_background();
    served
}

/// Lets this process open as many files as the system allows it: connections of one call must not keep other calls from starting.
/// Commands have a limit of their own.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Makes the runtime of a command that serves one client: everything on one thread, which saves each message a way.
fn small_runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(2)
        .thread_stack_size(STACK)
        .build()
        .map_err(CommandError::Start)
}

/// Makes the runtime of a command that serves many clients.
fn large_runtime() -> Result<Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .max_blocking_threads(4)
        .thread_stack_size(STACK)
        .build()
        .map_err(CommandError::Start)
}

/// Serves the client that has started us until it closes its end or a signal comes.
async fn serve_stdio(house: &Arc<House>) -> Result<(), CommandError> {
    let input = std::io::stdin().as_fd().try_clone_to_owned().and_then(stdio::input);
    let output = crate::print::output_descriptor().and_then(stdio::output);
    let (input, output) = (input.map_err(CommandError::Start)?, output.map_err(CommandError::Start)?);
    // Whoever starts a client by hand sits before it.
    let agent = Agent { approves: true, ..Agent::default() };
    let room: Arc<dyn Room> = house.session(&agent);
    tokio::select! {
        served = stdio::serve(Arc::clone(&room), input, output) => served.map_err(CommandError::Output),
        _ = first_signal() => {
            room.close().await;
            Ok(())
        }
    }
}
