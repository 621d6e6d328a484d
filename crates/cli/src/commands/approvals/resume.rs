//! Going on with calls whose process died while they waited for people.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use ringfence::Report;
use ringfence::policy::explain::explain_line;
use ringfence_store::{Filter, Stored};
use serde_json::{Value, json};

use crate::commands::call::{deciding_code, durable, entry_explained};
use crate::error::{CommandError, Exit};
use crate::exposed::{refuse_exposed, refuse_writable_policy};
use crate::load::Place;
use crate::notify::{notifier, telling};
use crate::shown::json_line;
use crate::store::{Opening, StoreArgs};

/// How long requests live where the personality does not say.
const EXPIRES: Duration = Duration::from_hours(1);

/// How many records are looked through for those of the calls: more than calls are gone on with at once.
const MOST_RECORDS: usize = 1_000;

/// Goes on with every such call of the toolbox's personality, and waits for them to end.
pub(super) async fn resume(
    named: &StoreArgs,
    place: &Place,
    wait: Option<Duration>,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    let expires = loaded.personality.approvals.expires.map_or(EXPIRES, |expires| expires.duration());
    let name = &named.name();
    refuse_writable_policy(&loaded, &place.policy)?;
    refuse_exposed(&loaded, name)?;
    let store = &name.open(Opening::Change).await?;
    let notifier = notifier(&loaded, Arc::clone(store) as _).await?;
    let held = place.held(&loaded)?;
    let registry = durable(loaded, held, store, wait.unwrap_or(expires))?;
    let from = store.size().await?;
    let reports = telling(&notifier, registry.resume()).await?;
    let calls = Filter { kind: Some("call".to_owned()), ..Filter::default() };
    let recorded = store.entries(&calls, from, MOST_RECORDS).await.unwrap_or_default();
    for report in &reports {
        let told = json!({"tool": &*report.tool, "outcome": report.outcome});
        writeln!(out, "{}", json_line(&told))?;
        if let Some(code) = deciding_code(&report.outcome) {
            out.flush()?;
            let line = match entry_of(report, &recorded) {
                Some(index) => entry_explained(index, named.flag(), place),
                None => explain_line(code.as_str()),
            };
            let _told = writeln!(crate::print::errors(), "  {line}");
        }
    }
    if reports.is_empty() {
        let _told = writeln!(crate::print::errors(), "no call waits whose process died");
    }
    Ok(Exit::Done)
}

/// Returns the entry of a call. Another process may number its calls the same way: nothing where it is not the only one.
fn entry_of(report: &Report, recorded: &[Stored]) -> Option<u64> {
    let is_its = |stored: &&Stored| {
        let record: Value = serde_json::from_str(&stored.record).unwrap_or_default();
        let is = |field: &str, value: &Value| record.get(field) == Some(value);
        is("call", &json!(report.call)) && is("tool", &json!(&*report.tool))
    };
    let mut found = recorded.iter().filter(is_its);
    found.next().filter(|_| found.next().is_none()).map(|stored| stored.index)
}
