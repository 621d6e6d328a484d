//! A toolbox file: a personality, its tools and its MCP servers, as TOML or as JSON of the same shape.
//!
//! Reading is strict: an unknown or a duplicate key is an error that names the key and its place. What a schema
//! file, a component or a variable adds comes from the caller, because this crate touches nothing.

mod declare;
mod fault;
mod file;
mod notify;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toml::de::DeTable;

use crate::form::list_for_table;
use crate::json::line_and_column;
use crate::{
    AgentEntry, Assurance, Builtin, Capabilities, ConsoleEntry, Constraints, ContainerEntry, Declaration,
    EntryGap, Gap, GatewayEntry, Idempotency, JsonLimits, Limits, Personality, Risk, RunEntry, SafetyClass,
    ServerEntry, Table, ToolName, Variables, parse_json,
};

pub use file::{ComponentFile, NoFiles, ToolFiles};
pub use notify::Notify;

/// A personality and its tools as they were written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolbox {
    /// The operator's ceiling; absent permits nothing.
    pub personality: Option<Personality>,
    /// The tools.
    #[serde(rename = "tool", alias = "tools")]
    tools: Vec<Entry>,
    /// Whom to tell when a call waits for people.
    pub notify: Vec<Notify>,
    /// The MCP servers behind the fence, as written.
    #[serde(rename = "server", alias = "servers")]
    servers: Vec<ServerEntry>,
    /// The endpoint for agents, as written.
    gateway: GatewayEntry,
    /// The page for people, as written.
    console: ConsoleEntry,
    /// Which container engine runs the tools that run in images.
    pub container: ContainerEntry,
    /// The agents that may use it.
    #[serde(rename = "agent", alias = "agents")]
    pub agents: Vec<AgentEntry>,
    /// What commands are granted that people run by hand, by name.
    pub run: BTreeMap<String, RunEntry>,
}

/// Why a file was not read, and where.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct DocumentError {
    /// Line from 1; 0 when the place is not known.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
    /// What is wrong, in one line.
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: ToolName,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "inputSchema", alias = "input_schema")]
    input: Schema,
    #[serde(default, alias = "outputSchema", alias = "output_schema")]
    output: Schema,
    #[serde(default)]
    capabilities: Option<Capabilities>,
    #[serde(default, alias = "safetyClass", alias = "safety_class")]
    class: Option<SafetyClass>,
    #[serde(default)]
    risk: Risk,
    #[serde(default)]
    idempotency: Idempotency,
    #[serde(default)]
    constraints: Constraints,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    assurance: Option<Assurance>,
    #[serde(default)]
    command: Option<Vec<String>>,
    #[serde(default)]
    builtin: Option<Builtin>,
    #[serde(default)]
    runtime: Option<Kind>,
    #[serde(default)]
    component: Option<String>,
    #[serde(default)]
    image: Option<String>,
}

/// What runs a tool, where it is neither a program of this machine nor one of ringfence's own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Container,
    Wasm,
}

/// A schema inline, or the name of the file that holds it.
#[derive(Debug, Default)]
enum Schema {
    #[default]
    Absent,
    File(String),
    Inline(Value),
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(file) => Self::File(file),
            inline => Self::Inline(inline),
        })
    }
}

impl Toolbox {
    /// Reads TOML.
    ///
    /// # Errors
    ///
    /// The first problem, with its line and column.
    pub fn from_toml(text: &str) -> Result<Self, DocumentError> {
        let document = DeTable::parse(text).map_err(|error| told(text, &error))?;
        if let Some((_, fault)) = fault::misplaced(text, &document) {
            return Err(fault);
        }
        Self::deserialize(toml::Deserializer::from(document)).map_err(|error| told(text, &error))
    }

