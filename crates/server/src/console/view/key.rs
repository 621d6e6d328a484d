//! Idempotency keys as they are listed, and what a person says of a call in doubt.

use ringfence::{KeyEntry, KeyFilter, KeyState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::enter::encode;
use super::super::fault::Fault;
use super::super::front::Front;
use super::json;

/// How many keys are listed.
const MAX_KEYS: usize = 200;

/// A key that was used.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Key {
    /// The personality and the tool that it is for.
    pub(crate) scope: String,
    /// The key.
    pub(crate) key: String,
    /// `committed`, `executing`, `failed` or `unknown`.
    pub(crate) state: String,
    /// The fence of its last call.
    pub(crate) fence: u64,
    /// The run of its last call.
    pub(crate) run: String,
    /// When it was last claimed, in milliseconds since 1970.
    pub(crate) claimed_ms: u64,
    /// SHA-256 over the arguments.
    pub(crate) digest: String,
    /// The arguments as JSON text.
    pub(crate) arguments: String,
}

impl From<KeyEntry> for Key {
    fn from(entry: KeyEntry) -> Self {
        Self {
            scope: entry.name.scope,
            key: entry.name.key,
            state: entry.state.as_str().to_owned(),
            fence: entry.fence.0,
            run: entry.run,
            claimed_ms: u64::try_from(entry.claimed.as_millis()).unwrap_or(u64::MAX),
            digest: entry.digest,
            arguments: entry.arguments,
        }
    }
}

/// Idempotency keys.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct KeyList {
    /// The keys, newest first; at most 200.
    pub(crate) keys: Vec<Key>,
    /// Whether there are older keys that are not listed.
    pub(crate) more: bool,
}

impl KeyList {
    /// Reads the keys that fit.
    pub(crate) async fn read(front: &Front, mut filter: KeyFilter) -> Result<Self, Fault> {
        // One more than is listed says whether the list is cut.
        filter.most = MAX_KEYS + 1;
        let found = front.store.keys.keys(&filter).await?;
        let more = found.len() > MAX_KEYS;
        Ok(Self { keys: found.into_iter().take(MAX_KEYS).map(Key::from).collect(), more })
    }
}

impl Key {
    /// Returns the arguments over several lines, with everything visible.
    pub(crate) fn shown(&self) -> String {
        json::pretty(&json::read(&self.arguments))
    }

    /// Returns where the entries of its run are.
    pub(crate) fn run_link(&self) -> String {
        format!("/activity?run={}", encode(&self.run))
    }
}

/// Which keys are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct KeyQuery {
    /// `committed`, `executing`, `failed` or `unknown`.
    pub(crate) state: Option<String>,
    /// The key, exactly.
    pub(crate) key: Option<String>,
}

impl KeyQuery {
    /// Returns the filter.
    pub(crate) fn filter(&self) -> Result<KeyFilter, Fault> {
        // An empty field of a form is one that was left out.
        let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let state = match given(&self.state) {
            Some(text) => Some(state(&text)?),
            None => None,
        };
        Ok(KeyFilter { state, key: given(&self.key), most: MAX_KEYS })
    }
}

fn state(text: &str) -> Result<KeyState, Fault> {
    KeyState::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
        Fault::input("there is no such state").hint("it is `committed`, `executing`, `failed` or `unknown`")
    })
}

/// What became of a call in doubt.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Found {
    /// It took effect: a call that comes again is answered with the output.
    Done,
    /// It had no effect: a call that comes again runs.
    NotDone,
}

/// What a person found out about a call in doubt.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct SettlementSent {
    /// The personality and the tool, as listed.
    pub(crate) scope: String,
    /// The key.
    pub(crate) key: String,
    /// The fence that was listed, so that what was looked at is what is settled.
    pub(crate) fence: u64,
    /// What became of the call.
    pub(crate) found: Found,
    /// What it returned, as JSON text; needed where it was done.
    #[serde(default)]
    pub(crate) output: String,
    /// How that is known.
    pub(crate) reason: String,
    /// For how many days a call that comes again is answered with the output; one at least.
    #[serde(default = "days")]
    pub(crate) keep_days: u64,
}

/// As the command does.
const fn days() -> u64 {
    30
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_one_that_there_is() {
        #[rustfmt::skip]
        let cases = [
            ("",          Some(None)),
            ("unknown",   Some(Some(KeyState::Unknown))),
            ("committed", Some(Some(KeyState::Committed))),
            ("Unknown",   None),
            ("lost",      None),
        ];
        for (text, expected) in cases {
            let query = KeyQuery { state: Some(text.to_owned()), key: Some(String::new()) };
            let filter = query.filter().ok();
            assert_eq!(filter.as_ref().map(|filter| filter.state), expected, "{text:?}");
            assert!(filter.is_none_or(|filter| filter.key.is_none()));
        }
    }

    #[test]
    fn a_form_says_what_became_of_a_call() {
        let sent: SettlementSent =
            serde_urlencoded::from_str("_form=x&scope=s&key=k&fence=7&found=not-done&output=&reason=looked")
                .unwrap();
        assert_eq!((sent.found, sent.fence, sent.keep_days), (Found::NotDone, 7, 30));
        for wrong in
            ["scope=s&key=k&fence=7&found=maybe&reason=r", "scope=s&key=k&fence=-1&found=done&reason=r"]
        {
            assert!(serde_urlencoded::from_str::<SettlementSent>(wrong).is_err(), "{wrong}");
        }
    }
}
