//! What code was seen to do, compared: dependencies by name, whatever their versions.

use std::collections::{BTreeMap, BTreeSet};

use super::ChangeCode::{DepCapabilityGained, DepCapabilityLost, ToolEffectsChanged, ToolLintDropped};
use super::change::{Changes, quote, quoted};
use crate::manifest::LintRecord;
use crate::report::Level;

type Effects<'a> = BTreeSet<&'a str>;

/// Tells what the dependencies of a new tool do.
pub(super) fn added(changes: &mut Changes<'_>, new: Option<&LintRecord>) {
    if let Some(new) = new {
        dependencies(changes, &BTreeMap::new(), &by_name(new));
    }
}

/// Compares what was seen.
pub(super) fn compare(changes: &mut Changes<'_>, old: Option<&LintRecord>, new: Option<&LintRecord>) {
    match (old, new) {
        // There is nothing to compare with: what is seen now is what holds from now on.
        (None, None) => {}
        (None, Some(new)) => {
            let effects: Vec<&String> = new.effects.iter().collect();
            let seen = if effects.is_empty() { "nothing".to_owned() } else { quoted(&effects) };
            changes.changed(ToolEffectsChanged, Level::Note, format!("looked at for the first time: {seen}"));
        }
        (Some(_), None) => {
            changes.changed(
                ToolLintDropped,
                Level::Warning,
                "the manifest no longer says what its code does",
            );
        }
        (Some(old), Some(new)) => {
            let gained: Vec<&String> = new.effects.difference(&old.effects).collect();
            if !gained.is_empty() {
                let message = format!("its code now also does {}", quoted(&gained));
                changes.changed(ToolEffectsChanged, Level::Warning, message);
            }
            let lost: Vec<&String> = old.effects.difference(&new.effects).collect();
            if !lost.is_empty() {
                let message = format!("its code no longer does {}", quoted(&lost));
                changes.changed(ToolEffectsChanged, Level::Note, message);
            }
            dependencies(changes, &by_name(old), &by_name(new));
        }
    }
}

fn by_name(record: &LintRecord) -> BTreeMap<&str, Effects<'_>> {
    let mut names: BTreeMap<&str, Effects<'_>> = BTreeMap::new();
    for (package, effects) in &record.dependencies {
        let name = package.rsplit_once('@').map_or(package.as_str(), |(name, _)| name);
        names.entry(name).or_default().extend(effects.iter().map(String::as_str));
    }
    names
}

fn dependencies(
    changes: &mut Changes<'_>,
    old: &BTreeMap<&str, Effects<'_>>,
    new: &BTreeMap<&str, Effects<'_>>,
) {
    let nothing = Effects::new();
    for (name, effects) in new {
        let before = old.get(name);
        let gained: Vec<&&str> = effects.difference(before.unwrap_or(&nothing)).collect();
        if !gained.is_empty() {
            let how = if before.is_some() { "now also does" } else { "is new and does" };
            changes.widened(DepCapabilityGained, format!("{} {how} {}", quote(name), quoted(&gained)));
        }
    }
    for (name, effects) in old {
        let lost: Vec<&&str> = effects.difference(new.get(name).unwrap_or(&nothing)).collect();
        if !lost.is_empty() {
            changes.narrowed(DepCapabilityLost, format!("{} no longer does {}", quote(name), quoted(&lost)));
        }
    }
}