    /// Reads JSON of the same shape.
    ///
    /// # Errors
    ///
    /// The first problem, with its line and column.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        let value = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| DocumentError {
            line: error.line,
            column: error.column,
            message: error.message,
        })?;
        if !value.is_object() {
            return Err(DocumentError { line: 1, column: 1, message: "expected an object".into() });
        }
        if let Some((key, _)) = list_for_table(&value) {
            return Err(DocumentError { line: 0, column: 0, message: fault::no_table(key) });
        }
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            DocumentError { line: error.line(), column: error.column(), message }
        })
    }

    /// Turns the entries into declarations: variables expanded, schemas and components read by `files`.
    ///
    /// What is wrong with a tool is returned beside the declarations of the others, all at once.
    pub fn declarations(&self, variables: &Variables, files: impl ToolFiles) -> (Vec<Declaration>, Vec<Gap>) {
        self.declared(Some(variables), files)
    }

    /// Returns the tools that a schema, a file or what runs is missing of, as far as they can be read: for finding what else is wrong
    /// with them, and for nothing else.
    pub fn incomplete_declarations(&self, variables: &Variables, sound: &[Declaration]) -> Vec<Declaration> {
        let others = self.tools.iter().filter(|entry| sound.iter().all(|known| known.name != entry.name));
        others.filter_map(|entry| entry.incomplete(variables)).collect()
    }

    /// The same with variables left as they are written, for what must be the same on every machine.
    pub fn written_declarations(&self, files: impl ToolFiles) -> (Vec<Declaration>, Vec<Gap>) {
        self.declared(None, files)
    }

    /// Returns the servers with variables left as they are written.
    pub fn written_servers(&self) -> &[ServerEntry] {
        &self.servers
    }

    /// Returns who connects and who is told, as it is written.
    pub fn outside(&self) -> crate::manifest::Outside<'_> {
        crate::manifest::Outside {
            agents: &self.agents,
            console: Some(&self.console),
            container: Some(&self.container),
            gateway: Some(&self.gateway),
            notify: &self.notify,
        }
    }

    fn declared(
        &self,
        variables: Option<&Variables>,
        mut files: impl ToolFiles,
    ) -> (Vec<Declaration>, Vec<Gap>) {
        let mut declarations: Vec<Declaration> = Vec::new();
        let mut gaps = Vec::new();
        for entry in &self.tools {
            match entry.declaration(variables, &mut files) {
                Ok(declaration) if declarations.iter().any(|other| other.name == declaration.name) => {
                    gaps.push(entry.gap(
                        "name",
                        "another tool of this file has the same name".into(),
                        "rename one",
                    ));
                }
                Ok(declaration) => {
                    if let Some(other) = forced_alike(&declarations, &declaration) {
                        gaps.push(entry.gap(
                            "constraints",
                            format!("`forceAtStep` names the call of a run that must be `{other}`"),
                            "give one of them another step",
                        ));
                    }
                    declarations.push(declaration);
                }
                Err(found) => gaps.extend(found),
            }
        }
        (declarations, gaps)
    }

    /// Returns the servers with variables expanded, and beside them what is wrong with the others.
    pub fn servers(&self, variables: &Variables) -> (Vec<ServerEntry>, Vec<EntryGap>) {
        let mut servers: Vec<ServerEntry> = Vec::new();
        let mut gaps = Vec::new();
        for entry in &self.servers {
            let gap = |field: &'static str, message: String, fix: &str| {
                EntryGap::new(Table::Server, entry.name.as_str(), field, message, fix)
            };
            match entry.expanded(variables) {
                Ok(server) if servers.iter().any(|other| other.name == server.name) => {
                    let message = "another server of this file has the same name".into();
                    gaps.push(gap("name", message, "rename one"));
                }
                Ok(server) => servers.push(server),
                Err(faults) => gaps.extend(faults.into_iter().map(|(field, message)| {
                    gap(field, message, "use ${workspace}, ${home} or ${self}, and give them values")
                })),
            }
        }
        (servers, gaps)
    }

    /// Returns the endpoint with variables expanded, and what is wrong with it.
    pub fn gateway(&self, variables: &Variables) -> (GatewayEntry, Vec<EntryGap>) {
        self.gateway.expanded(variables)
    }

    /// Returns the page for people with variables expanded, and what is wrong with it.
    ///
    /// Where it has no files of TLS, it has those of the gateway.
    pub fn console(&self, variables: &Variables) -> (ConsoleEntry, Vec<EntryGap>) {
        let (gateway, _) = self.gateway.expanded(variables);
        self.console.expanded(variables, gateway.tls.as_ref())
    }
}

/// Returns the tool that must be the same call of a run as this one, where there is one.
fn forced_alike<'a>(others: &'a [Declaration], new: &Declaration) -> Option<&'a ToolName> {
    let step = new.constraints.force_at_step?;
    others.iter().find(|other| other.constraints.force_at_step == Some(step)).map(|other| &other.name)
}

