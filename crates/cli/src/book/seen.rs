//! What servers sent and nobody has accepted.
//!
//! INVARIANT: nothing here lets a definition through. It is what a person is shown before they decide.

use std::collections::BTreeMap;

use ringfence::policy::{JsonLimits, parse_json};
use ringfence_server::Seen;
use serde::{Deserialize, Serialize};

/// What was seen of every server, and which of it somebody was shown.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenFile {
    version: Version,
    servers: BTreeMap<String, BTreeMap<String, Seen>>,
    /// The digest that was shown last, by server and key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    shown: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
enum Version {
    #[default]
    #[serde(rename = "1")]
    One,
}

impl SeenFile {
    /// Reads the file; a digest that is not that of its definition is an error.
    pub(crate) fn from_json(text: &str) -> Result<Self, String> {
        let value = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| error.to_string())?;
        let file: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        for (server, keys) in &file.servers {
            for (key, seen) in keys {
                let digest = ringfence::json_digest(&seen.definition).unwrap_or_default();
                if seen.digest != digest || seen.key != *key {
                    return Err(format!("`{key}` of server `{server}` was edited"));
                }
            }
        }
        Ok(file)
    }

    /// Writes the file.
    pub(crate) fn to_json(&self) -> String {
        // The types hold nothing that JSON cannot express.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Goes through the servers of which something was seen.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Goes through what was seen of a server.
    pub(crate) fn of<'a>(&'a self, server: &str) -> impl Iterator<Item = &'a Seen> {
        self.servers.get(server).into_iter().flat_map(BTreeMap::values)
    }

    /// Says whether a person was shown this definition.
    pub(crate) fn was_shown(&self, server: &str, seen: &Seen) -> bool {
        self.shown.get(server).and_then(|keys| keys.get(&seen.key)).is_some_and(|own| *own == seen.digest)
    }

    /// Notes that a person was shown this definition.
    pub(crate) fn show(&mut self, server: &str, seen: &Seen) {
        let keys = self.shown.entry(server.to_owned()).or_default();
        keys.insert(seen.key.clone(), seen.digest.clone());
    }

    /// Replaces what was seen of one kind of a server; returns whether anything is different now.
    pub(crate) fn replace_kind(&mut self, server: &str, kind: &str, seen: &[Seen]) -> bool {
        let is_kind = |key: &str| key == kind || key.split_once(':').is_some_and(|(own, _)| own == kind);
        let mut keys = self.servers.get(server).cloned().unwrap_or_default();
        keys.retain(|key, _| !is_kind(key));
        for one in seen {
            // The digest of the file is ours, whatever the caller says.
            let digest = ringfence::json_digest(&one.definition).unwrap_or_default();
            keys.insert(one.key.clone(), Seen { digest, ..one.clone() });
        }
        if self.servers.get(server).map_or(keys.is_empty(), |own| *own == keys) {
            return false;
        }
        self.put(server, keys);
        true
    }

    /// Forgets one key of a server.
    pub(crate) fn forget(&mut self, server: &str, key: &str) {
        let mut keys = self.servers.remove(server).unwrap_or_default();
        keys.remove(key);
        self.put(server, keys);
    }

    /// Forgets a server.
    pub(crate) fn forget_server(&mut self, server: &str) {
        self.put(server, BTreeMap::new());
    }

    fn put(&mut self, server: &str, keys: BTreeMap<String, Seen>) {
        if let Some(shown) = self.shown.get_mut(server) {
            shown.retain(|key, _| keys.contains_key(key));
        }
        self.shown.retain(|_, shown| !shown.is_empty());
        if keys.is_empty() {
            self.servers.remove(server);
        } else {
            self.servers.insert(server.to_owned(), keys);
        }
    }
}
