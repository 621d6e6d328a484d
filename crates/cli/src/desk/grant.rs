//! What capabilities reach under a personality, surface by surface.
//!
//! INVARIANT: what stands under `granted` is what a call would get, and what stands under `refused` is not.

use ringfence::policy::manifest::{Listed, Reached};
use ringfence::policy::{
    Capabilities, Direction, HostShape, NameKind, NamePattern, NameSet, OnUnknown, PathReach, Personality,
    ServerEntry, ServerName,
};
use ringfence_server::console::{DeskError, ReachRow};

use super::fault::input;
use super::sent::{self, Sent};
use super::{FileDesk, View};
use crate::load::Loaded;

/// What a name that callers use stands for.
pub(super) enum Named<'a> {
    /// A tool of the policy file.
    Own(&'a ringfence::Declaration),
    /// A tool that an MCP server of the policy file sent.
    Sent(&'a ServerEntry, Sent<'a>),
}

impl Named<'_> {
    /// Returns what it declares, or its server.
    pub(super) fn capabilities(&self) -> Capabilities {
        match self {
            Self::Own(tool) => tool.capabilities.clone().unwrap_or_default(),
            Self::Sent(server, _) => server.capabilities.clone(),
        }
    }
}

impl FileDesk {
    pub(super) fn granted(&self, tool: &str) -> Result<Option<Vec<ReachRow>>, DeskError> {
        let view = self.view()?;
        let Some(named) = view.named(tool) else { return Ok(None) };
        rows(&named.capabilities(), &view.loaded.personality, tool).map(Some)
    }
}

impl View {
    /// Finds the tool of a name, where it is known.
    pub(super) fn named<'a>(&'a self, tool: &str) -> Option<Named<'a>> {
        let own = self.loaded.declarations.iter().find(|own| own.name.as_str() == tool);
        if let Some(own) = own {
            return Some(Named::Own(own));
        }
        let (server, name) = ServerName::split(tool)?;
        let entry = server_entry(&self.loaded, server)?;
        let key = format!("tool:{name}");
        let known = sent::current(&self.pins, &self.seen, server).into_iter().find(|one| one.key == key);
        known.map(|one| Named::Sent(entry, one))
    }
}

/// Finds the entry of a server.
pub(super) fn server_entry<'a>(loaded: &'a Loaded, name: &str) -> Option<&'a ServerEntry> {
    loaded.servers.iter().find(|server| server.name.as_str() == name)
}

/// Returns a row for each surface that is declared; `place` says whose capabilities they are.
pub(super) fn rows(
    declared: &Capabilities,
    personality: &Personality,
    place: &str,
) -> Result<Vec<ReachRow>, DeskError> {
    let reached = Reached::new(declared, personality, place).map_err(|error| input(error.to_string()))?;
    let mut rows = Vec::new();
    let mut push = |surface: &str, granted: Vec<String>, refused: Vec<String>| {
        rows.push(ReachRow { surface: surface.to_owned(), granted, refused });
    };
    if let Some(network) = &declared.network {
        let mut granted = entries(&reached.network.hosts);
        granted.extend(entries(&reached.network.private).into_iter().map(|own| format!("private {own}")));
        if reached.network.on_unknown == OnUnknown::Ask {
            granted.push("any other host after asking a person".to_owned());
        }
        let hosts = reached.network.hosts.set();
        // What asks for whatever is permitted is refused only where that is nothing.
        let inherits = |shape: &HostShape| {
            matches!(shape, HostShape::Everything | HostShape::Public) && !hosts.is_empty()
        };
        let refused = network.allowed_hosts.iter().filter(|own| !inherits(own.shape()) && !hosts.covers(own));
        push("network", granted, refused.map(ToString::to_string).collect());
    }
    for direction in [Direction::Read, Direction::Write] {
        let own = declared.fs_reach.as_ref().and_then(|reach| reach.direction(direction));
        let Some(own) = own else { continue };
        let paths = reached.fs_reach.direction(direction);
        let mut granted = paths.shown();
        granted.extend(paths.lifted.iter().map(|path| format!("{path} despite the floor")));
        let refused = match own {
            PathReach::FromPersonality => Vec::new(),
            PathReach::Listed(own) => own.beyond(personality.fs_reach.direction(direction)),
        };
        push(direction.as_str(), granted, refused);
    }
    if let Some(own) = &declared.secrets {
        push("secrets", entries(&reached.secrets), refused_names(own, reached.secrets.set()));
    }
    if let Some(storage) = &declared.storage {
        push("storage", vec![storage.scope.to_string()], Vec::new());
    }
    if let Some(own) = &declared.process {
        let refused = refused_names(&own.allowed_binaries, reached.process.set());
        push("process", entries(&reached.process), refused);
    }
    if let Some(own) = &declared.environment {
        push("environment", entries(&reached.environment), refused_names(own, reached.environment.set()));
    }
    Ok(rows)
}

fn entries<S: Listed>(set: &ringfence::policy::manifest::Sourced<S>) -> Vec<String> {
    set.entries().map(|(entry, _)| entry.to_owned()).collect()
}

fn refused_names<K: NameKind>(declared: &NameSet<K>, granted: &NameSet<K>) -> Vec<String> {
    let inherits = |own: &NamePattern| matches!(own, NamePattern::Any) && !granted.is_empty();
    let refused = declared.iter().filter(|own| !inherits(own) && !granted.covers(own));
    refused.map(ToString::to_string).collect()
}
