//! Tools that run in images, through a container engine.

use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::ContainerEntry;
use ringfence::sandbox::Sandbox;
use ringfence::{Launcher, SandboxLauncher};
use ringfence_container::Engine;
use tokio::runtime::Handle;

use crate::error::CommandError;
use crate::sandbox::{hidden_paths, mark_folders, own_folders};

/// How long a command waits for what others left to be removed.
const SWEEPING: Duration = Duration::from_secs(5);

/// Returns what starts programs of images in the engine that the policy names; nothing outside of a runtime, where nothing is
/// called.
pub(crate) fn containers(entry: &ContainerEntry) -> Result<Option<Arc<dyn Launcher>>, CommandError> {
    let Ok(runtime) = Handle::try_current() else { return Ok(None) };
    let engine = engine(entry.engine.as_deref(), runtime.clone())?;
    let sweeping = engine.clone();
    // What gateways left that are dead. It can be done at the next start just as well.
    drop(runtime.spawn(async move { sweeping.sweep().await }));
    let sandbox =
        Sandbox::foreign(engine).mark_runs_in(mark_folders()).own_folders(own_folders()).hide(hidden_paths());
    Ok(Some(Arc::new(SandboxLauncher::new(sandbox))))
}

/// Returns a sandbox of this engine.
pub(crate) fn sandbox(address: Option<&str>, runtime: Handle) -> Result<Sandbox, CommandError> {
    Ok(Sandbox::foreign(engine(address, runtime)?)
        .mark_runs_in(mark_folders())
        .own_folders(own_folders())
        .hide(hidden_paths()))
}

/// Removes what dead gateways left in this engine, and waits for that: a command may be over before it was done beside it.
pub(crate) fn sweep(address: Option<&str>, runtime: &Handle) {
    if let Ok(engine) = engine(address, runtime.clone()) {
        // An engine that does not answer says so when it is asked to run the command.
        let _swept = runtime.block_on(async { tokio::time::timeout(SWEEPING, engine.sweep()).await });
    }
}

/// Asks the engine at an address what it is.
pub(crate) fn describe(address: &str) -> Result<String, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(CommandError::Start)?;
    let engine = engine(Some(address), runtime.handle().clone())?;
    let said = runtime.block_on(async { tokio::time::timeout(SWEEPING, engine.describe()).await });
    runtime.shutdown_background();
    match said {
        Ok(Ok(what)) => Ok(what),
        Ok(Err(error)) => Err(CommandError::Failed { message: error.to_string(), hint: error.hint() }),
        Err(_) => Err(CommandError::Failed {
            message: format!("the engine at `{address}` does not answer"),
            hint: Some("look whether it runs, or name another in `[container]`"),
        }),
    }
}

fn engine(address: Option<&str>, runtime: Handle) -> Result<Engine, CommandError> {
    let address = address.ok_or(CommandError::Input {
        message: "nobody says which container engine runs images".to_owned(),
        hint: Some(
            "write `[container]` with `engine = \"unix:///run/podman/podman.sock\"`, or use `--engine`",
        ),
    })?;
    Engine::connect(runtime, address)
        .map_err(|error| CommandError::Input { message: error.to_string(), hint: error.hint() })
}
