//! Definitions as they are listed: those that wait for a person first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::enter::encode;
use super::super::port::{Definition, DefinitionId, Judgement};

/// How many characters of a digest are shown; the whole one is a hover away.
const SHORT: usize = 12;
/// How many characters of a description stand in a line.
const LINE: usize = 120;

/// Which definitions are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct DefinitionQuery {
    /// The name, the key or the description holds this text, in whatever case.
    pub(crate) text: Option<String>,
    /// The MCP server; `-` is the policy file itself.
    pub(crate) server: Option<String>,
    /// Where it stands, such as `changed` or `accepted`.
    pub(crate) trust: Option<String>,
}

impl DefinitionQuery {
    /// Picks what is wanted, and puts first what waits for a person; then by server and name.
    pub(crate) fn pick(&self, mut all: Vec<Definition>) -> Vec<Definition> {
        // An empty field of a form is one that was left out.
        let given = |field: &'_ Option<String>| field.clone().filter(|text| !text.is_empty());
        let (server, trust) = (given(&self.server), given(&self.trust));
        let text = given(&self.text).map(|text| text.to_lowercase());
        all.retain(|one| {
            let holds = |text: &String| {
                [&one.name, &one.id.key, &one.description].iter().any(|own| own.to_lowercase().contains(text))
            };
            server.as_deref().is_none_or(|server| server == one.server())
                && trust.as_deref().is_none_or(|trust| trust == one.trust.as_str())
                && text.as_ref().is_none_or(holds)
        });
        all.sort_by(|one, other| {
            let place = |one: &Definition| (!one.trust.waits(), one.id.server.clone(), one.name.clone());
            place(one).cmp(&place(other)).then_with(|| one.id.key.cmp(&other.id.key))
        });
        all
    }
}

impl Definition {
    /// Returns the server; `-` where the policy file itself defines it.
    pub(crate) fn server(&self) -> &str {
        self.id.server.as_deref().unwrap_or("-")
    }

    /// Returns the start of the digest.
    pub(crate) fn short_digest(&self) -> String {
        self.digest.chars().take(SHORT).collect()
    }

    /// Returns the start of the description, where it does not fit into a line.
    pub(crate) fn line(&self) -> Option<String> {
        let first: String = self.description.lines().next().unwrap_or_default().chars().take(LINE).collect();
        (first != self.description).then(|| format!("{first}…"))
    }

    /// Returns where its page is.
    pub(crate) fn link(&self) -> String {
        self.id.link()
    }
}

impl DefinitionId {
    /// Returns where its page is.
    pub(crate) fn link(&self) -> String {
        let server = self.server.as_deref().map(|server| format!("server={}&", encode(server)));
        format!("/tools/definition?{}key={}", server.unwrap_or_default(), encode(&self.key))
    }

    /// Reads an id from a form, where an empty server is none.
    pub(crate) fn read(server: Option<String>, key: String) -> Self {
        Self { server: server.filter(|server| !server.is_empty()), key }
    }
}

/// What a person says of a definition that they have looked at.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct JudgementSent {
    /// The MCP server; absent or empty for a tool of the policy file itself.
    #[serde(default)]
    pub(crate) server: Option<String>,
    /// `tool:NAME`, `prompt:NAME` or `instructions`.
    pub(crate) key: String,
    /// SHA-256 of the definition that was looked at.
    pub(crate) digest: String,
    /// What is said of it.
    pub(crate) judgement: Judgement,
}

/// What was done.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Done {
    /// Always true: whatever is not done is a problem.
    pub(crate) done: bool,
}

impl Done {
    /// It was done.
    pub(crate) const YES: Self = Self { done: true };
}

#[cfg(test)]
mod tests {
    use super::super::super::port::Trust;
    use super::*;

    fn definition(server: &str, name: &str, trust: Trust) -> Definition {
        Definition {
            id: DefinitionId::read(Some(server.to_owned()), format!("tool:{name}")),
            name: name.to_owned(),
            description: format!("Does {name}\nand more"),
            trust,
            why: None,
            class: None,
            digest: "0123456789abcdef".to_owned(),
            accepted_digest: None,
            verdict: None,
            findings: Vec::new(),
            reach: Vec::new(),
        }
    }

    #[test]
    fn what_waits_comes_first_and_filters_pick() {
        let all = vec![
            definition("b", "send", Trust::Accepted),
            definition("a", "read", Trust::Accepted),
            definition("b", "move", Trust::Changed),
            definition("", "own", Trust::Unpinned),
            definition("a", "drop", Trust::Rejected),
        ];
        #[rustfmt::skip]
        let cases = [
            // text     server  trust        names
            ("",        "",     "",          "move own drop read send"),
            ("SEND",    "",     "",          "send"),
            ("",        "b",    "",          "move send"),
            ("",        "-",    "",          "own"),
            ("",        "a",    "rejected",  "drop"),
            ("",        "",     "widened",   ""),
            ("tool:re", "",     "",          "read"),
        ];
        for (text, server, trust, names) in cases {
            let query = DefinitionQuery {
                text: Some(text.to_owned()),
                server: Some(server.to_owned()),
                trust: Some(trust.to_owned()),
            };
            let picked: Vec<String> = query.pick(all.clone()).into_iter().map(|one| one.name).collect();
            assert_eq!(picked.join(" "), names, "{query:?}");
        }
    }

    #[test]
    fn links_are_written_so_that_any_name_comes_through() {
        let odd = definition("a&b", "x y#\"", Trust::New);
        assert_eq!(odd.link(), "/tools/definition?server=a%26b&key=tool%3Ax%20y%23%22");
        assert_eq!(definition("", "x", Trust::New).link(), "/tools/definition?key=tool%3Ax");
        assert_eq!(odd.line().as_deref(), Some("Does x y#\"…"));
        assert_eq!(odd.short_digest(), "0123456789ab");
    }
}
