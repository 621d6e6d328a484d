//! One stdio server of a configuration, and what is guessed of what it needs.
//!
//! INVARIANT: a path is granted for reading only, when it is named by an argument, exists, and is neither the home folder, one
//! above it, nor on the always-deny floor.

use std::collections::BTreeMap;
use std::path::Path;

use ringfence::policy::{Direction, Floor, PathPattern, SecretSet, ServerName, VariableSet};
use serde_json::{Map, Value};

use super::{Surroundings, credential};

/// Programs that run a script named by their first argument; the script is part of the server.
const INTERPRETERS: &[&str] = &["node", "python", "python3", "bun", "deno", "tsx", "ruby", "sh", "bash"];
/// Programs that hand the work to a service that no fence around them reaches.
const ENGINES: &[&str] = &["docker", "podman", "nerdctl"];

/// A server that will be wrapped.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: ServerName,
    /// What the configuration calls it.
    pub(super) own: String,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Why the policy does not repeat the command.
    pub(super) unrepeatable: Option<&'static str>,
    /// Variables with values that may be read by anybody.
    pub(super) env: BTreeMap<String, String>,
    /// Variables that hold credentials: they stay with the client.
    pub(super) secrets: Vec<String>,
    /// Variables whose values only the client knows.
    pub(super) environment: Vec<String>,
    /// Paths that it may read.
    pub(super) read: Vec<String>,
    /// Paths that its arguments name and that are not there yet.
    pub(super) missing: Vec<String>,
    pub(super) directory: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Entry {
    /// Reads an entry; `Ok(Err(…))` says why it is left alone.
    pub(super) fn read(
        name: ServerName,
        own: &str,
        object: &Map<String, Value>,
        around: &Surroundings<'_>,
    ) -> Result<Result<Self, String>, String> {
        let kind = object.get("type").and_then(Value::as_str).unwrap_or("stdio");
        if ["url", "serverUrl"].iter().any(|key| object.contains_key(*key)) || kind != "stdio" {
            return Ok(Err("it is reached over the network".into()));
        }
        let Some(program) = object.get("command") else { return Ok(Err("it has no `command`".into())) };
        let program = program.as_str().ok_or("has a `command` that is not a text")?;
        if program.is_empty() {
            return Err("has an empty `command`".into());
        }
        let is_path = program.starts_with('/');
        if program.contains(char::is_whitespace) && !is_path {
            return Ok(Err("its `command` holds white space; write the arguments in `args`".into()));
        }
        let called = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if ENGINES.contains(&called) {
            return Ok(Err(format!(
                "`{called}` runs it elsewhere, where no fence around `{called}` reaches"
            )));
        }
        let mut command = vec![program.to_owned()];
        command.extend(texts(object.get("args"), "args")?);
        let mut entry = Self {
            name,
            own: own.to_owned(),
            unrepeatable: unrepeatable(&command),
            command,
            env: BTreeMap::new(),
            secrets: Vec::new(),
            environment: Vec::new(),
            read: Vec::new(),
            missing: Vec::new(),
            directory: None,
            notes: Vec::new(),
        };
        entry.variables(object.get("env"))?;
        entry.paths(called, around);
        entry.folder(object.get("cwd"), around)?;
        if object.contains_key("envFile") {
            entry.note("`envFile`: name its variables in the server's capabilities.environment or secrets");
        }
        Ok(Ok(entry))
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    fn variables(&mut self, env: Option<&Value>) -> Result<(), String> {
        let env = match env {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(env)) => env,
            Some(_) => return Err("has an `env` that is not an object".into()),
        };
        for (name, value) in env {
            let shown = name.escape_debug();
            let value =
                value.as_str().ok_or_else(|| format!("has a variable `{shown}` that is not a text"))?;
            if VariableSet::new([name]).is_err() {
                return Err(format!("has a variable `{shown}` that no process can be given"));
            }
            if credential::is_credential(name, value) {
                // A name that cannot be a ref is passed on as the variable that it is.
                let is_ref = SecretSet::new([name]).is_ok();
                if is_ref { &mut self.secrets } else { &mut self.environment }.push(name.clone());
                self.note(format!("`{shown}` looks like a credential: its value stays in the configuration"));
            } else if value.contains("${") {
                self.environment.push(name.clone());
            } else {
                self.env.insert(name.clone(), value.to_owned());
            }
        }
        Ok(())
    }

    fn paths(&mut self, called: &str, around: &Surroundings<'_>) {
        let interpreter = INTERPRETERS.contains(&called.split('.').next().unwrap_or_default());
        let mut script = interpreter;
        for argument in self.command.clone().iter().skip(1) {
            let text = match argument.split_once('=') {
                Some((flag, value)) if flag.starts_with('-') => value,
                _ => argument,
            };
            if std::mem::take(&mut script) && !argument.starts_with('-') {
                continue;
            }
            // The first argument that is not an option is the script.
            script = interpreter && argument.starts_with('-') && !argument.contains('=');
            if text.starts_with('/') && !text.contains("${") {
                self.path(text, around);
            }
        }
    }

    fn path(&mut self, text: &str, around: &Surroundings<'_>) {
        let Ok(normal) = ringfence::policy::normalise(Path::new(text)) else { return };
        let Some(path) = normal.to_str() else { return };
        if let Some(why) = unfit(&normal, around.home) {
            self.note(format!("`{}` is not granted: {why}", path.escape_debug()));
        } else if !(around.exists)(&normal) {
            push_once(&mut self.missing, path);
        } else {
            push_once(&mut self.read, path);
        }
    }

    fn folder(&mut self, cwd: Option<&Value>, around: &Surroundings<'_>) -> Result<(), String> {
        let Some(cwd) = cwd.filter(|cwd| !cwd.is_null()) else { return Ok(()) };
        let cwd = cwd.as_str().ok_or("has a `cwd` that is not a text")?;
        let normal = ringfence::policy::normalise(Path::new(cwd)).ok().filter(|path| (around.exists)(path));
        match normal
            .filter(|path| unfit(path, around.home).is_none())
            .and_then(|path| path.to_str().map(str::to_owned))
        {
            Some(path) => {
                push_once(&mut self.read, &path);
                self.directory = Some(path);
            }
            None => self.note(format!("`cwd` is not granted: `{}`", cwd.escape_debug())),
        }
        Ok(())
    }
}

/// Says why a path is not to be granted.
fn unfit(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let none: [&Path; 0] = [];
    if path == Path::new("/") || home.is_some_and(|home| home.starts_with(path)) {
        return Some("it is the home folder or one above it");
    }
    if Floor::denies_unless_named(path, Direction::Read, &none.into_iter()).is_some() {
        return Some("it is on the always-deny floor");
    }
    let fits =
        path.to_str().and_then(|text| text.parse::<PathPattern>().ok()).is_some_and(|own| own.is_literal());
    (!fits).then_some("its name would be read as a pattern")
}

fn unrepeatable(command: &[String]) -> Option<&'static str> {
    if command.iter().any(|part| part.contains("${")) {
        return Some("it holds variables of the client");
    }
    credential::in_arguments(command).then_some("it may hold a credential")
}

fn texts(value: Option<&Value>, field: &str) -> Result<Vec<String>, String> {
    let list = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("has an `{field}` that is not a list")),
    };
    let text = |one: &Value| one.as_str().map(str::to_owned);
    list.iter()
        .map(|one| text(one).ok_or_else(|| format!("has an `{field}` that holds something else than texts")))
        .collect()
}

fn push_once(list: &mut Vec<String>, path: &str) {
    if !list.iter().any(|own| own == path) {
        list.push(path.to_owned());
    }
}
