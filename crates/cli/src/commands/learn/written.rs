//! What was learnt, as a toolbox file and as the flags of `ringfence run`.
//!
//! INVARIANT: what nobody has agreed to stands in comments, and in comments alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ringfence::policy::{Limits, ToolName};
use serde_json::{Map, Value, json};

use super::base::written_name;
use super::ceiling::Ground;
use super::learnt::Learnt;
use super::name::{Element, elements, path_text};
use crate::shown::{one_line, shell_word};

/// A list that takes more than this has more than one line.
const LONG: usize = 200;

/// What a toolbox is written of.
pub(super) struct Page<'a> {
    pub(super) name: &'a ToolName,
    /// The program as it was asked for, and its arguments.
    pub(super) command: &'a [String],
    /// The program that was started, which an earlier round need not have known.
    pub(super) program: &'a Path,
    pub(super) learnt: &'a Learnt,
    pub(super) ground: &'a Ground,
    pub(super) limits: &'a Limits,
    /// Whether it is an MCP server and not a tool.
    pub(super) entry: Kind,
    /// What the reader is to know of the run.
    pub(super) notes: Vec<String>,
}

/// What kind of entry is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Server,
    Tool,
}

impl Page<'_> {
    /// Writes the toolbox.
    pub(super) fn toolbox(&self) -> String {
        let mut text = String::from(
            "# Written by `ringfence learn`: what one run used, and no more. Another run may need more: learn again with --from.\n\
             # Which variables a program reads cannot be observed: it has those that were passed with --env.\n",
        );
        let mut comment = |line: &str| {
            // Names come from the command: each stays on its line, and inside the comment.
            let _written = writeln!(text, "# {}", one_line(line));
        };
        let words: Vec<String> = self.command.iter().map(|word| shell_word(word)).collect();
        comment(&format!("The run: {}", words.join(" ")));
        self.notes.iter().for_each(|note| comment(note));
        if !self.learnt.review.is_empty() {
            comment(
                "Asked for and NOT granted. Look at each; what you agree to goes into the personality and the entry below.",
            );
        }
        for review in &self.learnt.review {
            comment(&format!("review: {} {}: {}", review.verb, self.shortened(&review.what), review.why));
        }
        let _written = writeln!(text, "\n[personality]\nid = {}", quoted(&format!("learnt-{}", self.name)));
        for (surface, value) in self.surfaces(["allow", "allow"]) {
            let _written = writeln!(text, "{surface} = {value}");
        }
        text.push_str(&match self.entry {
            Kind::Server => self.server(),
            Kind::Tool => self.tool(),
        });
        text
    }

    fn tool(&self) -> String {
        let mut text = format!(
            "\n[[tool]]\nname = {}\ndescription = {}\n",
            quoted(self.name.as_str()),
            quoted(&format!("Run {}, as it was learnt", self.name))
        );
        let (command, values) = self.words();
        let _written = writeln!(text, "command = {}", listed(&command));
        let _written = writeln!(text, "input = {}", input(&values));
        text.push_str("output = { type = \"string\" }\n");
        if *self.limits != Limits::default() {
            let _written = writeln!(text, "limits = {}", inline(&json!(self.limits)));
        }
        let _written = writeln!(text, "capabilities = {}", self.capabilities());
        text
    }

    fn server(&self) -> String {
        let (command, _) = self.words();
        let reach = self.learnt.read.iter().chain(&self.learnt.write);
        let is_granted = reach.into_iter().any(|path| self.ground.workspace.starts_with(path));
        format!(
            "\n[[server]]\nname = {}\ncommand = {}\n{}capabilities = {}\n",
            quoted(&self.name.as_str().to_ascii_lowercase().replace('.', "-")),
            listed(&command),
            if is_granted { "directory = \"${workspace}\"\n" } else { "" },
            self.capabilities()
        )
    }

    /// Returns the command as the entry has it, and the values that each call gives.
    pub(super) fn words(&self) -> (Vec<String>, Map<String, Value>) {
        let arguments = self.command.get(1..).unwrap_or_default();
        let (mut command, mut values) = (vec![self.own_name()], Map::new());
        if self.entry == Kind::Server {
            // A server's command has variables, and no places for values.
            command.extend(arguments.iter().cloned());
            return (command, values);
        }
        for element in elements(arguments, self.ground, &self.learnt.placed) {
            command.push(match element {
                Element::Literal(text) => text,
                Element::Value { name, value } => {
                    let place = format!("{{{name}}}");
                    values.insert(name, json!({ "type": "string", "const": value }));
                    place
                }
            });
        }
        (command, values)
    }

    /// Returns what the toolbox calls the program that was started.
    fn own_name(&self) -> String {
        let own = written_name(self.program);
        own.unwrap_or_else(|| self.command.first().cloned().unwrap_or_default())
    }

    fn capabilities(&self) -> String {
        let surfaces = self.surfaces(["allowedHosts", "allowedBinaries"]).into_iter();
        let surfaces: Vec<String> = surfaces.map(|(surface, value)| format!("{surface} = {value}")).collect();
        format!("{{ {} }}", surfaces.join(", "))
    }

    /// Returns each surface that is used, with the keys that hosts and binaries have in this place.
    fn surfaces(&self, [hosts, binaries]: [&str; 2]) -> Vec<(&'static str, String)> {
        let learnt = self.learnt;
        let paths = |paths: &[PathBuf]| {
            listed(&paths.iter().filter_map(|path| path_text(path, self.ground)).collect::<Vec<_>>())
        };
        let mut all = Vec::new();
        let mut reach = Vec::new();
        for (direction, list) in [("read", &learnt.read), ("write", &learnt.write)] {
            if !list.is_empty() {
                reach.push(format!("{direction} = {}", paths(list)));
            }
        }
        if !reach.is_empty() {
            all.push(("fs_reach", format!("{{ {} }}", reach.join(", "))));
        }
        if !learnt.hosts.is_empty() {
            let private = match hosts {
                "allow" if !learnt.private.is_empty() => format!(", private = {}", listed(&learnt.private)),
                _ => String::new(),
            };
            all.push(("network", format!("{{ {hosts} = {}{private} }}", listed(&learnt.hosts))));
        }
        let names: Vec<String> = learnt.programs.iter().filter_map(|path| written_name(path)).collect();
        all.push(("process", format!("{{ {binaries} = {} }}", listed(&names))));
        if !learnt.environment.is_empty() {
            let list = listed(&learnt.environment);
            all.push(("environment", if hosts == "allow" { format!("{{ allow = {list} }}") } else { list }));
        }
        all
    }

    /// Writes the same as flags.
    pub(super) fn run_line(&self) -> String {
        let learnt = self.learnt;
        let mut words = vec!["ringfence".to_owned(), "run".to_owned()];
        let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), shell_word(value)]);
        let granted = |path: &PathBuf| self.ground.workspace.starts_with(path);
        if learnt.from_workspace && !learnt.read.iter().chain(&learnt.write).any(granted) {
            flag("--cwd", &self.ground.workspace.to_string_lossy());
        }
        // What may be written may be read, there.
        let is_written = |path: &&PathBuf| learnt.write.iter().any(|root| path.starts_with(root));
        let read = learnt.read.iter().filter(|path| !is_written(path)).map(|path| ("--read", path));
        for (name, path) in read.chain(learnt.write.iter().map(|path| ("--write", path))) {
            flag(name, &path.to_string_lossy());
        }
        // The command itself may always be started.
        let own = self.own_name();
        let others = learnt.programs.iter().filter_map(|path| written_name(path)).filter(|name| *name != own);
        for program in others {
            flag("--exec", &program);
        }
        let folders = learnt.libraries.iter().filter_map(|library| library.parent()?.to_str());
        folders.collect::<BTreeSet<_>>().into_iter().for_each(|folder| flag("--exec", folder));
        learnt.hosts.iter().for_each(|host| flag("--host", host));
        learnt.private.iter().for_each(|private| flag("--private", private));
        learnt.environment.iter().for_each(|name| flag("--env", name));
        words.push("--".into());
        let full = |word: &String| match learnt.placed.contains(word) {
            true => shell_word(&self.ground.workspace.join(word).to_string_lossy()),
            false => shell_word(word),
        };
        words.extend(self.command.iter().map(full));
        words.join(" ")
    }

    fn shortened(&self, what: &str) -> String {
        let path = PathBuf::from(what);
        if path.is_absolute() {
            path_text(&path, self.ground).unwrap_or_else(|| what.to_owned())
        } else {
            what.to_owned()
        }
    }
}

/// A schema that takes these values and nothing else.
fn input(values: &Map<String, Value>) -> String {
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    if let (Some(schema), false) = (schema.as_object_mut(), values.is_empty()) {
        schema.insert("required".into(), json!(values.keys().collect::<Vec<_>>()));
        schema.insert("properties".into(), Value::Object(values.clone()));
    }
    inline(&schema)
}

fn listed(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    let line = texts.join(", ");
    // A long list has a line for each, so that it can be read and compared.
    if line.len() > LONG { format!("[\n  {},\n]", texts.join(",\n  ")) } else { format!("[{line}]") }
}

/// A basic string of TOML. Its escapes are those of JSON, and the one control character that JSON leaves alone.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Writes JSON as inline TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}