fn told(text: &str, error: &toml::de::Error) -> DocumentError {
    let span = error.span().unwrap_or_default();
    let (line, column) = error.span().map_or((0, 0), |span| line_and_column(text, span.start));
    let message = match (error.message(), text.get(span)) {
        ("duplicate key", Some(key)) => format!("key `{}` appears twice", key.trim()),
        // In the words of TOML.
        (message, _) => one_line(message)
            .replace("expected a sequence", "expected a list")
            .replace("expected a map", "expected a table")
            .replace("invalid type: map", "invalid type: table")
            .replace("invalid type: sequence", "invalid type: list"),
    };
    DocumentError { line, column, message }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Runtime;

    const GOOD: &str = r#"
[personality]
id = "researcher"
fs_reach = { read = ["${workspace}"] }

[[tool]]
name = "grep"
description = "Search the workspace"
command = ["rg", "--", "{pattern}", "${workspace}"]
input = { type = "object", properties = { pattern = { type = "string" } }, required = ["pattern"] }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["rg"] } }
"#;

    fn variables() -> Variables {
        Variables { workspace: Some("/srv/{w}".into()), ..Variables::default() }
    }

    #[test]
    fn somebody_to_tell_is_a_server_or_a_program() {
        #[rustfmt::skip]
        let cases = [
            (r#"webhook = "https://hooks.example/", secret = "hooks/key""#,                          true),
            (r#"webhook = "http://127.0.0.1/", secret = "hooks/key", private = ["127.0.0.1"]"#,      true),
            (r#"command = ["mail", "-s", "waiting"], network = { allow = ["smtp.example:25"] }"#,    true),
            (r#"webhook = "https://hooks.example/""#,                                                false),
            (r#"webhook = "https://hooks.example/", secret = "k", command = ["mail"]"#,              false),
            (r#"command = []"#,                                                                      false),
            (r#"command = ["mail"], secret = "k""#,                                                  false),
            (r#"command = ["mail"], shell = true"#,                                                  false),
            ("",                                                                                     false),
        ];
        for (entry, fits) in cases {
            let read = Toolbox::from_toml(&format!("notify = [{{ {entry} }}]"));
            assert_eq!(read.is_ok(), fits, "{entry}: {read:?}");
        }
    }

    #[test]
    fn reads_the_example_of_the_design() {
        let toolbox = Toolbox::from_toml(GOOD).unwrap();
        let (tools, gaps) = toolbox.declarations(&variables(), NoFiles);
        assert!(gaps.is_empty(), "{gaps:?}");
        assert_eq!(
            tools[0].runtime,
            Runtime::Command(["rg", "--", "{pattern}", "/srv/{{w}}"].map(str::to_owned).to_vec())
        );
        assert_eq!(tools[0].class(), SafetyClass::Read);
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        #[rustfmt::skip]
        let cases = [
            ("[personality]\nidd = \"x\"",                         2, "unknown field `idd`"),
            ("[personality]\nid = \"x\"\nid = \"y\"",              3, "key `id` appears twice"),
            ("[[tool]]\nname = \"a b\"",                           2, "tool name `a b`"),
            ("[personality]\nnetwork = { allow = [\n\"*.*\" ] }",  3, "`*.*`"),
            ("[personality\n",                                     1, "unclosed"),
            ("[[tool]]\nname = \"a\"\ncapabilities = { secrets = [\"*\"] }", 3, "secret ref `*`"),
        ];
        for (text, line, message) in cases {
            let error = Toolbox::from_toml(text).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text}: {error:?}");
        }
        let error = Toolbox::from_json("{\"tool\": [],\n \"tool\": []}").unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (2, "key `tool` appears twice"));
        let error = Toolbox::from_json("{\n\"personality\": {\"nwtork\": {}}}").unwrap_err();
        assert!(error.line == 2 && error.message.starts_with("unknown field `nwtork`"), "{error:?}");
    }

    #[test]
    fn returns_all_gaps_of_all_tools() {
        let text = r#"
[[tool]]
name = "one"
[[tool]]
name = "two"
input = "missing.json"
output = true
builtin = "read_file"
command = ["x"]
"#;
        let (tools, gaps) = Toolbox::from_toml(text).unwrap().declarations(&variables(), NoFiles);
        let found: Vec<_> = gaps.iter().map(|gap| format!("{} {}", gap.tool, gap.capability)).collect();
        assert!(tools.is_empty());
        assert_eq!(found, ["one input", "one output", "one command", "two input", "two command"]);
    }
}
