//! Where something stands in a toolbox file, for messages that point at a line.

mod json;
mod list;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::json::line_and_column;

pub use json::JsonAsToml;
pub use list::{ListKind, ListOwner, WrittenList};

/// The places of a TOML text.
pub struct Places<'a> {
    text: &'a str,
    document: Spanned<DeTable<'a>>,
    /// The key that everything stands under, where it is not the whole document.
    under: Option<&'static str>,
    /// How many bytes of the document stand before the text.
    before: usize,
}

impl<'a> Places<'a> {
    /// Reads a text; `None` when it is not TOML.
    pub fn read(text: &'a str) -> Option<Self> {
        Some(Self { text, document: DeTable::parse(text).ok()?, under: None, before: 0 })
    }

    /// Returns the line and column of a field of a tool, such as `command` or `fs_reach.read`.
    ///
    /// Where only a part of the way is written out, that part is the answer.
    pub fn tool(&self, name: &str, field: &str) -> Option<(usize, usize)> {
        let entry = self.entry(["tool", "tools"], name, field)?;
        let surface = field.split('.').next().unwrap_or_default();
        let start = match entry.get_ref().get("capabilities") {
            Some(capabilities) if capabilities.get_ref().get(surface).is_some() => capabilities,
            _ => entry,
        };
        Some(self.along(start, field))
    }

    /// Returns the line and column of a field of a server, such as `command` or `tool.transfer.class`.
    pub fn server(&self, name: &str, field: &str) -> Option<(usize, usize)> {
        Some(self.along(self.entry(["server", "servers"], name, field)?, field))
    }

    /// Returns the line and column of a field of an agent.
    pub fn agent(&self, name: &str, field: &str) -> Option<(usize, usize)> {
        Some(self.along(self.entry(["agent", "agents"], name, field)?, field))
    }

    /// Returns the line and column of a field of the gateway.
    pub fn gateway(&self, field: &str) -> Option<(usize, usize)> {
        Some(self.along(self.root("gateway")?, field))
    }

    /// Returns the line and column of a field of the console.
    pub fn console(&self, field: &str) -> Option<(usize, usize)> {
        Some(self.along(self.root("console")?, field))
    }

    /// Returns the line and column of the first entry of `notify`.
    pub fn notify(&self) -> Option<(usize, usize)> {
        let first = self.root("notify")?.get_ref().as_array()?.first()?;
        Some(self.at(first))
    }

    fn entry(&self, lists: [&str; 2], name: &str, field: &str) -> Option<&Spanned<DeValue<'a>>> {
        let entries = lists.iter().find_map(|list| self.root(list))?.get_ref().as_array()?;
        let named = |entry: &&Spanned<DeValue<'_>>| {
            entry.get_ref().get("name").and_then(|own| own.get_ref().as_str()).is_some_and(|own| own == name)
        };
        // A name that appears twice is a fault of the later entry.
        if field == "name" { entries.iter().rfind(named) } else { entries.iter().find(named) }
    }

    /// Returns the line and column of a field of the personality, such as `fs_reach.read`.
    pub fn personality(&self, field: &str) -> Option<(usize, usize)> {
        Some(self.along(self.root("personality")?, field))
    }

    fn along(&self, start: &Spanned<DeValue<'_>>, field: &str) -> (usize, usize) {
        let mut found = start;
        for part in field.split('.') {
            match found.get_ref().get(part) {
                Some(deeper) => found = deeper,
                None => break,
            }
        }
        self.at(found)
    }

    fn root(&self, key: &str) -> Option<&Spanned<DeValue<'a>>> {
        match self.under {
            Some(under) => self.document.get_ref().get(under)?.get_ref().get(key),
            None => self.document.get_ref().get(key),
        }
    }

    fn at(&self, value: &Spanned<DeValue<'_>>) -> (usize, usize) {
        line_and_column(self.text, value.span().start.saturating_sub(self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[personality]
fs_reach = { read = ["/srv"] }

[[tool]]
name = "grep"
command = ["rg"]
capabilities = { process = { allow = ["rg"] } }

[gateway]
listen = "127.0.0.1:1"

[[server]]
name = "git"
secrets = { A = "b" }
capabilities = { secrets = ["b"] }
[server.tool.push]
class = "write"

[[agent]]
name = "a"
tools = ["x"]

[console]
tls = { certificate = "/c", key = "/k" }
"#;

    #[test]
    fn finds_the_most_specific_part_that_is_written() {
        let places = Places::read(TEXT).unwrap();
        #[rustfmt::skip]
        let cases = [
            (places.tool("grep", "command"),          Some((7, 11))),
            (places.tool("grep", "process"),          Some((8, 28))),
            (places.tool("grep", "class"),            Some((5, 1))),
            (places.tool("nobody", "class"),          None),
            (places.personality("fs_reach.read"),     Some((3, 21))),
            (places.personality("fs_reach.write"),    Some((3, 12))),
            (places.personality("network"),           Some((2, 1))),
            (places.gateway("listen"),                Some((11, 10))),
            (places.server("git", "secrets"),         Some((15, 11))),
            (places.server("git", "capabilities.secrets"), Some((16, 28))),
            (places.server("git", "tool.push.class"), Some((18, 9))),
            (places.server("git", "command"),         Some((13, 1))),
            (places.agent("a", "tools"),              Some((22, 9))),
            (places.agent("b", "tools"),              None),
            (places.console("tls.key"),               Some((25, 35))),
            (places.console("listen"),                Some((24, 1))),
        ];
        for (number, (found, wanted)) in cases.into_iter().enumerate() {
            assert_eq!(found, wanted, "case {number}");
        }
        assert!(Places::read("[").is_none());
    }
}
