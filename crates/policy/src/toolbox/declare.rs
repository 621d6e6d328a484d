//! From an entry of a toolbox, or what a component says of itself, to a declaration.

use serde_json::Value;

use super::{ComponentFile, Entry, Kind, NoFiles, Schema, ToolFiles};
use crate::expand::expand_text;
use crate::{
    Builtin, Declaration, Gap, Idempotency, Image, JsonLimits, Limits, Risk, Runtime, Variables, parse_json,
};

impl ComponentFile {
    /// Returns what the component declares: a tool as a toolbox would write it, without what runs.
    ///
    /// # Errors
    ///
    /// The declaration is not such an entry, or a variable in it has no value.
    pub fn declared(&self, variables: Option<&Variables>) -> Result<Declaration, String> {
        let text = &self.declaration;
        parse_json(text, JsonLimits::DOCUMENT).map_err(|error| format!("its declaration: {error}"))?;
        let entry: Entry = serde_json::from_str(text).map_err(|error| format!("its declaration: {error}"))?;
        let runs = [
            ("command", entry.command.is_some()),
            ("builtin", entry.builtin.is_some()),
            ("runtime", entry.runtime.is_some()),
            ("component", entry.component.is_some()),
            ("image", entry.image.is_some()),
            // Nobody but an operator says how sure is sure enough.
            ("assurance", entry.assurance.is_some()),
        ];
        if let Some((field, _)) = runs.into_iter().find(|(_, given)| *given) {
            return Err(format!("its declaration has `{field}`, which is not for a component to say"));
        }
        let runtime = Runtime::Wasm { component: self.digest.clone() };
        let declared = entry.declared(variables, &mut NoFiles, runtime).map_err(|gaps| {
            let said = |gap: Gap| format!("its declaration, `{}`: {}", gap.capability, gap.message);
            gaps.into_iter().map(said).collect::<Vec<_>>().join("; ")
        })?;
        // Whoever wrote it does not decide what it may spend.
        Ok(Declaration { limits: declared.limits.meet(&Limits::of_components()), ..declared })
    }
}

impl Entry {
    pub(super) fn gap(&self, field: &'static str, message: String, fix: &str) -> Gap {
        Gap { tool: self.name.clone(), capability: field.into(), message, fix: fix.into() }
    }

    pub(super) fn declaration(
        &self,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
    ) -> Result<Declaration, Vec<Gap>> {
        match self.runtime {
            Some(Kind::Wasm) => self.of_component(variables, files),
            Some(Kind::Container) => self.in_container(variables, files),
            None => match self.misplaced(&[("component", "wasm"), ("image", "container")]) {
                Some(gap) => Err(vec![gap]),
                None => self.of_this_machine(variables, files),
            },
        }
    }

    /// Returns what can be read of a tool that is not whole.
    pub(super) fn incomplete(&self, variables: &Variables) -> Option<Declaration> {
        // What a component declares is in the component.
        if self.runtime == Some(Kind::Wasm) {
            return None;
        }
        let schema = |schema: &Schema| match schema {
            Schema::Inline(value) => value.clone(),
            Schema::Absent | Schema::File(_) => Value::Null,
        };
        let command = self.command.as_ref().filter(|_| self.runtime.is_none() && self.builtin.is_none());
        let command = command.and_then(|command| self.expanded(command, Some(variables)).ok());
        Some(Declaration {
            name: self.name.clone(),
            title: None,
            description: String::new(),
            input: schema(&self.input),
            output: schema(&self.output),
            capabilities: self.capabilities.as_ref().and_then(|declared| declared.expand(variables).ok()),
            class: self.class,
            risk: self.risk,
            idempotency: self.idempotency.clone(),
            constraints: self.constraints.clone(),
            limits: self.limits,
            assurance: self.assurance,
            runtime: command.map_or(Runtime::Native, Runtime::Command),
        })
    }

