//! Reading a toolbox file, with all its problems at once.

mod problem;
mod registry;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ringfence::audit::VerifierKey;
use ringfence::policy::explain::ProblemCode;
use ringfence::policy::{
    AgentEntry, ConsoleEntry, ContainerEntry, Declaration, DocumentError, EntryGap, Gap, GatewayEntry,
    JsonAsToml, JsonLimits, Notify, Personality, Places, RunEntry, ServerEntry, Table, ToolName, Toolbox,
    Variables, check_agents, check_examples, check_servers, parse_json, validate_registration,
};
use ringfence::sandbox::Identity;
use ringfence::text::Verdict;
use ringfence::{PinStatus, Pins};
use serde_json::Value;

pub(crate) use self::problem::{Problem, listed};

use crate::book::Book;
use crate::deciding::read_deciding;
use crate::error::CommandError;
use crate::runtimes::{Plugin, PolicyFiles, read_component};
use crate::sandbox::BackendChoice;

/// The largest toolbox or schema file.
const MAX_FILE: u64 = 16 << 20;

/// Where the toolbox is and what its variables stand for.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) policy: PathBuf,
    /// Whether the command line says so.
    pub(crate) is_named: bool,
    pub(crate) workspace: Option<PathBuf>,
}

/// A toolbox that was read. It may still have problems.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) personality: Personality,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notify: Vec<Notify>,
    /// The MCP servers, with their variables expanded.
    pub(crate) servers: Vec<ServerEntry>,
    pub(crate) gateway: GatewayEntry,
    /// The page for people, with the files of TLS that it really has.
    pub(crate) console: ConsoleEntry,
    pub(crate) agents: Vec<AgentEntry>,
    /// What commands are granted that people run by hand, as written.
    pub(crate) runs: BTreeMap<String, RunEntry>,
    /// Which container engine runs the tools that run in images.
    pub(crate) container: ContainerEntry,
    /// Which sandbox starts the programs of its tools.
    pub(crate) backend: BackendChoice,
    /// The schemas and components that it names, as they were read.
    pub(crate) files: PolicyFiles,
    path: PathBuf,
    /// What the file said, so that a sandbox is tried anew when it says something else.
    text: String,
}

impl Place {
    /// Returns the values of the variables that policies may use.
    pub(crate) fn variables(&self) -> Variables {
        let current = std::env::current_dir().ok();
        let absolute = |path: &Path| current.as_ref().map(|current| current.join(path));
        let self_dir = self.policy.parent().and_then(absolute);
        Variables {
            home: std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            workspace: self.workspace.as_deref().map_or_else(|| current.clone(), absolute),
            self_dir,
        }
    }

    /// Returns the directory that relative paths start from.
    pub(crate) fn working_dir(&self) -> Option<PathBuf> {
        self.variables().workspace
    }

    /// Reads the pins of the toolbox's own tools, where somebody has accepted one. A pin file that cannot be trusted stops
    /// everything; one that holds only what servers sent puts nothing in force for tools.
    pub(crate) fn pins(&self) -> Result<Option<Pins>, CommandError> {
        let book = Book::beside(&self.policy);
        book.hide_lock();
        let pins = book.existing_pins()?;
        Ok(pins.filter(|pins| pins.iter().next().is_some() || pins.servers().next().is_none()))
    }

    /// Reads the toolbox and finds everything that is wrong with it.
    pub(crate) fn load(&self) -> Result<Loaded, CommandError> {
        let text = read_deciding(&self.policy, None).map_err(with_advice)?;
        Ok(self.read(&text))
    }

    /// The same, where only a toolbox counts that the command line names: a program that others start in a folder of their
    /// choice does not believe what lies there.
    pub(crate) fn load_if_named(&self) -> Result<Loaded, CommandError> {
        if self.is_named { self.load() } else { Ok(self.read("")) }
    }

    /// Reads a component as if it were the only tool of the toolbox, under its personality. Without a toolbox nothing is permitted.
    pub(crate) fn load_component(&self, file: &Path) -> Result<Loaded, CommandError> {
        let mut loaded =
            if self.is_named || self.policy.exists() { self.load()?.sound()? } else { self.read("") };
        let wrong = |message: String| CommandError::Input {
            message: format!("`{}`: {message}", file.display()),
            hint: Some("give the file of a component, or the name of a tool of the toolbox"),
        };
        let plugin = read_component(file).and_then(Plugin::read).map_err(wrong)?;
        let declaration = plugin.file().declared(Some(&self.variables())).map_err(wrong)?;
        let gaps = validate_registration(&declaration, &loaded.personality);
        let gaps = gaps.into_iter().chain(schema_gaps(&declaration));
        loaded.problems = gaps.map(|gap| Problem::of(gap, None)).collect();
        loaded.path = file.to_path_buf();
        (loaded.declarations, loaded.files.plugins) = (vec![declaration], vec![plugin]);
        loaded.files.called = Some(file.to_path_buf());
        Ok(loaded)
    }

    /// Tells whether the toolbox is JSON, and not TOML.
    pub(crate) fn is_json(&self) -> bool {
        is_json(&self.policy)
    }

