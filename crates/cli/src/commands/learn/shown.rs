//! Observations, for people and for programs.

use std::path::Path;

use ringfence::sandbox::{How, Kind};
use serde_json::{Value, json};

use super::reached::Sought;
use super::sorted::{Fate, Observation};
use crate::shown::{cell, one_line};
use crate::table::table;

/// More rows than this are only counted.
const MOST_ROWS: usize = 40;

/// Says in one word what was done.
fn word(one: &Observation) -> &'static str {
    match one.touch.how {
        How::Change => "changed",
        How::Execute => "started",
        How::Look => "looked at",
        How::Make => "made",
        How::Read if one.touch.there == Some(Kind::Directory) => "listed",
        How::Read => "read",
        How::Remove => "removed",
    }
}

fn becomes(fate: &Fate) -> &'static str {
    match fate {
        Fate::Absent => "absent",
        Fate::Anyway => "anyway",
        Fate::Aside => "aside",
        Fate::Needed => "needed",
        Fate::Review(_) => "review",
    }
}

/// Everything, for programs.
pub(super) fn json(observations: &[Observation], sought: &[Sought]) -> Value {
    let paths = observations.iter().map(|one| {
        let mut value = json!({
            "path": one.touch.path.to_string_lossy(),
            "how": word(one),
            "times": one.touch.times,
            "given": one.given,
            "becomes": becomes(&one.fate),
        });
        if let (Fate::Review(why), Some(value)) = (&one.fate, value.as_object_mut()) {
            value.insert("why".into(), json!(why));
        }
        value
    });
    json!({ "paths": paths.collect::<Vec<_>>(), "hosts": sought })
}

/// What is needed or to be looked at, for people.
pub(super) fn lines(observations: &[Observation], sought: &[Sought], home: Option<&Path>) -> String {
    let mut rows: Vec<[String; 4]> = Vec::new();
    let short = |path: &Path| match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    };
    let review = |one: &&Observation| matches!(one.fate, Fate::Review(_));
    let needed = |one: &&Observation| one.fate == Fate::Needed;
    for one in observations.iter().filter(review).chain(observations.iter().filter(needed)) {
        let note = match &one.fate {
            Fate::Review(why) if one.given => format!("review: {why}"),
            Fate::Review(why) => format!("review, not given: {why}"),
            _ => String::new(),
        };
        rows.push([
            word(one).to_owned(),
            one.touch.times.to_string(),
            cell(&short(&one.touch.path)),
            one_line(&note),
        ]);
    }
    for one in sought {
        let port = one.port.map(|port| format!(":{port}")).unwrap_or_default();
        let note = if one.given { "" } else { "review, not given" };
        let verb = if one.given { "reached" } else { "asked for" };
        let host = cell(&format!("{}{port}", one.host));
        rows.insert(0, [verb.to_owned(), one.times.to_string(), host, note.to_owned()]);
    }
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let mut text =
        if rows.is_empty() { String::new() } else { table(["DID", "TIMES", "WHAT", "NOTE"], &rows) };
    if more > 0 {
        text.push_str(&format!("… and {more} more; `--json` lists everything\n"));
    }
    text
}
