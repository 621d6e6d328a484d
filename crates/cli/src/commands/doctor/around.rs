//! What is not the kernel's: the container engine of the toolbox, and the programs beside this one.

use ringfence::sandbox::doctor::{Finding, State};

use crate::beside;
use crate::deciding::read_deciding;
use crate::error::CommandError;
use crate::load::Place;
use crate::runtimes;
use crate::shown::one_line;

/// Looks at everything.
pub(super) fn examine(place: &Place) -> Vec<Finding> {
    let programs = [
        program(beside::COMPONENTS, "cargo install --path crates/components"),
        program(beside::LINT, "cargo install --path crates/lint"),
    ];
    let mut findings = vec![container(place), components(programs.first())];
    findings.extend(programs);
    findings
}

/// Asks the engine that the toolbox names.
fn container(place: &Place) -> Finding {
    let finding = |state, detail, fix: Option<&str>| Finding {
        subject: "container engine",
        state,
        detail,
        fix: fix.map(str::to_owned),
    };
    let write = Some(
        "write `[container]` with `engine = \"unix:///run/podman/podman.sock\"` where tools run in images",
    );
    let shown = one_line(&place.policy.display().to_string());
    if !place.is_named && !place.policy.exists() {
        return finding(State::Missing, format!("there is no `{shown}` here that names one"), write);
    }
    let failed = |error: &CommandError| finding(State::Missing, one_line(&error.to_string()), error.hint());
    // Not loaded: a toolbox with components would hand this process over to the program that runs them.
    let text = match read_deciding(&place.policy, Some("name the toolbox with --policy FILE")) {
        Ok(text) => text,
        Err(error) => return failed(&error),
    };
    let toolbox = match place.toolbox(&text) {
        Ok(toolbox) => toolbox,
        Err(error) => {
            let detail = format!("`{shown}` cannot be read: {}", one_line(&error.message));
            return finding(State::Missing, detail, Some("`ringfence check` shows the place"));
        }
    };
    let Some(address) = &toolbox.container.engine else {
        return finding(State::Missing, format!("`{shown}` names none"), write);
    };
    match runtimes::describe(address) {
        Ok(what) => {
            finding(State::Works, format!("{} answers: {}", one_line(address), one_line(&what)), None)
        }
        Err(error) => failed(&error),
    }
}

/// Says whether components can be run, and by which program.
fn components(beside: Option<&Finding>) -> Finding {
    let finding =
        |state, detail: &str| Finding { subject: "components", state, detail: detail.to_owned(), fix: None };
    if runtimes::has_engine() {
        return finding(State::Works, "this program brings an engine");
    }
    match beside.map(|beside| beside.state) {
        Some(State::Works) => finding(State::Works, "run by `ringfence-components` beside this program"),
        Some(State::Missing | State::Partly) | None => {
            finding(State::Missing, "this program brings no engine, and the one beside it cannot be used")
        }
    }
}

/// Looks for a program of ours beside this one, and asks which version it is.
fn program(name: &'static str, install: &str) -> Finding {
    let finding = |state, detail: String| Finding {
        subject: name,
        state,
        detail,
        fix: (state != State::Works).then(|| format!("install it beside this program: `{install}`")),
    };
    let path = match beside::path(name) {
        Ok(path) => path,
        Err(error) => return finding(State::Missing, error.to_string()),
    };
    let shown = one_line(&path.display().to_string());
    if !path.is_file() {
        return finding(State::Missing, format!("`{shown}` is not there"));
    }
    let own = env!("CARGO_PKG_VERSION");
    match beside::version(&path) {
        Ok(version) if version == own => finding(State::Works, format!("`{shown}` {version}")),
        Ok(version) => {
            let detail = format!("`{shown}` is version {}, and this is {own}", one_line(&version));
            finding(State::Partly, detail)
        }
        Err(error) => finding(State::Missing, format!("`{shown}` cannot be started: {error}")),
    }
}