    /// Reads the text of the toolbox in the form that its name says.
    pub(crate) fn toolbox(&self, text: &str) -> Result<Toolbox, DocumentError> {
        if self.is_json() { Toolbox::from_json(text) } else { Toolbox::from_toml(text) }
    }

    /// Reads a text as if it were the toolbox.
    pub(crate) fn read(&self, text: &str) -> Loaded {
        let is_json = self.is_json();
        let mut loaded = Loaded {
            personality: Personality::default(),
            declarations: Vec::new(),
            problems: Vec::new(),
            notify: Vec::new(),
            servers: Vec::new(),
            gateway: GatewayEntry::default(),
            console: ConsoleEntry::default(),
            agents: Vec::new(),
            runs: BTreeMap::new(),
            container: ContainerEntry::default(),
            backend: BackendChoice::Auto,
            files: PolicyFiles::beside(&self.policy),
            path: self.policy.clone(),
            text: text.to_owned(),
        };
        let toolbox = match self.toolbox(text) {
            Ok(toolbox) => toolbox,
            Err(_) => {
                let all = if is_json { Toolbox::json_faults(text) } else { Toolbox::faults(text) };
                loaded.problems = all.into_iter().map(Problem::of_shape).collect();
                loaded.problems.sort_by_key(|problem| (problem.line, problem.column));
                return loaded;
            }
        };
        loaded.notify.clone_from(&toolbox.notify);
        let json = if is_json { JsonAsToml::of(text) } else { None };
        let places = match &json {
            Some(json) => json.places(),
            None if is_json => None,
            None => Places::read(text),
        };
        let variables = self.variables();
        let (declarations, mut gaps) = toolbox.declarations(&variables, &mut loaded.files);
        if let Some(personality) = &toolbox.personality {
            match personality.expand(&variables) {
                Ok(personality) => loaded.personality = personality,
                Err(error) => {
                    let place = places.as_ref().and_then(|places| places.personality("fs_reach"));
                    loaded.problems.push(Problem::at(ProblemCode::FsReach, place, error.to_string()));
                }
            }
        }
        for declaration in &declarations {
            gaps.extend(validate_registration(declaration, &loaded.personality));
            gaps.extend(schema_gaps(declaration));
        }
        // What is missing of a tool does not hide what else is wrong with it.
        for declaration in toolbox.incomplete_declarations(&variables, &declarations) {
            let others = validate_registration(&declaration, &loaded.personality);
            let is_known = |gap: &Gap| {
                gaps.iter().any(|known| known.tool == gap.tool && known.capability == gap.capability)
            };
            let others: Vec<Gap> = others.into_iter().filter(|gap| !is_known(gap)).collect();
            gaps.extend(others);
        }
        loaded.problems.extend(gaps.into_iter().map(|gap| Problem::of(gap, places.as_ref())));
        let is_own = |tool: &str| declarations.iter().any(|declaration| declaration.name.as_str() == tool);
        let (servers, mut gaps) = toolbox.servers(&variables);
        gaps.extend(check_servers(&servers, &loaded.personality));
        let (gateway, faults) = toolbox.gateway(&variables);
        gaps.extend(faults);
        let (console, faults) = toolbox.console(&variables);
        gaps.extend(faults);
        if let Some(Err(error)) = console.trust.as_deref().map(str::parse::<VerifierKey>) {
            gaps.push(EntryGap {
                table: Table::Console,
                name: String::new(),
                field: "trust".into(),
                message: format!("it is not a verifying key: {error}"),
                fix: "copy the one that `ringfence audit keygen` printed".into(),
            });
        }
        gaps.extend(check_agents(&toolbox.agents, &servers, is_own));
        loaded.problems.extend(gaps.into_iter().map(|gap| Problem::of_entry(gap, places.as_ref())));
        // Which tools a server has is known only once it runs.
        let is_unknown = |tool: &ToolName| servers.is_empty() && !is_own(tool.as_str());
        for tool in loaded.personality.tools.iter().flatten() {
            if is_unknown(tool) {
                let place = places.as_ref().and_then(|places| places.personality("tools"));
                let message = format!("the toolset names `{tool}`, which is not a tool of this file");
                loaded.problems.push(Problem::at(ProblemCode::Toolset, place, message));
            }
        }
        for tool in loaded.personality.approvals.tools.keys() {
            if is_unknown(tool) {
                let place = places.as_ref().and_then(|places| places.personality("approvals"));
                let message = format!("the approvals name `{tool}`, which is not a tool of this file");
                loaded.problems.push(Problem::at(ProblemCode::Approvals, place, message));
            }
        }
        for message in check_examples(&loaded.personality, &declarations) {
            let place = places.as_ref().and_then(|places| places.personality("example"));
            loaded.problems.push(Problem::at(ProblemCode::Example, place, message));
        }
        loaded.problems.sort_by_key(|problem| (problem.line, problem.column));
        loaded.declarations = declarations;
        loaded.runs = toolbox.run;
        (loaded.servers, loaded.gateway, loaded.agents) = (servers, gateway, toolbox.agents);
        (loaded.console, loaded.container) = (console, toolbox.container);
        loaded
    }
}

