//! What changed between two manifests, by coverage: whatever may reach more is told as widened, worst first.
//!
//! INVARIANT: no change is told between equal manifests; whatever is not provably the same or less is widened.

mod change;
mod code;
mod lint;
mod outside;
mod personality;
mod reach;
mod rule;
mod schema;
mod server;
mod tool;

use std::collections::{BTreeMap, BTreeSet};

use super::{Manifest, ToolRecord};
use crate::ToolName;
use crate::report::{Finding, Level};
use change::Changes;

pub use change::{Change, Drift, Subject};
pub use code::ChangeCode;

/// Compares two manifests; the worst changes are first.
///
/// # Examples
///
/// ```
/// use ringfence_policy::manifest::diff::diff;
/// # use std::collections::BTreeMap;
/// # use ringfence_policy::manifest::{Manifest, Sources};
/// # fn manifest(allow: &str) -> Manifest {
/// #     let personality = serde_json::from_str(&format!(r#"{{"network": {{"allow": ["{allow}"]}}}}"#)).unwrap();
/// #     Manifest::new(&Sources {
/// #         personality: &personality, tools: &[], servers: &[], binaries: &BTreeMap::new(),
/// #         definitions: &BTreeMap::new(), lint: &BTreeMap::new(),
/// #         defaults: Default::default(), outside: Default::default(),
/// #     }).unwrap()
/// # }
/// let (wide, narrow) = (manifest("*.github.com"), manifest("api.github.com"));
///
/// let changes = diff(&narrow, &wide);
/// assert_eq!(changes[0].code.as_str(), "personality.network.widened");
/// assert!(diff(&wide, &wide).is_empty());
/// ```
pub fn diff(old: &Manifest, new: &Manifest) -> Vec<Change> {
    let mut found = Vec::new();
    personality::compare(
        &mut Changes::of(Subject::Personality, &mut found),
        &old.personality,
        &new.personality,
    );
    let renamed = renamed(old, new);
    for (name, record) in permitted(new) {
        let mut changes = Changes::of(Subject::Tool(name.to_string()), &mut found);
        if let Some(before) = old.tools.get(name).filter(|before| before.permitted) {
            tool::compare(&mut changes, before, record);
        } else if let Some((former, before)) = renamed.get(name) {
            let message = format!("name: {}", change::arrow(former.as_str(), name.as_str()));
            changes.changed(ChangeCode::ToolRenamed, Level::Warning, message);
            tool::compare(&mut changes, before, record);
        } else {
            tool::added(&mut changes, record);
        }
    }
    let still: BTreeSet<&ToolName> =
        permitted(new).map(|(name, _)| name).chain(renamed.values().map(|(former, _)| *former)).collect();
    for (name, _) in permitted(old).filter(|(name, _)| !still.contains(name)) {
        tool::removed(&mut Changes::of(Subject::Tool(name.to_string()), &mut found));
    }
    for (name, record) in &new.servers {
        let mut changes = Changes::of(Subject::Server(name.to_string()), &mut found);
        match old.servers.get(name) {
            Some(before) => server::compare(&mut changes, before, record),
            None => server::added(&mut changes, record),
        }
    }
    for name in old.servers.keys().filter(|name| !new.servers.contains_key(*name)) {
        tool::removed(&mut Changes::of(Subject::Server(name.to_string()), &mut found));
    }
    outside::compare(&mut found, old, new);
    found.sort_by(|one, other| {
        let key = |change: &Change| (change.direction, change.level, change.code, change.subject.clone());
        key(one).cmp(&key(other))
    });
    found
}

/// Returns changes as findings.
pub fn to_report(changes: &[Change]) -> Vec<Finding> {
    changes.iter().map(Change::finding).collect()
}

/// Says whether anything is wider.
pub fn is_widened(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.direction == Drift::Widened)
}

/// The name of a tool or of a server, for whoever withholds what has widened.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ToolOrServerName {
    /// A server: all of its tools.
    Server(String),
    /// A tool of the toolbox.
    Tool(String),
}

impl Manifest {
    /// Returns what is wider of each tool and server.
    ///
    /// A ceiling that is wider gives a tool nothing by itself; what it gives shows in what the tool reaches.
    pub fn widened_tools(old: &Self, new: &Self) -> BTreeMap<ToolOrServerName, Vec<Change>> {
        let mut widened: BTreeMap<ToolOrServerName, Vec<Change>> = BTreeMap::new();
        for change in diff(old, new).into_iter().filter(|change| change.direction == Drift::Widened) {
            let name = match &change.subject {
                // Who connects and who is told gives no tool anything.
                Subject::Agent(_)
                | Subject::Console
                | Subject::Gateway
                | Subject::Manifest
                | Subject::Notify(_)
                | Subject::Personality => continue,
                // What is said of one tool of a server is about the server.
                Subject::Server(name) => {
                    let server = name.split(' ').next().unwrap_or_default();
                    ToolOrServerName::Server(server.to_owned())
                }
                Subject::Tool(name) => ToolOrServerName::Tool(name.clone()),
            };
            widened.entry(name).or_default().push(change);
        }
        widened
    }
}

fn permitted(manifest: &Manifest) -> impl Iterator<Item = (&ToolName, &ToolRecord)> {
    manifest.tools.iter().filter(|(_, tool)| tool.permitted)
}

/// Returns new tools that are old ones under another name: they run the same, take and return the same, and say the same.
fn renamed<'a>(
    old: &'a Manifest,
    new: &'a Manifest,
) -> BTreeMap<&'a ToolName, (&'a ToolName, &'a ToolRecord)> {
    let is_permitted =
        |manifest: &Manifest, name: &ToolName| manifest.tools.get(name).is_some_and(|tool| tool.permitted);
    let mut gone: Vec<(&ToolName, &ToolRecord)> =
        permitted(old).filter(|(name, _)| !is_permitted(new, name)).collect();
    let mut renamed = BTreeMap::new();
    for (name, record) in permitted(new).filter(|(name, _)| !is_permitted(old, name)) {
        let is_same = |(_, before): &(&ToolName, &ToolRecord)| {
            before.runtime == record.runtime
                && before.input_digest == record.input_digest
                && before.output_digest == record.output_digest
                && before.description == record.description
        };
        if let Some(at) = gone.iter().position(is_same) {
            renamed.insert(name, gone.swap_remove(at));
        }
    }
    renamed
}

#[cfg(test)]
mod tests;
