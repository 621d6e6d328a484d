//! Choosing what confines commands on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use ringfence::policy::{STORE_SUFFIXES, StoreFile};
use ringfence::sandbox::{Choice, HiddenPaths, Native, Sandbox, SandboxError, Selector, inner};

/// What confines a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum BackendChoice {
    /// The strongest that works here: native, else bwrap, else firejail with a warning
    Auto,
    /// bubblewrap with our inner stage
    Bwrap,
    /// firejail with our inner stage: names of files outside can be seen
    Firejail,
    /// Our own launcher
    Native,
}

/// Returns a sandbox that was seen to refuse what is forbidden. `policy` is what a new try depends on.
pub(crate) fn choose(choice: BackendChoice, policy: &str) -> Result<Sandbox, SandboxError> {
    let sandbox = selector().policy(policy).select(match choice {
        BackendChoice::Auto => Choice::Auto,
        BackendChoice::Bwrap => Choice::Bwrap,
        BackendChoice::Firejail => Choice::Firejail,
        BackendChoice::Native => Choice::Native,
    })?;
    if let Some(why) = sandbox.fallback() {
        tell_fallback(&sandbox, why);
    }
    let sandbox = sandbox.hide(hidden_paths());
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    Ok(match home.and_then(|home| home.canonicalize().ok()) {
        Some(home) => sandbox.home(home),
        None => sandbox,
    })
}

/// Says once that commands are confined less than they could be.
fn tell_fallback(sandbox: &Sandbox, why: &str) {
    static TOLD: std::sync::Once = std::sync::Once::new();
    let (name, tier) = (sandbox.backend().name(), sandbox.backend().tier());
    TOLD.call_once(|| {
        let _told = writeln!(
            crate::print::errors(),
            "warning: using {name}, tier `{tier}`: names of files outside can be seen\n  reason: {why}"
        );
    });
}

/// Chooses with this program as the inner stage, and a private folder of this user for what was tried.
pub(crate) fn selector() -> Selector {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    Selector::new(std::env::current_exe().unwrap_or_default(), private_folder())
        .home(home)
        .mark_runs_in(mark_folders())
        .own_folders(own_folders())
}

/// Returns the files of this process that no command of it sees: the store, and the lock of the pins. A command that could read them
/// could lock them, and keep us from recording what others did. Whoever opens such a file adds it.
pub(crate) fn hidden_paths() -> HiddenPaths {
    static HIDDEN: LazyLock<HiddenPaths> = LazyLock::new(|| {
        let hidden = HiddenPaths::default();
        // Another process may have it open.
        let store = std::env::var_os(crate::store::VARIABLE).map(PathBuf::from);
        if let Some(store) = store.filter(|path| path.is_absolute()) {
            hide_store(&hidden, &store);
        }
        hidden
    });
    HIDDEN.clone()
}

/// Hides the files of a store from commands. Those that are not there and that SQLite would take for a part of it are made first.
pub(crate) fn hide_store(hidden: &HiddenPaths, store: &Path) {
    // A store of somebody else, or none, is left alone, and refused when it is opened.
    let _made = ringfence_store::make_companions(store);
    let beside = |suffix: &str| {
        let mut name = store.as_os_str().to_owned();
        name.push(suffix);
        std::path::absolute(&name).unwrap_or_else(|_| PathBuf::from(name))
    };
    for path in STORE_SUFFIXES.map(beside) {
        match StoreFile::named(&path) {
            // Another program may remove them and make them again.
            Some(StoreFile { may_change: true, .. }) => hidden.add_changing(path),
            _ => hidden.add(path),
        }
    }
}

/// Where runs are marked until it was looked at what they left: where state is kept, and in a private folder where that cannot be.
pub(crate) fn mark_folders() -> Vec<PathBuf> {
    own_folders().into_iter().map(|folder| folder.join("runs")).collect()
}

/// Where this user's ringfence keeps state, and what can be lost.
pub(crate) fn own_folders() -> Vec<PathBuf> {
    crate::book::state_folder().ok().into_iter().chain([private_folder()]).collect()
}

/// Where this user keeps what can be lost.
pub(crate) fn private_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name);
    ringfence::sandbox::private_folder(variable("XDG_CACHE_HOME"), variable("HOME"), &std::env::temp_dir())
}

/// Begins to make a sandbox's namespaces when the command line looks like `run`, while it is being read.
///
/// Only for speed: whatever goes wrong here is found and reported when the sandbox is asked for. What is made in vain
/// ends with this process.
pub(crate) fn begin_early() {
    let is_run = std::env::args_os().skip(1).find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    if is_run.is_some_and(|word| word == "run") {
        let _begun = std::thread::Builder::new().spawn(Native::begin);
    }
}

/// Becomes the command, when this program was started as an inner stage. Returns the exit code only when that failed.
pub(crate) fn inner_stage() -> Option<ExitCode> {
    let said = inner::stage(std::env::args_os().skip(1))?;
    let _told = writeln!(crate::print::errors(), "{said}");
    Some(ExitCode::from(inner::FAILED))
}