impl Loaded {
    /// Returns what the file says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Goes on only with a toolbox that has no problems.
    pub(crate) fn sound(self) -> Result<Self, CommandError> {
        if self.problems.is_empty() {
            return Ok(self);
        }
        Err(CommandError::Toolbox {
            count: self.problems.len(),
            details: listed(&self.path, &self.problems),
            path: self.path,
        })
    }

    /// Adds what the scan says of definitions that nobody has accepted, for somebody to look at.
    pub(crate) fn scanned(mut self, pins: Option<&Pins>) -> Self {
        for declaration in &self.declarations {
            let accepted = pins
                .zip(ringfence::definition_digest(declaration).ok())
                .is_some_and(|(pins, digest)| pins.status(declaration, &digest) == PinStatus::Accepted);
            let scan = ringfence::scan_declaration(declaration);
            if accepted || scan.verdict == Verdict::Accept {
                continue;
            }
            let name = &declaration.name;
            self.problems.extend(scan.findings.iter().filter(|finding| finding.weight > 0).map(|finding| {
                Problem {
                    tool: Some(name.to_string()),
                    capability: Some(finding.field.trim_start_matches('/').replace('/', ".")),
                    fix: Some(format!("reword it, or look at it and run `ringfence pins accept {name}`")),
                    ..Problem::at(
                        ProblemCode::Description,
                        None,
                        format!("{} [{}]", finding.message, finding.rule),
                    )
                }
            }));
        }
        self
    }

    /// Returns the tools of these names; all of them when there are none.
    pub(crate) fn named(&self, names: &[String]) -> Result<Vec<&Declaration>, CommandError> {
        let known = |name: &String| self.declarations.iter().any(|own| own.name.as_str() == name);
        if let Some(name) = names.iter().find(|name| !known(name)) {
            return Err(CommandError::Input {
                message: format!("no tool is named `{name}`"),
                hint: Some("`ringfence tools` lists those of the toolbox"),
            });
        }
        let wanted =
            |own: &&Declaration| names.is_empty() || names.iter().any(|name| own.name.as_str() == name);
        Ok(self.declarations.iter().filter(wanted).collect())
    }

    /// Returns tools with the digests of their definitions.
    pub(crate) fn digests(&self, names: &[String]) -> Result<Vec<(&Declaration, String)>, CommandError> {
        let digest = |declaration| {
            ringfence::definition_digest(declaration)
                .map(|digest| (declaration, digest))
                .map_err(|message| CommandError::Input { message, hint: None })
        };
        self.named(names)?.into_iter().map(digest).collect()
    }
}

fn schema_gaps(declaration: &Declaration) -> Vec<Gap> {
    let schemas = [("input", &declaration.input), ("output", &declaration.output)];
    let faults = schemas
        .into_iter()
        .filter_map(|(field, schema)| Some((field, ringfence::Schema::compile(schema).err()?)));
    faults
        .map(|(field, error)| Gap {
            tool: declaration.name.clone(),
            capability: field.into(),
            message: error.to_string(),
            fix: format!("correct the `{field}` schema"),
        })
        .collect()
}

/// Says what to do where a toolbox cannot be read.
fn with_advice(error: CommandError) -> CommandError {
    let (verb, path, error) = match error {
        CommandError::File { verb, path, error, .. } => (verb, path, error),
        other => return other,
    };
    let hint = match error.kind() {
        ErrorKind::NotFound => {
            "write one with `ringfence init`, name another with --policy FILE, or try `ringfence demo`"
        }
        ErrorKind::PermissionDenied => "change who may read it, or name another with --policy FILE",
        // It is there, and is something else than a toolbox.
        _ => "name a toolbox in TOML or JSON with --policy FILE",
    };
    CommandError::File { verb, path, error, hint: Some(hint) }
}

/// Reads a schema file of a toolbox.
pub(crate) fn read_schema(base: &Path, file: &str) -> Result<Value, String> {
    let text = read_text(&base.join(file), None).map_err(|error| error.to_string())?;
    parse_json(&text, JsonLimits::DOCUMENT).map_err(|error| error.to_string())
}

/// Tells whether a toolbox of this name is JSON, and not TOML.
pub(crate) fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// Reads a text file of bounded size.
pub(crate) fn read_text(path: &Path, hint: Option<&'static str>) -> Result<String, CommandError> {
    read_identified(path, hint).map(|(text, _)| text)
}

/// Reads a text file of bounded size, and says which file it was.
pub(crate) fn read_identified(
    path: &Path,
    hint: Option<&'static str>,
) -> Result<(String, Identity), CommandError> {
    let failed = |error| CommandError::File { verb: "read", path: path.to_path_buf(), error, hint };
    let mut bytes = Vec::new();
    let file = crate::book::open_plain(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    let identity = Identity { device: found.dev(), inode: found.ino() };
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(failed(std::io::Error::other("it is larger than 16 MiB")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        failed(std::io::Error::other(format!("it is not UTF-8 at byte {at}")))
    })?;
    Ok((text, identity))
}
