//! What calls reached and what they were refused: which tool touched which host, path, secret or program.
//!
//! INVARIANT: what was refused comes first, so that a list that is cut never leaves it out before anything else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a call touched, or was refused.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Touch {
    /// `binary`, `environment`, `host`, `read`, `secret`, `storage` or `write`.
    pub(crate) surface: String,
    /// Which.
    pub(crate) what: String,
    /// The code of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// A process could reach it; whether it did was not observed.
    pub(crate) granted: bool,
}

/// A connection of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Connected {
    /// The name or address that was asked for.
    pub(crate) host: String,
    /// The port; a name alone has none.
    pub(crate) port: Option<u16>,
    /// The address that was dialled.
    pub(crate) address: Option<String>,
    /// `dns`, `fetch` or `gate`: how it was asked for.
    pub(crate) via: String,
    /// How many bytes went out.
    pub(crate) sent: u64,
    /// How many bytes came back.
    pub(crate) received: u64,
    /// How long it lasted, in milliseconds.
    pub(crate) duration: f64,
    /// `cut`, `done`, `failed` or `refused`.
    pub(crate) verdict: String,
    /// The code of a refusal.
    pub(crate) code: Option<String>,
    /// Why it was cut, failed or refused, as one sentence.
    pub(crate) message: Option<String>,
}

impl Connected {
    /// Returns it as something that was touched.
    pub(crate) fn touch(&self) -> Touch {
        let refused = (self.verdict == "refused").then(|| self.code.clone().unwrap_or_default());
        Touch { surface: "host".to_owned(), what: self.host.clone(), refused, granted: false }
    }

    /// Returns the place that was asked for.
    pub(crate) fn place(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }
}

/// A process that a call started, as far as its record says.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Process {
    /// What confined it.
    pub(crate) backend: String,
    /// `full`, `strong`, `partial` or `unconfined`.
    pub(crate) tier: String,
    /// The program.
    pub(crate) program: String,
    /// SHA-256 of the program's file.
    pub(crate) digest: Option<String>,
    /// What it used.
    pub(crate) usage: ProcessUsage,
    /// What enforced each limit.
    pub(crate) limits: BTreeMap<String, String>,
    /// The limits that it ran into.
    pub(crate) exceeded: Vec<String>,
    /// The system calls that were refused, and how often.
    pub(crate) denied: BTreeMap<String, u64>,
}

/// What a process used.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ProcessUsage {
    /// Wall-clock time in milliseconds.
    pub(crate) wall: f64,
    /// Processor time in milliseconds.
    pub(crate) cpu: f64,
    /// The most memory, in bytes.
    pub(crate) peak_memory: u64,
}

impl Process {
    /// Returns the program as something that was touched.
    pub(crate) fn touch(&self) -> Touch {
        let program = self.program.rsplit('/').next().unwrap_or_default();
        Touch { surface: "binary".to_owned(), what: program.to_owned(), ..Touch::default() }
    }
}

/// A tool, and something that it touched or was refused.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Edge {
    /// Whether it was touched; what was refused comes first.
    pub(crate) reached: bool,
    /// A process could reach it; whether it did was not observed.
    pub(crate) granted: bool,
    /// The tool.
    pub(crate) tool: String,
    /// `binary`, `environment`, `host`, `read`, `secret`, `storage` or `write`.
    pub(crate) surface: String,
    /// Which.
    pub(crate) what: String,
    /// The code of the refusal.
    pub(crate) refused: Option<String>,
}

impl Edge {
    /// Returns the name of its style.
    pub(crate) const fn style(&self) -> &'static str {
        match (self.reached, self.granted) {
            (false, _) => "refused",
            (true, true) => "granted",
            (true, false) => "done",
        }
    }

    /// Says what became of it.
    pub(crate) fn word(&self) -> &str {
        match (self.reached, self.granted) {
            (false, _) => "refused",
            (true, true) => "could be reached; not observed",
            (true, false) => "reached",
        }
    }
}

/// Collects what tools touched, each thing once.
#[derive(Default)]
pub(crate) struct Reach(BTreeMap<(String, String, String, Option<String>), bool>);

impl Reach {
    /// Adds something that a tool touched.
    pub(crate) fn add(&mut self, tool: &str, touch: Touch) {
        let Touch { surface, what, refused, granted } = touch;
        let only_granted = self.0.entry((tool.to_owned(), surface, what, refused)).or_insert(granted);
        *only_granted &= granted;
    }

    /// Returns everything, what was refused first.
    pub(crate) fn edges(self) -> Vec<Edge> {
        let edge =
            |((tool, surface, what, refused), granted): ((String, String, String, Option<String>), bool)| {
                Edge { reached: refused.is_none(), granted, tool, surface, what, refused }
            };
        let mut edges: Vec<Edge> = self.0.into_iter().map(edge).collect();
        edges.sort();
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_comes_first_and_everything_once() {
        let mut reach = Reach::default();
        let touch = |surface: &str, what: &str, refused: Option<&str>, granted| Touch {
            surface: surface.to_owned(),
            what: what.to_owned(),
            refused: refused.map(str::to_owned),
            granted,
        };
        reach.add("a", touch("read", "/x", None, true));
        reach.add("a", touch("read", "/y", None, true));
        reach.add("a", touch("read", "/x", None, false));
        reach.add("b", touch("host", "evil.io", Some("HOST_NOT_ALLOWED"), false));
        reach.add("b", touch("host", "evil.io", Some("HOST_NOT_ALLOWED"), false));
        let shown: Vec<String> = reach
            .edges()
            .iter()
            .map(|edge| format!("{} {} {}", edge.tool, edge.what, edge.style()))
            .collect();
        assert_eq!(shown, ["b evil.io refused", "a /x done", "a /y granted"]);
    }
}
