//! What is known of what MCP servers sent: one definition for each key, the one that a person decides about.
//!
//! INVARIANT: of what was seen and what was pinned, what was seen counts: it is what the server says now.

use std::collections::BTreeSet;

use ringfence::{PinStatus, Pins};
use ringfence_server::console::Trust;
use serde_json::Value;

use crate::book::{Seen, SeenFile};

/// One definition of a server.
pub(super) struct Sent<'a> {
    pub(super) key: &'a str,
    pub(super) digest: &'a str,
    pub(super) definition: &'a Value,
    pub(super) status: PinStatus,
    /// What was written down of it, where it is withheld.
    pub(super) seen: Option<&'a Seen>,
}

/// Returns the definitions of a server as they are now, by key.
pub(super) fn current<'a>(pins: &'a Pins, file: &'a SeenFile, server: &str) -> Vec<Sent<'a>> {
    let accepted: Vec<_> = pins.server_definitions(server).collect();
    let rejected: Vec<_> = pins.rejected_definitions(server).collect();
    let seen: Vec<&Seen> = file.of(server).collect();
    let pinned = accepted.iter().chain(&rejected).map(|(key, ..)| *key);
    let keys: BTreeSet<&str> = pinned.chain(seen.iter().map(|one| one.key.as_str())).collect();
    let one = |key: &'a str| {
        let seen = seen.iter().copied().find(|one| one.key == key);
        let (digest, definition) = match seen {
            Some(seen) => (seen.digest.as_str(), &seen.definition),
            None => {
                let of_key = |(own, ..): &&(&str, &'a str, &'a Value)| *own == key;
                let last = accepted.iter().find(of_key).or_else(|| rejected.iter().rfind(of_key));
                last.map(|(_, digest, definition)| (*digest, *definition))?
            }
        };
        let status = pins.server_status(server, key, definition);
        Some(Sent { key, digest, definition, status, seen })
    };
    keys.into_iter().filter_map(one).collect()
}

/// Returns the name under which a gateway offers something of a server.
pub(super) fn offered(server: &str, name: &str) -> String {
    format!("{server}__{name}")
}

impl<'a> Sent<'a> {
    /// Returns the server's name for it, where it is a tool.
    pub(super) fn tool(&self) -> Option<&'a str> {
        self.key.strip_prefix("tool:")
    }

    /// Says where it stands by its pin alone.
    pub(super) fn trust(&self) -> Trust {
        match &self.status {
            PinStatus::Accepted => Trust::Accepted,
            PinStatus::Changed(_) => Trust::Changed,
            PinStatus::New if self.seen.is_some_and(|seen| seen.renamed_from.is_some()) => Trust::Renamed,
            PinStatus::New => Trust::New,
            PinStatus::Rejected => Trust::Rejected,
        }
    }

    /// Returns the key of the accepted definition that it is compared with.
    pub(super) fn former(&self) -> &'a str {
        self.seen.and_then(|seen| seen.renamed_from.as_deref()).unwrap_or(self.key)
    }
}
