//! The lists of a toolbox file that decide what is reached, with the line of each of their entries.
//!
//! INVARIANT: an entry is told with the line that it really stands on; what is not written has none.

use toml::Spanned;
use toml::de::DeValue;

use super::Places;

/// Whose list it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListOwner<'a> {
    /// The ceiling.
    Personality,
    /// The MCP server of this name.
    Server(&'a str),
    /// The tool of this name.
    Tool(&'a str),
}

/// What the list is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListKind {
    /// Programs.
    Binaries,
    /// Environment variables.
    Environment,
    /// Hosts.
    Hosts,
    /// Paths that are read.
    Read,
    /// Secrets.
    Secrets,
    /// The tools of a personality.
    Tools,
    /// Paths that are written.
    Write,
}

/// A list as it is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrittenList {
    /// The line that it starts on.
    pub line: usize,
    /// The entries, and the line of each. What is one word instead of a list, such as `from-personality`, is one entry.
    pub entries: Vec<(String, usize)>,
}

/// How a list is called inside of a table that stands where a list may stand too.
const INSIDE: &[&str] = &["allow", "allowedHosts", "allowed_hosts", "allowedBinaries", "allowed_binaries"];

impl ListKind {
    /// Returns the field that the list is, as messages name it.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Binaries => "process",
            Self::Environment => "environment",
            Self::Hosts => "network",
            Self::Read => "fs_reach.read",
            Self::Secrets => "secrets",
            Self::Tools => "tools",
            Self::Write => "fs_reach.write",
        }
    }

    /// Returns the ways to the list, each a chain of the spellings that a part may have.
    const fn ways(self) -> &'static [&'static [&'static [&'static str]]] {
        const PATHS: &[&str] = &["fs_reach", "fsReach"];
        match self {
            Self::Binaries => &[&[&["process"]]],
            Self::Environment => &[&[&["environment"]]],
            Self::Hosts => &[&[&["network"]], &[&["safety"], &["network"]]],
            Self::Read => &[&[PATHS, &["read"]]],
            Self::Secrets => &[&[&["secrets"]]],
            Self::Tools => &[&[&["tools", "toolset"]]],
            Self::Write => &[&[PATHS, &["write"]]],
        }
    }
}

impl Places<'_> {
    /// Returns a list as it is written; nothing where it is not.
    pub fn list(&self, owner: ListOwner<'_>, kind: ListKind) -> Option<WrittenList> {
        let found = self.found(owner, kind)?;
        let line = |value: &Spanned<DeValue<'_>>| self.at(value).0;
        let written =
            |value: &Spanned<DeValue<'_>>| Some((value.get_ref().as_str()?.to_owned(), line(value)));
        let entries = match found.get_ref().as_array() {
            Some(list) => list.iter().filter_map(written).collect(),
            None => vec![written(found)?],
        };
        Some(WrittenList { line: line(found), entries })
    }

    /// Returns the line and column where a list starts, or would be written: where as much of the way to it is as there is.
    pub fn list_place(&self, owner: ListOwner<'_>, kind: ListKind) -> Option<(usize, usize)> {
        if let Some(found) = self.found(owner, kind) {
            return Some(self.at(found));
        }
        let field = kind.field();
        match owner {
            ListOwner::Personality => self.personality(field),
            ListOwner::Server(name) => self.server(name, &format!("capabilities.{field}")),
            ListOwner::Tool(name) => self.tool(name, field),
        }
    }

    fn found(&self, owner: ListOwner<'_>, kind: ListKind) -> Option<&Spanned<DeValue<'_>>> {
        let start = match owner {
            ListOwner::Personality => self.root("personality")?,
            ListOwner::Server(name) => {
                self.entry(["server", "servers"], name, "")?.get_ref().get("capabilities")?
            }
            ListOwner::Tool(name) => {
                self.entry(["tool", "tools"], name, "")?.get_ref().get("capabilities")?
            }
        };
        let along = |way: &&[&[&str]]| way.iter().try_fold(start, |found, names| member(found, names));
        let found = kind.ways().iter().find_map(along)?;
        if found.get_ref().is_table() { member(found, INSIDE) } else { Some(found) }
    }

    /// Returns the line on which an owner starts; nothing where it is not written.
    pub fn owner(&self, owner: ListOwner<'_>) -> Option<usize> {
        let found = match owner {
            ListOwner::Personality => self.root("personality")?,
            ListOwner::Server(name) => self.entry(["server", "servers"], name, "")?,
            ListOwner::Tool(name) => self.entry(["tool", "tools"], name, "")?,
        };
        Some(self.at(found).0)
    }
}

