//! What is particular about paths: how they are spelled, what is never advised, and what an entry admits.

use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor, ListKind, PathPattern, Reach, Variables};
use ringfence_server::console::{PolicyQuestion, Surface};

use super::super::case::Policy;
use super::super::record::{Recorded, Touch};
use super::super::words;
use super::Cause;
use crate::desk::{Case, understood};

/// What the message of a refusal says before the path.
const BEFORE: &str = " not permitted for ";

/// Returns the path that was judged: where a link led, the message has it, and the list of what was touched has the link.
pub(super) fn asked(record: &Recorded, touch: &Touch) -> String {
    let said = record.result.error.split_once(BEFORE).map(|(_, path)| path);
    said.filter(|path| path.starts_with('/')).map_or_else(|| touch.what.clone(), str::to_owned)
}

/// Returns the cause where the spelling alone was refused.
pub(super) fn spelling(surface: Surface, what: &str, record: &Recorded) -> Option<Cause> {
    if !matches!(surface, Surface::Read | Surface::Write) {
        return None;
    }
    let said = record.result.error.split_once(BEFORE).map_or(what, |(_, path)| path);
    let why = record.hint.as_deref()?;
    if said.starts_with('/') && !why.contains("jail") {
        return None;
    }
    Some(Cause::instead(format!(
        "no line of the policy decided: {why}; call again with the path spelled out"
    )))
}

/// Returns why no change is advised.
pub(super) fn not_advised(policy: &Policy<'_>, case: &Case) -> Option<String> {
    let (path, direction) = wanted(case)?;
    let named = std::iter::empty::<&Path>();
    if let Some((entry, _)) = Floor::denies_unless_named(&path, direction, &named) {
        return Some(format!(
            "no change is advised: `{}` is of the floor ({}), which no tool reaches unless somebody names that very path. Give the tool a copy of what it needs in a folder it may reach",
            entry.pattern, entry.kind
        ));
    }
    let own = std::path::absolute(&policy.place.policy).ok()?;
    // Whoever may write the policy, or the folder that it lies in, decides over all of it.
    if direction == Direction::Write
        && (own.starts_with(&path) || own.parent() == path.parent() && is_own(&path))
    {
        return Some(
            "no change is advised: a tool that may write the policy, or what lies beside it, decides for itself. Change the file by hand"
                .to_owned(),
        );
    }
    None
}

/// Says whether a file beside the policy is one of ours.
fn is_own(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ringfence."))
}

/// Returns where links lead to from a path, and the question about that; nothing where they lead nowhere else.
pub(super) fn led(case: &Case) -> Option<(String, Case)> {
    let (path, direction) = wanted(case)?;
    let target = std::fs::canonicalize(&path).ok().filter(|target| *target != path)?;
    let text = target.to_str()?.to_owned();
    let surface = match direction {
        Direction::Read => Surface::Read,
        Direction::Write => Surface::Write,
    };
    let question = PolicyQuestion { tool: String::new(), surface, what: text.clone() };
    Some((text, understood(&question, case.variables.clone()).ok()?))
}

/// Returns the entry that would admit it, and what the entry admits.
pub(super) fn entry(case: &Case) -> Option<(String, Vec<String>)> {
    let (path, direction) = wanted(case)?;
    let text = path.to_str()?;
    // What a pattern would read as more than a path cannot be named by itself.
    if !text.parse::<PathPattern>().is_ok_and(|pattern| pattern.is_literal()) {
        return None;
    }
    let verb = match direction {
        Direction::Read => "reading",
        Direction::Write => "writing and removing",
    };
    Some((spelled(&path, &case.variables), vec![format!("{verb} {}", words::path(&path))]))
}

fn wanted(case: &Case) -> Option<(PathBuf, Direction)> {
    let (Reach::Read(path) | Reach::Write(path)) = &case.reach else { return None };
    let direction = if case.kind == ListKind::Write { Direction::Write } else { Direction::Read };
    Some((case.whole(path)?, direction))
}

/// Spells a path with the variable it is below, so that it is right on other machines too.
fn spelled(path: &Path, variables: &Variables) -> String {
    let below = variables.workspace.as_deref().filter(|own| own.components().count() > 1);
    let rest = below.and_then(|own| path.strip_prefix(own).ok());
    match rest.and_then(Path::to_str) {
        Some("") => "${workspace}".to_owned(),
        Some(rest) => format!("${{workspace}}/{rest}"),
        None => path.to_string_lossy().into_owned(),
    }
}
