//! Going on with calls whose process died while they waited for people.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::commands::call::durable;
use crate::error::{CommandError, Exit};
use crate::exposed::refuse_exposed;
use crate::load::Place;
use crate::notify::{notifier, telling};
use crate::shown::json_line;
use crate::store::{Opening, StoreName};

/// How long requests live where the personality does not say.
const EXPIRES: Duration = Duration::from_hours(1);

/// Goes on with every such call of the toolbox's personality, and waits for them to end.
pub(super) async fn resume(
    name: &StoreName,
    place: &Place,
    wait: Option<Duration>,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    let expires = loaded.personality.approvals.expires.map_or(EXPIRES, |expires| expires.duration());
    refuse_exposed(&loaded, name)?;
    let store = &name.open(Opening::Change).await?;
    let notifier = notifier(&loaded, Arc::clone(store) as _).await?;
    let registry = durable(loaded, place.held()?, store, wait.unwrap_or(expires))?;
    let reports = telling(&notifier, registry.resume()).await?;
    for report in &reports {
        let told = json!({"tool": &*report.tool, "outcome": report.outcome});
        writeln!(out, "{}", json_line(&told))?;
    }
    if reports.is_empty() {
        let _told = writeln!(std::io::stderr().lock(), "no call waits whose process died");
    }
    Ok(Exit::Done)
}