    fn of_this_machine(
        &self,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
    ) -> Result<Declaration, Vec<Gap>> {
        let runtime = match (&self.command, self.builtin) {
            (Some(command), None) => self.expanded(command, variables).map(Runtime::Command),
            (None, Some(builtin)) => Ok(Runtime::Builtin(builtin)),
            (None, None) => {
                let fix = "give a `command = [\"program\", …]`, a `builtin` or a `runtime`";
                Err(self.gap("command", "says nothing of what runs when it is called".into(), fix))
            }
            (Some(_), Some(_)) => {
                Err(self.gap("command", "has both `command` and `builtin`".into(), "keep one"))
            }
        };
        self.with(runtime, variables, files)
    }

    fn in_container(
        &self,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
    ) -> Result<Declaration, Vec<Gap>> {
        let misplaced = self.misplaced(&[("component", "wasm"), ("builtin", "")]);
        let runtime = match (&self.command, &self.image, misplaced) {
            (_, _, Some(gap)) => Err(gap),
            (Some(command), Some(image), None) => match image.parse::<Image>() {
                Ok(image) => self
                    .expanded(command, variables)
                    .map(|command| Runtime::Container { image: image.to_string(), command }),
                Err(error) => Err(self.gap(
                    "image",
                    error.to_string(),
                    "write `name@sha256:…`; the engine's `image inspect` shows the digest",
                )),
            },
            (None, _, None) => {
                let fix = "give a `command = [\"program\", …]` of the image";
                Err(self.gap("command", "says nothing of what runs when it is called".into(), fix))
            }
            (_, None, None) => {
                let fix = "give an `image = \"name@sha256:…\"`";
                Err(self.gap("image", "does not say in which image it runs".into(), fix))
            }
        };
        self.with(runtime, variables, files)
    }

    /// Everything but the name and what it may spend is what the component says of itself.
    fn of_component(
        &self,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
    ) -> Result<Declaration, Vec<Gap>> {
        let one = |gap: Gap| vec![gap];
        let said = [
            ("title", self.title.is_some()),
            ("description", !self.description.is_empty()),
            ("input", !matches!(self.input, Schema::Absent)),
            ("output", !matches!(self.output, Schema::Absent)),
            ("capabilities", self.capabilities.is_some()),
            ("class", self.class.is_some()),
            ("risk", self.risk != Risk::default()),
            ("idempotency", self.idempotency != Idempotency::default()),
            ("constraints", !self.constraints.is_none()),
        ];
        if let Some((field, _)) = said.into_iter().find(|(_, given)| *given) {
            let message = format!("`{field}` of a component is what the component itself declares");
            let fix = "leave it out; the personality is what holds a component back";
            return Err(one(self.gap(field, message, fix)));
        }
        if let Some(gap) = self.misplaced(&[("command", ""), ("builtin", ""), ("image", "container")]) {
            return Err(one(gap));
        }
        let Some(file) = &self.component else {
            let fix = "give a `component = \"plugin.wasm\"`";
            return Err(one(self.gap("component", "does not say which component it is".into(), fix)));
        };
        let found = files.component(file).and_then(|found| found.declared(variables));
        let declaration = found.map_err(|error| {
            one(self.gap("component", format!("`{file}`: {error}"), "correct the file or its name"))
        })?;
        if declaration.name != self.name {
            let message = format!("`{file}` says that it is the tool `{}`", declaration.name);
            let fix = "call the entry what the component is called, or ask for the right component";
            return Err(one(self.gap("name", message, fix)));
        }
        let limits = self.limits.over(&declaration.limits);
        Ok(Declaration { assurance: self.assurance, limits, ..declaration })
    }

