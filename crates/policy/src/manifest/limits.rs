//! The limits of a call, and who set each.
//!
//! INVARIANT: the limits hold exactly what is listed with where it is from; what is absent is not limited.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sourced::Provenance;
use crate::Limits;

/// The limits that hold for processes where nothing is written. What starts no process has none of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultLimits {
    /// Those of a command, which ends with its call.
    pub command: Limits,
    /// Those of a server, which goes on.
    pub server: Limits,
}

/// Limits with who set them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "BTreeMap<String, Written>", into = "BTreeMap<String, Written>")]
pub struct SourcedLimits {
    limits: Limits,
    written: BTreeMap<String, Written>,
}

/// One limit in a manifest.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    from: Provenance,
    value: Value,
}

impl SourcedLimits {
    /// Joins what a tool asks for with what the personality leaves, and puts the default where neither says anything.
    pub(super) fn new(tool: &Limits, personality: &Limits, default: &Limits) -> Result<Self, String> {
        let limits = fields(&tool.meet(personality));
        let (tool, personality) = (fields(tool), fields(personality));
        let default = fields(default).into_iter().filter(|(name, _)| !limits.contains_key(name));
        let default: Vec<_> =
            default.map(|(name, value)| (name, Written { from: Provenance::Default, value })).collect();
        let written = limits.into_iter().map(|(name, value)| {
            let holds = |side: &Map<String, Value>| side.get(&name) == Some(&value);
            let from = Provenance::of(holds(&tool), holds(&personality));
            (name, Written { from, value })
        });
        Self::try_from(written.chain(default).collect::<BTreeMap<_, _>>())
    }

    /// Returns the limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Says whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Returns the limits by name, with who set them.
    pub fn entries(&self) -> impl Iterator<Item = (&str, String, Provenance)> {
        self.written.iter().map(|(name, one)| (name.as_str(), shown(&one.value), one.from))
    }
}

/// Returns limits by their names.
pub(super) fn fields(limits: &Limits) -> Map<String, Value> {
    match serde_json::to_value(limits) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Returns the value of a limit for people.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl TryFrom<BTreeMap<String, Written>> for SourcedLimits {
    type Error = String;

    fn try_from(written: BTreeMap<String, Written>) -> Result<Self, String> {
        let plain: Map<String, Value> =
            written.iter().map(|(name, one)| (name.clone(), one.value.clone())).collect();
        let limits: Limits =
            serde_json::from_value(plain.clone().into()).map_err(|error| error.to_string())?;
        // Another spelling of a name or a value would be the same limit with another hash.
        if fields(&limits).len() != plain.len() || plain != fields(&limits) {
            return Err("a limit is not in its one spelling".to_owned());
        }
        Ok(Self { limits, written })
    }
}

impl From<SourcedLimits> for BTreeMap<String, Written> {
    fn from(sourced: SourcedLimits) -> Self {
        sourced.written
    }
}
