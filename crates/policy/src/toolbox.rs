//! A toolbox file: a personality, its tools and its MCP servers, as TOML or as JSON of the same shape.
//!
//! Reading is strict: an unknown or a duplicate key is an error that names the key and its place. What a schema
//! file or a variable adds comes from the caller, because this crate touches nothing.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::expand::expand_text;
use crate::json::line_and_column;
use crate::{
    AgentEntry, Builtin, Capabilities, Constraints, Declaration, EntryGap, Gap, GatewayEntry, Idempotency,
    JsonLimits, Limits, NetworkCeiling, Personality, Private, Risk, Runtime, SafetyClass, ServerEntry, Table,
    ToolName, Variables, parse_json,
};

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
    /// The agents that may use it.
    #[serde(rename = "agent", alias = "agents")]
    pub agents: Vec<AgentEntry>,
}

/// Whom to tell when a call waits for people: a web server or a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "NotifyEntry")]
pub enum Notify {
    /// A program, which is told on its standard input.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// What it may reach.
        network: NetworkCeiling,
    },
    /// A web server, which is sent a signed request.
    Webhook {
        /// Its address.
        url: String,
        /// The ref of the secret that signs.
        secret: String,
        /// The private addresses that are permitted.
        private: Private,
    },
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NotifyEntry {
    webhook: Option<String>,
    secret: Option<String>,
    private: Private,
    command: Option<Vec<String>>,
    network: NetworkCeiling,
}

impl TryFrom<NotifyEntry> for Notify {
    type Error = &'static str;