fn member<'t, 'a>(table: &'t Spanned<DeValue<'a>>, names: &[&str]) -> Option<&'t Spanned<DeValue<'a>>> {
    names.iter().find_map(|name| table.get_ref().get(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[personality]
tools = ["grep"]
network.allow = [
    "*.github.com",
    "api.weather.gov:443",
]
secrets = ["A", "B"]
process = { allow = ["rg"] }

[personality.fsReach]
read = ["/srv"]

[[tool]]
name = "grep"
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["rg"] } }

[[tool]]
name = "fetch"
[tool.capabilities.network]
allowed_hosts = ["api.github.com"]

[[server]]
name = "git"
[server.capabilities]
environment = ["LANG"]
"#;

    #[test]
    fn each_entry_has_its_own_line() {
        let places = Places::read(TEXT).unwrap();
        let found = |owner, kind| places.list(owner, kind);
        let list = |line, entries: &[(&str, usize)]| {
            let entries = entries.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect();
            Some(WrittenList { line, entries })
        };
        use ListOwner::{Personality, Server, Tool};
        #[rustfmt::skip]
        let cases = [
            (Personality,    ListKind::Hosts,       list(4, &[("*.github.com", 5), ("api.weather.gov:443", 6)])),
            (Personality,    ListKind::Secrets,     list(8, &[("A", 8), ("B", 8)])),
            (Personality,    ListKind::Binaries,    list(9, &[("rg", 9)])),
            (Personality,    ListKind::Read,        list(12, &[("/srv", 12)])),
            (Personality,    ListKind::Write,       None),
            (Personality,    ListKind::Environment, None),
            (Personality,    ListKind::Tools,       list(3, &[("grep", 3)])),
            (Tool("grep"),   ListKind::Read,        list(16, &[("from-personality", 16)])),
            (Tool("grep"),   ListKind::Binaries,    list(16, &[("rg", 16)])),
            (Tool("fetch"),  ListKind::Hosts,       list(21, &[("api.github.com", 21)])),
            (Tool("nobody"), ListKind::Hosts,       None),
            (Server("git"),  ListKind::Environment, list(26, &[("LANG", 26)])),
            (Server("git"),  ListKind::Secrets,     None),
        ];
        for (owner, kind, wanted) in cases {
            assert_eq!(found(owner, kind), wanted, "{owner:?} {kind:?}");
        }
        let safety = Places::read("[personality.safety]\nnetwork = { allow = [\"a.test\"] }\n").unwrap();
        assert_eq!(safety.list(Personality, ListKind::Hosts), list(2, &[("a.test", 2)]));
    }

    #[test]
    fn a_list_is_pointed_at_or_the_place_it_would_have() {
        let places = Places::read(TEXT).unwrap();
        #[rustfmt::skip]
        let cases = [
            (ListOwner::Personality,    ListKind::Hosts,    Some((4, 17))),
            (ListOwner::Personality,    ListKind::Binaries, Some((9, 21))),
            (ListOwner::Personality,    ListKind::Write,    Some((2, 1))),
            (ListOwner::Tool("grep"),   ListKind::Binaries, Some((16, 90))),
            (ListOwner::Tool("grep"),   ListKind::Write,    Some((16, 29))),
            (ListOwner::Tool("grep"),   ListKind::Hosts,    Some((14, 1))),
            (ListOwner::Tool("nobody"), ListKind::Hosts,    None),
            (ListOwner::Server("git"),  ListKind::Secrets,  Some((25, 1))),
        ];
        for (owner, kind, wanted) in cases {
            assert_eq!(places.list_place(owner, kind), wanted, "{owner:?} {kind:?}");
        }
    }

    #[test]
    fn an_owner_starts_where_its_header_is() {
        let places = Places::read(TEXT).unwrap();
        #[rustfmt::skip]
        let cases = [
            (ListOwner::Personality,    Some(2)),
            (ListOwner::Tool("fetch"),  Some(18)),
            (ListOwner::Server("git"),  Some(23)),
            (ListOwner::Server("none"), None),
        ];
        for (owner, wanted) in cases {
            assert_eq!(places.owner(owner), wanted, "{owner:?}");
        }
        let implied = Places::read("\n\n[personality.network]\nallow = []\n").unwrap();
        assert_eq!(implied.owner(ListOwner::Personality), Some(3), "the first header of it");
    }
}