    /// Returns the first of these fields that is given; the second is the runtime that it belongs to.
    fn misplaced(&self, fields: &[(&'static str, &str)]) -> Option<Gap> {
        let given = |field: &str| match field {
            "builtin" => self.builtin.is_some(),
            "command" => self.command.is_some(),
            "component" => self.component.is_some(),
            "image" => self.image.is_some(),
            _ => false,
        };
        let (field, runtime) = fields.iter().find(|(field, _)| given(field))?;
        let fix = if runtime.is_empty() {
            "leave it out".to_owned()
        } else {
            format!("write runtime = \"{runtime}\", or leave it out")
        };
        Some(self.gap(field, format!("`{field}` does not belong to this runtime"), &fix))
    }

    fn expanded(&self, command: &[String], variables: Option<&Variables>) -> Result<Vec<String>, Gap> {
        let expanded = |part: &String| match variables {
            Some(variables) => expand_text(part, variables, as_template),
            None => Ok(part.clone()),
        };
        let expanded = command.iter().map(expanded).collect::<Result<_, _>>();
        expanded.map_err(|message| self.gap("command", message, "use ${workspace}, ${home} or ${self}"))
    }

    fn with(
        &self,
        runtime: Result<Runtime, Gap>,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
    ) -> Result<Declaration, Vec<Gap>> {
        match runtime {
            Ok(runtime) => self.declared(variables, files, runtime),
            // What else is wrong is said too.
            Err(gap) => {
                let others = self.declared(variables, files, Runtime::Native).err();
                Err(others.into_iter().flatten().chain([gap]).collect())
            }
        }
    }

    fn declared(
        &self,
        variables: Option<&Variables>,
        files: &mut impl ToolFiles,
        runtime: Runtime,
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
            (Schema::File(file), _) => files.schema(file).unwrap_or_else(|error| {
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
            assurance: self.assurance,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Personality, Toolbox, validate_registration};

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// One component, of the name that is asked for first.
    struct Plugins(&'static str);

    impl ToolFiles for Plugins {
        fn schema(&mut self, file: &str) -> Result<Value, String> {
            Err(format!("`{file}` is not here"))
        }

        fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
            match file {
                "slug.wasm" => Ok(ComponentFile { declaration: self.0.into(), digest: "sha256:1".into() }),
                _ => Err("it is not here".into()),
            }
        }
    }

    const SLUG: &str = r#"{"name": "slug", "description": "Shortens", "input": {"type": "object"},
        "output": true, "capabilities": {"fs_reach": {"read": ["${workspace}/in"]}}}"#;

    fn read(entry: &str, plugin: &'static str) -> Result<Declaration, String> {
        let toolbox = Toolbox::from_toml(&format!("[[tool]]\n{entry}")).unwrap();
        let variables = Variables { workspace: Some("/srv".into()), ..Variables::default() };
        let (mut tools, gaps) = toolbox.declarations(&variables, Plugins(plugin));
        let gaps: Vec<String> =
            gaps.into_iter().map(|gap| format!("{}: {}", gap.capability, gap.message)).collect();
        tools.pop().ok_or_else(|| gaps.join("; "))
    }

    #[test]
    fn a_component_declares_itself() {
        let slug = read("name = \"slug\"\nruntime = \"wasm\"\ncomponent = \"slug.wasm\"", SLUG).unwrap();
        assert_eq!(slug.runtime, Runtime::Wasm { component: "sha256:1".into() });
        assert_eq!(slug.description, "Shortens");
        assert_eq!(slug.limits, Limits::of_components());
        let reach = serde_json::to_value(&slug.capabilities).unwrap();
        assert_eq!(reach["fs_reach"]["read"], serde_json::json!(["/srv/in"]));
    }

    #[test]
    fn only_an_operator_gives_a_component_more_to_spend() {
        const GREEDY: &str = r#"{"name": "slug", "input": true, "output": true, "capabilities": {},
            "limits": {"memory": "4G", "output": "1K", "cpu": "2s"}}"#;
        let limits = |entry: &str| {
            let entry = format!("name = \"slug\"\nruntime = \"wasm\"\ncomponent = \"slug.wasm\"\n{entry}");
            let limits = read(&entry, GREEDY).unwrap().limits;
            serde_json::to_value(limits).unwrap()
        };
        let own = serde_json::json!({"cpu": "2s", "memory": "64M", "open_files": 256, "output": "1K"});
        assert_eq!(limits(""), own);
        let given = serde_json::json!({"cpu": "2s", "memory": "1G", "open_files": 256, "output": "1K"});
        assert_eq!(limits("limits = { memory = \"1G\" }"), given);
    }

    #[test]
    fn what_does_not_belong_together_is_named() {
        let wasm = "name = \"slug\"\nruntime = \"wasm\"\n";
        let image = format!(
            "name = \"count\"\nruntime = \"container\"\ninput = true\noutput = true\nimage = \"tools@sha256:{HEX}\"\n"
        );
        #[rustfmt::skip]
        let cases = [
            (format!("{wasm}component = \"slug.wasm\"\ncapabilities = {{}}"), SLUG, "capabilities: `capabilities` of a component is what the component itself declares"),
            (format!("{wasm}component = \"slug.wasm\"\ncommand = [\"x\"]"), SLUG, "command: `command` does not belong to this runtime"),
            (format!("{wasm}component = \"other.wasm\""), SLUG, "component: `other.wasm`: it is not here"),
            (wasm.to_owned(), SLUG, "component: does not say which component it is"),
            ("name = \"trim\"\nruntime = \"wasm\"\ncomponent = \"slug.wasm\"".to_owned(), SLUG, "name: `slug.wasm` says that it is the tool `slug`"),
            (format!("{wasm}component = \"slug.wasm\""), "{", "component: `slug.wasm`: its declaration:"),
            (format!("{wasm}component = \"slug.wasm\""), r#"{"name": "slug", "name": "x"}"#, "key `name` appears twice"),
            (format!("{wasm}component = \"slug.wasm\""), r#"{"name": "slug", "command": ["sh"]}"#, "its declaration has `command`, which is not for a component to say"),
            (format!("{wasm}component = \"slug.wasm\""), r#"{"name": "slug", "input": "schema.json", "output": true}"#, "`input`: schema file `schema.json`"),
            ("name = \"a\"\ncomponent = \"slug.wasm\"".to_owned(), SLUG, "component: `component` does not belong to this runtime"),
            ("name = \"a\"\ncommand = [\"x\"]\nimage = \"x\"".to_owned(), SLUG, "image: `image` does not belong to this runtime"),
            (image.clone(), SLUG, "command: says nothing of what runs when it is called"),
            (image.replace("@sha256", ":latest@sha"), SLUG, "command: says nothing of what runs"),
            (format!("{image}command = [\"wc\"]").replace("@sha256:", ":"), SLUG, "is not an image by its digest"),
        ];
        for (entry, plugin, expected) in cases {
            let error = read(&entry, plugin).unwrap_err();
            assert!(error.contains(expected), "{entry}\n{error}");
        }
    }

    #[test]
    fn an_image_is_what_a_tool_in_a_container_starts() {
        let entry = |binaries: &str| {
            format!(
                "name = \"count\"\nruntime = \"container\"\nimage = \"tools@sha256:{HEX}\"\ncommand = [\"wc\", \"-l\"]\n\
                 input = true\noutput = true\nassurance = \"probed\"\ncapabilities = {{ process = {{ allowedBinaries = [{binaries}] }} }}"
            )
        };
        let gaps = |binaries: &str| -> Vec<String> {
            let tool = read(&entry(binaries), SLUG).unwrap();
            let gaps = validate_registration(&tool, &Personality::default());
            gaps.into_iter().map(|gap| format!("{}: {}", gap.capability, gap.message)).collect()
        };
        let sure =
            "assurance: asks for a sandbox that was tried, and what a container engine enforces is claimed";
        assert_eq!(gaps(&format!("\"tools@sha256:{HEX}\"")), [sure]);
        let other = gaps("\"wc\"");
        assert!(
            other[0].starts_with(&format!("process: the command starts `tools@sha256:{HEX}`")),
            "{other:?}"
        );
    }
}