    fn try_from(entry: NotifyEntry) -> Result<Self, &'static str> {
        match entry {
            NotifyEntry { webhook: Some(url), secret: Some(secret), private, command: None, network }
                if network == NetworkCeiling::default() =>
            {
                Ok(Self::Webhook { url, secret, private })
            }
            NotifyEntry { webhook: None, secret: None, private, command: Some(command), network }
                if private.is_empty() && !command.is_empty() =>
            {
                Ok(Self::Command { command, network })
            }
            _ => Err(
                "a `notify` entry has `webhook` and `secret` (and `private`), or `command` (and `network`)",
            ),
        }
    }
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
    command: Option<Vec<String>>,
    #[serde(default)]
    builtin: Option<Builtin>,
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
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let (line, column) = error.span().map_or((0, 0), |span| line_and_column(text, span.start));
            let message = match (error.message(), text.get(span)) {
                ("duplicate key", Some(key)) => format!("key `{}` appears twice", key.trim()),
                (message, _) => one_line(message),
            };
            DocumentError { line, column, message }
        })
    }

    /// Reads JSON of the same shape.
    ///
    /// # Errors
    ///
    /// The first problem, with its line and column.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        parse_json(text, JsonLimits::DOCUMENT).map_err(|error| DocumentError {
            line: error.line,
            column: error.column,
            message: error.message,
        })?;
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            DocumentError { line: error.line(), column: error.column(), message }
        })
    }

    /// Turns the entries into declarations: variables expanded, schema files read by `schema`.
    ///
    /// What is wrong with a tool is returned beside the declarations of the others, all at once.
    pub fn declarations(
        &self,
        variables: &Variables,
        schema: impl FnMut(&str) -> Result<Value, String>,
    ) -> (Vec<Declaration>, Vec<Gap>) {
        self.declared(Some(variables), schema)
    }

    /// The same with variables left as they are written, for what must be the same on every machine.
    pub fn written_declarations(
        &self,
        schema: impl FnMut(&str) -> Result<Value, String>,
    ) -> (Vec<Declaration>, Vec<Gap>) {
        self.declared(None, schema)
    }

    /// Returns the servers with variables left as they are written.
    pub fn written_servers(&self) -> &[ServerEntry] {
        &self.servers
    }

    /// Returns who connects and who is told, as it is written.
    pub fn outside(&self) -> crate::manifest::Outside<'_> {
        crate::manifest::Outside { agents: &self.agents, gateway: Some(&self.gateway), notify: &self.notify }
    }

    fn declared(
        &self,
        variables: Option<&Variables>,
        mut schema: impl FnMut(&str) -> Result<Value, String>,
    ) -> (Vec<Declaration>, Vec<Gap>) {
        let mut declarations: Vec<Declaration> = Vec::new();
        let mut gaps = Vec::new();
        for entry in &self.tools {
            match entry.declaration(variables, &mut schema) {
                Ok(declaration) if declarations.iter().any(|other| other.name == declaration.name) => {
                    gaps.push(entry.gap(
                        "name",
                        "another tool of this file has the same name".into(),
                        "rename one",
                    ));
                }
                Ok(declaration) => declarations.push(declaration),
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
}

impl Entry {
    fn gap(&self, field: &'static str, message: String, fix: &str) -> Gap {
        Gap { tool: self.name.clone(), capability: field.into(), message, fix: fix.into() }
    }

    fn declaration(
        &self,
        variables: Option<&Variables>,
        schema: &mut impl FnMut(&str) -> Result<Value, String>,
    ) -> Result<Declaration, Vec<Gap>> {
        let mut gaps = Vec::new();
        let mut load = |field: &'static str, source: &Schema, default: Option<Value>| match (source, default)
        {
            (Schema::Inline(value), _) => value.clone(),
            (Schema::Absent, Some(value)) => value,
            (Schema::Absent, None) => {
                gaps.push(self.gap(
                    field,
                    format!("has no `{field}` schema"),
                    "give a JSON Schema inline or a file name",
                ));
                Value::Null
            }
            (Schema::File(file), _) => schema(file).unwrap_or_else(|error| {
                gaps.push(self.gap(
                    field,
                    format!("schema file `{file}`: {error}"),
                    "correct the file or its name",
                ));
                Value::Null
            }),
        };
        let (default_input, default_output) = self.builtin.map(builtin_schemas).unzip();
        let input = load("input", &self.input, default_input);
        let output = load("output", &self.output, default_output);
        let runtime = match (&self.command, self.builtin) {
            (Some(command), None) => {
                let expanded = |part: &String| match variables {
                    Some(variables) => expand_text(part, variables, as_template),
                    None => Ok(part.clone()),
                };
                match command.iter().map(expanded).collect() {
                    Ok(command) => Runtime::Command(command),
                    Err(message) => {
                        gaps.push(self.gap("command", message, "use ${workspace}, ${home} or ${self}"));
                        Runtime::Native
                    }
                }
            }
            (None, Some(builtin)) => Runtime::Builtin(builtin),
            (None, None) => {
                let fix = "give a `command = [\"program\", …]` or a `builtin`";
                gaps.push(self.gap("command", "says nothing of what runs when it is called".into(), fix));
                Runtime::Native
            }
            (Some(_), Some(_)) => {
                gaps.push(self.gap("command", "has both `command` and `builtin`".into(), "keep one"));
                Runtime::Native
            }
        };
        let capabilities = match &self.capabilities {
            None => None,
            Some(capabilities) => match variables
                .map_or_else(|| Ok(capabilities.clone()), |variables| capabilities.expand(variables))
            {
                Ok(capabilities) => Some(capabilities),
                Err(error) => {
                    gaps.push(self.gap("fs_reach", error.to_string(), "give the variable a value"));
                    None
                }
            },
        };
        if !gaps.is_empty() {
            return Err(gaps);
        }
        Ok(Declaration {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            input,
            output,
            capabilities,
            class: self.class,
            risk: self.risk,
            idempotency: self.idempotency.clone(),
            constraints: self.constraints.clone(),
            limits: self.limits,
            runtime,
        })
    }
}

/// Braces of a value are doubled, so that a folder name is never read as a place for an argument.
fn as_template(value: &str) -> String {
    value.replace('{', "{{").replace('}', "}}")
}

fn builtin_schemas(builtin: Builtin) -> (Value, Value) {
    let object = |properties: Value, required: &[&str]| {
        serde_json::json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    };
    let path =
        |direction: &str| serde_json::json!({"type": "string", "format": "path", "direction": direction});
    let text = serde_json::json!({"type": "string"});
    match builtin {
        Builtin::FetchUrl => (object(serde_json::json!({"url": text}), &["url"]), text),
        Builtin::ListFiles => (
            object(serde_json::json!({"path": path("read")}), &["path"]),
            serde_json::json!({"type": "array", "items": {"type": "string"}}),
        ),
        Builtin::ReadFile => (object(serde_json::json!({"path": path("read")}), &["path"]), text),
        Builtin::WriteFile => {
            let properties = serde_json::json!({"path": path("write"), "content": text});
            (object(properties, &["path", "content"]), text)
        }
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (tools, gaps) = toolbox.declarations(&variables(), |_| Err("no file is named".into()));
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
        let (tools, gaps) =
            Toolbox::from_toml(text).unwrap().declarations(&variables(), |_| Err("no such file".into()));
        let found: Vec<_> = gaps.iter().map(|gap| format!("{} {}", gap.tool, gap.capability)).collect();
        assert!(tools.is_empty());
        assert_eq!(found, ["one input", "one output", "one command", "two input", "two command"]);
    }
}
