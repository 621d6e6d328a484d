//! `[package.metadata.ringfence]` of a manifest: what a reader of text cannot see, said by hand.
//!
//! INVARIANT: an unknown key, an unknown entry and a name that stands twice are errors; nothing is passed over.

use std::collections::BTreeSet;

use ringfence_policy::Capabilities;
use serde::Deserialize;
use toml::Spanned;

use super::{Entry, Finder, FoundTool, ToolError};
use crate::source::model::Route;
use crate::source::name::Found;
use crate::{EffectSet, Place, SourcePackage};

#[derive(Deserialize)]
struct Manifest {
    package: Option<PackageTable>,
}

#[derive(Deserialize)]
struct PackageTable {
    metadata: Option<MetadataTable>,
}

#[derive(Deserialize)]
struct MetadataTable {
    ringfence: Option<RingfenceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RingfenceTable {
    #[serde(default)]
    tool: Vec<ToolTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    name: Spanned<String>,
    entry: Spanned<String>,
    capabilities: Capabilities,
}

impl Finder<'_> {
    /// Adds the tools of the manifests, and what they say of tools that were found.
    pub(super) fn manifests(&self, tools: &mut Vec<FoundTool>) -> Result<(), ToolError> {
        for (number, package) in self.project.packages.iter().enumerate().filter(|(_, package)| package.own) {
            // What cargo read decides whether there is anything; the text is read for the places.
            if package.metadata.get("ringfence").is_none() {
                continue;
            }
            let file = package.folder.join("Cargo.toml");
            let text = std::fs::read_to_string(&file)
                .map_err(|error| ToolError::Read { file: self.project.display(package, &file), error })?;
            self.manifest(number, package, &text, tools)?;
        }
        Ok(())
    }

    fn manifest(
        &self,
        number: usize,
        package: &SourcePackage,
        text: &str,
        tools: &mut Vec<FoundTool>,
    ) -> Result<(), ToolError> {
        let place = |start: usize| {
            let before = text.get(..start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            self.project.place(package, &package.folder.join("Cargo.toml"), line, column)
        };
        let fault = |start: usize, reason: String| ToolError::Manifest { place: place(start), reason };
        let manifest: Manifest = toml::from_str(text)
            .map_err(|error| fault(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let table =
            manifest.package.and_then(|package| package.metadata).and_then(|metadata| metadata.ringfence);
        let mut names = BTreeSet::new();
        for tool in table.into_iter().flat_map(|table| table.tool) {
            let (name, start) = (tool.name.get_ref(), tool.name.span().start);
            if !names.insert(name.clone()) {
                return Err(fault(start, format!("the tool `{name}` is declared twice")));
            }
            if let Err(error) = name.parse::<ringfence_policy::ToolName>() {
                return Err(fault(start, error.to_string()));
            }
            let written = tool.entry.get_ref();
            let Some(entry) = self.declared_entry(number, written) else {
                let reason = format!(
                    "the entry `{written}` is neither a function nor a tool's type of `{}`",
                    package.name
                );
                return Err(fault(tool.entry.span().start, reason));
            };
            let at = place(start);
            match tools.iter_mut().find(|known| known.entry == entry && known.declared.is_none()) {
                Some(known) => {
                    known.name.clone_from(name);
                    known.declared = Some(tool.capabilities);
                }
                None => tools.push(new(name, package, at, entry, tool.capabilities)),
            }
        }
        Ok(())
    }

    /// Returns what an entry means: a function of the package, or the type of a tool.
    fn declared_entry(&self, package: usize, written: &str) -> Option<Entry> {
        let segments: Vec<String> = written.split("::").map(|part| part.trim().to_owned()).collect();
        let units = self.world.units.iter().enumerate().filter(|(_, unit)| unit.package == package);
        units.into_iter().find_map(|(unit, one)| {
            let own = segments.first().is_some_and(|first| *first == one.name);
            let rest = segments.iter().skip(usize::from(own)).cloned();
            let route = Route {
                segments: std::iter::once("crate".to_owned()).chain(rest).collect(),
                ..Route::default()
            };
            self.world.resolve(unit, 0, &route).into_iter().find_map(|(found, rest)| match found {
                Found::Function(id) if rest == 0 => Some(Entry::Function(self.function_name(id))),
                Found::Type(id) => {
                    let kind = crate::source::kind::Kind::Local(id, [].into());
                    let name = if rest == 0 { "call" } else { route.last() };
                    let methods = self.kinds.methods(&kind, name);
                    methods
                        .first()
                        .filter(|_| rest < 2)
                        .map(|method| Entry::Function(self.function_name(*method)))
                }
                _ => None,
            })
        })
    }
}

fn new(name: &str, package: &SourcePackage, place: Place, entry: Entry, declared: Capabilities) -> FoundTool {
    FoundTool {
        name: name.to_owned(),
        package: package.id(),
        place,
        entry,
        others: Vec::new(),
        declared: Some(declared),
        unread: EffectSet::NONE,
        incomplete: None,
    }
}
