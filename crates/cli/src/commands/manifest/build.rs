//! Making the manifest of a toolbox.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use ringfence::policy::manifest::{DefaultLimits, LintRecord, Manifest, RuntimeRecord, Sources};
use ringfence::policy::{Declaration, JsonLimits, Limits, NamePattern, Runtime, ServerEntry, parse_json};
use ringfence::sandbox::{SearchPath, default_limits};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{MadeArgs, input};
use crate::book::Book;
use crate::error::CommandError;
use crate::load::{Loaded, Place, read_text};

/// The largest program whose digest is taken.
const MAX_PROGRAM: u64 = 1 << 30;

/// Makes the manifest of a sound toolbox. `recorded` is the one before: programs whose digests it has are looked at again.
pub(super) fn manifest(
    place: &Place,
    args: &MadeArgs,
    recorded: Option<&Manifest>,
) -> Result<Manifest, CommandError> {
    manifest_of(place, &place.load()?.sound()?, args, recorded)
}

/// The same of a toolbox that was read: what is compared with what people agreed to is then what is used.
pub(super) fn manifest_of(
    place: &Place,
    loaded: &Loaded,
    args: &MadeArgs,
    recorded: Option<&Manifest>,
) -> Result<Manifest, CommandError> {
    let toolbox = place.toolbox(loaded.text()).map_err(|error| input(error.to_string()))?;
    // What is wrong was told above; here variables stay as they are written.
    let (tools, gaps) = toolbox.written_declarations(&loaded.files);
    if let Some(gap) = gaps.first() {
        return Err(input(format!("tool `{}`: {}", gap.tool, gap.message)));
    }
    let servers = toolbox.written_servers();
    let personality = toolbox.personality.clone().unwrap_or_default();
    let lint = args.lint.as_deref().map(|file| lint(file, &tools, servers)).transpose()?.unwrap_or_default();
    let wanted =
        if args.binaries { named(&tools, servers) } else { recorded.map(recorded_names).unwrap_or_default() };
    Manifest::new(&Sources {
        personality: &personality,
        tools: &tools,
        servers,
        binaries: &digests(&wanted)?,
        definitions: &definitions(place, servers)?,
        lint: &lint,
        defaults: defaults(),
        outside: toolbox.outside(),
    })
    .map_err(|error| input(error.to_string()))
}

/// Returns what a process may spend where nothing is written: that of the sandbox.
fn defaults() -> DefaultLimits {
    let command = default_limits();
    // A server goes on, whoever calls it.
    DefaultLimits { command, server: Limits { wall: None, cpu: None, output: None, ..command } }
}

/// Returns the digests of what was accepted of servers.
fn definitions(
    place: &Place,
    servers: &[ServerEntry],
) -> Result<BTreeMap<String, BTreeMap<String, String>>, CommandError> {
    let Some(pins) = Book::beside(&place.policy).existing_pins()? else { return Ok(BTreeMap::new()) };
    let of = |server: &ServerEntry| {
        let own = pins.server_definitions(server.name.as_str());
        let own = own.map(|(key, digest, _)| (key.to_owned(), digest.to_owned())).collect();
        (server.name.to_string(), own)
    };
    Ok(servers.iter().map(of).collect())
}

/// Returns every program that tools and servers start by name.
fn named(tools: &[Declaration], servers: &[ServerEntry]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let declared = tools.iter().filter_map(|tool| tool.capabilities.as_ref());
    for own in declared.chain(servers.iter().map(|server| &server.capabilities)) {
        let binaries = own.process.iter().flat_map(|process| process.allowed_binaries.iter());
        names.extend(binaries.filter_map(|binary| match binary {
            NamePattern::Exact(name) => Some(name.to_string()),
            NamePattern::Any | NamePattern::Below(_) => None,
        }));
    }
    let commands = tools.iter().filter_map(|tool| match &tool.runtime {
        Runtime::Command(command) => command.first(),
        Runtime::Builtin(_)
        | Runtime::Container { .. }
        | Runtime::Native
        | Runtime::Server { .. }
        | Runtime::Wasm { .. } => None,
    });
    names.extend(commands.chain(servers.iter().filter_map(|server| server.command.first())).cloned());
    names
}

/// Returns the programs whose digests a manifest has.
fn recorded_names(manifest: &Manifest) -> BTreeSet<String> {
    let tools = manifest.tools.values().filter_map(|tool| match &tool.runtime {
        RuntimeRecord::Command { binaries, .. } => Some(binaries),
        RuntimeRecord::Builtin { .. }
        | RuntimeRecord::Container { .. }
        | RuntimeRecord::Native
        | RuntimeRecord::Server { .. }
        | RuntimeRecord::Wasm { .. } => None,
    });
    let servers = manifest.servers.values().map(|server| &server.binaries);
    tools.chain(servers).flat_map(BTreeMap::keys).cloned().collect()
}

/// Takes the digests of programs that are here; one that is not here has none.
fn digests(names: &BTreeSet<String>) -> Result<BTreeMap<String, String>, CommandError> {
    let search = SearchPath::default();
    let mut digests = BTreeMap::new();
    for name in names {
        let Some(path) = search.find(name).filter(|path| path.is_file()) else { continue };
        let failed = |error| CommandError::File { verb: "read", path: path.clone(), error, hint: None };
        let file = std::fs::File::open(&path).map_err(failed)?;
        let mut digest = Sha256::new();
        let mut left = file.take(MAX_PROGRAM + 1);
        let read = std::io::copy(&mut left, &mut Hashing(&mut digest)).map_err(failed)?;
        if read > MAX_PROGRAM {
            return Err(failed(std::io::Error::other("it is larger than 1 GiB")));
        }
        let hex = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        digests.insert(name.clone(), hex);
    }
    Ok(digests)
}

struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What `ringfence lint --json` writes, as far as it matters here.
#[derive(Deserialize)]
struct LintFile {
    tools: Vec<LintTool>,
}

#[derive(Deserialize)]
struct LintTool {
    name: String,
    engine: String,
    effects: BTreeSet<String>,
    #[serde(default)]
    dependencies: BTreeMap<String, BTreeSet<String>>,
}

fn lint(
    file: &Path,
    tools: &[Declaration],
    servers: &[ServerEntry],
) -> Result<BTreeMap<String, LintRecord>, CommandError> {
    let wrong = |message: String| input(format!("`{}`: {message}", file.display()));
    let value = parse_json(&read_text(file, None)?, JsonLimits::DOCUMENT)
        .map_err(|error| wrong(error.to_string()))?;
    let read: LintFile = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    let mut found = BTreeMap::new();
    for LintTool { name, engine, effects, dependencies } in read.tools {
        let is_known = tools.iter().any(|tool| tool.name.as_str() == name)
            || servers.iter().any(|server| server.name.as_str() == name);
        if !is_known {
            return Err(wrong(format!("`{name}` is neither a tool nor a server of the toolbox")));
        }
        if found.insert(name.clone(), LintRecord { dependencies, effects, engine }).is_some() {
            return Err(wrong(format!("`{name}` appears twice")));
        }
    }
    Ok(found)
}
