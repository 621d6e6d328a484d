//! What is wrong with the servers of a toolbox, as far as the file itself can tell.

use std::path::Path;

use super::{ServerEntry, ServerTool};
use crate::validate::capability_gaps;
use crate::{
    Direction, EntryGap, Grant, HostShape, NameKind as _, Personality, Table, ToolName, Variable,
    resolve_capabilities,
};

/// Returns everything that is wrong with servers under a personality; empty means that each may be started.
pub fn check_servers<'a>(
    servers: impl IntoIterator<Item = &'a ServerEntry>,
    personality: &Personality,
) -> Vec<EntryGap> {
    servers.into_iter().flat_map(|server| Check { server, found: Vec::new() }.all(personality)).collect()
}

/// The smallest and the largest limit of a message: a handshake fits, and so does the memory of a machine.
const MESSAGE_RANGE: std::ops::RangeInclusive<u64> = (64 << 10)..=(1 << 30);

struct Check<'a> {
    server: &'a ServerEntry,
    found: Vec<EntryGap>,
}

impl Check<'_> {
    fn all(mut self, personality: &Personality) -> Vec<EntryGap> {
        let own = &self.server.capabilities;
        for gap in capability_gaps(&ToolName::from(&self.server.name), own, personality) {
            self.push(format!("capabilities.{}", gap.capability), gap.message, gap.fix);
        }
        if own.storage.is_some() {
            let fix = "drop `storage`; give it a folder with fs_reach.write";
            self.push("capabilities.storage", "a server keeps no storage of ours", fix);
        }
        // What cannot be resolved is among the gaps above.
        let grant = resolve_capabilities(own, personality).unwrap_or_default();
        self.globs(&grant);
        self.directory(&grant);
        self.variables(&grant);
        self.sockets(personality);
        self.registry();
        self.message();
        for (name, tool) in &self.server.tools {
            self.tool(name, tool);
        }
        self.found
    }

    fn push(&mut self, field: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) {
        let name = self.server.name.as_str();
        self.found.push(EntryGap::new(Table::Server, name, field.into(), message, fix));
    }

    fn globs(&mut self, grant: &Grant) {
        let Some(fs) = &grant.fs else { return };
        for direction in [Direction::Read, Direction::Write] {
            let (_, wild) = fs.trees(direction);
            for pattern in wild {
                self.push(
                    format!("capabilities.fs_reach.{direction}"),
                    format!("a server's process cannot be given the {direction} glob `{pattern}`"),
                    "name a directory (`/srv/out`) or a whole tree (`/srv/out/**`)",
                );
            }
        }
    }

    fn directory(&mut self, grant: &Grant) {
        let Some(directory) = self.server.directory() else { return };
        if !is_granted(grant, &directory) {
            self.push(
                "directory",
                format!("the folder `{}` is not granted", directory.display()),
                "add it to the server's fs_reach.read and to that of the personality, or leave it out",
            );
        }
    }

    fn variables(&mut self, grant: &Grant) {
        for name in self.server.env.keys() {
            self.variable("env", name);
        }
        for (name, secret) in &self.server.secrets {
            self.variable("secrets", name);
            if self.server.env.contains_key(name) {
                self.push("secrets", format!("the variable `{name}` is in `env` too"), "keep one");
            }
            if !grant.secrets.as_ref().is_some_and(|granted| granted.admits(secret)) {
                self.push(
                    "secrets",
                    format!("the secret `{secret}` for the variable `{name}` is not granted"),
                    format!("add \"{secret}\" to the server's capabilities.secrets and to the personality's secrets.allow"),
                );
            }
        }
    }

    fn variable(&mut self, field: &'static str, name: &str) {
        let fault = if name.is_empty() { Some("is empty") } else { Variable::fault(name) };
        if let Some(fault) = fault {
            self.push(field, format!("the variable name `{}` {fault}", name.escape_debug()), "rename it");
        }
    }

    fn sockets(&mut self, personality: &Personality) {
        if self.server.unix_sockets && personality.unix_sockets == Some(false) {
            self.push(
                "unix_sockets",
                "opens Unix sockets, which the personality does not permit",
                "set the personality's `unix_sockets` to true, or drop it here",
            );
        }
    }

    fn registry(&mut self) {
        let Some(hosts) = &self.server.registry else { return };
        if hosts.is_empty() {
            self.push("registry", "an empty list lets nothing be installed", "name a host, or leave it out");
        }
        for pattern in hosts
            .iter()
            .filter(|pattern| !matches!(pattern.shape(), HostShape::Name(_) | HostShape::Address(_)))
        {
            let message =
                format!("the install step may reach single hosts only, and `{pattern}` is a pattern");
            self.push("registry", message, "name the hosts one by one");
        }
    }

    fn message(&mut self) {
        let Some(most) = self.server.max_message else { return };
        if !MESSAGE_RANGE.contains(&most.bytes()) {
            let message = format!("a message cannot be limited to {most}");
            self.push("max_message", message, "give `64K` to `1G`");
        }
    }

    fn tool(&mut self, name: &ToolName, tool: &ServerTool) {
        let implied = self.server.capabilities.implied_class();
        if let Some(class) = tool.class
            && class < implied
        {
            let (class, implied) = (class.as_str(), implied.as_str());
            self.push(
                format!("tool.{name}.class"),
                format!("CLASS_UNDERSTATED: class `{class}` is lower than the server's capabilities imply (`{implied}`)"),
                format!("set class = \"{implied}\" or higher, or leave it out"),
            );
        }
    }
}

fn is_granted(grant: &Grant, directory: &Path) -> bool {
    [Direction::Read, Direction::Write].into_iter().any(|direction| {
        grant
            .fs
            .as_ref()
            .is_some_and(|fs| fs.trees(direction).0.iter().any(|tree| directory.starts_with(tree)))
    })
}
