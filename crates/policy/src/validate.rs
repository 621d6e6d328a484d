//! Enforcement point 1: does a tool's declaration fit inside the personality?
//!
//! Every gap is returned, as data, so that an author can close them all at once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    Assurance, Builtin, Capabilities, CommandTemplate, Declaration, Direction, FsReach, Grant, HostShape,
    NamePattern, PathReach, Personality, Runtime, Surface, ToolName, resolve_capabilities, secret_variable,
};

/// One way in which a tool does not fit.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Gap {
    /// The tool.
    pub tool: ToolName,
    /// The surface or field of the declaration: `network`, `fs_reach.read`, `class`, …
    pub capability: Cow<'static, str>,
    /// What does not fit.
    pub message: String,
    /// What would make it fit.
    pub fix: String,
}

/// Returns every gap between a declaration and a personality; empty means the tool may be registered.
///
/// # Examples
///
/// See `Registry::register` in the `ringfence` crate, which refuses a tool with gaps.
pub fn validate_registration(declaration: &Declaration, personality: &Personality) -> Vec<Gap> {
    let mut gaps = validate_declaration(declaration);
    if let Some(capabilities) = &declaration.capabilities {
        gaps.extend(capability_gaps(&declaration.name, capabilities, personality));
    }
    gaps
}

/// Returns the gaps between capabilities and a personality; `name` says whose they are.
pub(crate) fn capability_gaps(
    name: &ToolName,
    capabilities: &Capabilities,
    personality: &Personality,
) -> Vec<Gap> {
    let mut gaps = Gaps { tool: name, found: Vec::new() };
    gaps.network(capabilities, personality);
    if let Some(reach) = &capabilities.fs_reach {
        gaps.paths(reach, personality);
    }
    gaps.names(capabilities, personality);
    if let Err(refusal) = resolve_capabilities(capabilities, personality) {
        gaps.push("fs_reach", refusal.message.into_owned(), "name exactly one root for the jail".into());
    }
    gaps.found
}

/// Returns the gaps that no personality could close: the declaration itself is at fault.
///
/// They are refused even where a tool that asks for too much would be narrowed to what it may have.
pub fn validate_declaration(declaration: &Declaration) -> Vec<Gap> {
    let mut gaps = Gaps { tool: &declaration.name, found: Vec::new() };
    gaps.constraints(declaration);
    gaps.idempotency(declaration);
    match &declaration.capabilities {
        None => gaps.push(
            "capabilities",
            "has no `capabilities` field, so nobody can say what it touches".into(),
            "declare its capabilities; `{}` for a tool that touches nothing".into(),
        ),
        Some(capabilities) => {
            gaps.class(declaration, capabilities);
            gaps.globs(capabilities);
            gaps.runtime(declaration, capabilities);
            gaps.assurance(declaration);
        }
    }
    gaps.found
}

/// Returns the gaps of every tool.
pub fn validate_tools<'a>(
    tools: impl IntoIterator<Item = &'a Declaration>,
    personality: &Personality,
) -> Vec<Gap> {
    tools.into_iter().flat_map(|tool| validate_registration(tool, personality)).collect()
}

/// Checks the examples that a personality carries; each one that comes out otherwise is a message.
pub fn check_examples(personality: &Personality, tools: &[Declaration]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, example) in personality.example.iter().enumerate() {
        let grant = match &example.tool {
            None => Grant::ceiling(personality),
            Some(name) => {
                let tool = tools.iter().find(|tool| tool.name == *name);
                let Some(capabilities) = tool.and_then(|tool| tool.capabilities.as_ref()) else {
                    wrong.push(format!("example {index}: tool `{name}` is not here"));
                    continue;
                };
                resolve_capabilities(capabilities, personality)
            }
        };
        let grant = match grant {
            Ok(grant) => grant,
            Err(refusal) => {
                wrong.push(format!("example {index}: {refusal}"));
                continue;
            }
        };
        if let Some(reach) = &example.allow
            && let Err(refusal) = grant.judge(reach)
        {
            wrong.push(format!("example {index} should be allowed: {refusal}"));
        }
        if let Some(reach) = &example.refuse
            && grant.judge(reach).is_ok()
        {
            wrong.push(format!("example {index} should be refused, but the policy allows it"));
        }
    }
    wrong
}

struct Gaps<'a> {
    tool: &'a ToolName,
    found: Vec<Gap>,
}

impl Gaps<'_> {
    fn push(&mut self, capability: impl Into<Cow<'static, str>>, message: String, fix: String) {
        self.found.push(Gap { tool: self.tool.clone(), capability: capability.into(), message, fix });
    }

    fn class(&mut self, declaration: &Declaration, capabilities: &Capabilities) {
        let implied = capabilities.implied_class();
        if let Some(class) = declaration.class
            && class < implied
        {
            let (class, implied) = (class.as_str(), implied.as_str());
            self.push(
                "class",
                format!(
                    "CLASS_UNDERSTATED: class `{class}` is lower than the capabilities imply (`{implied}`)"
                ),
                format!("set class = \"{implied}\" or higher, or leave it out"),
            );
        }
    }

    fn network(&mut self, capabilities: &Capabilities, personality: &Personality) {
        let Some(network) = &capabilities.network else { return };
        for pattern in network.allowed_hosts.iter() {
            if !matches!(pattern.shape(), HostShape::Everything)
                && !personality.network.hosts().covers(pattern)
            {
                self.push(
                    Surface::Network.as_str(),
                    format!("host `{pattern}` is not covered by the personality"),
                    format!(
                        "add \"{pattern}\" to the personality's network.allow, or drop it from allowedHosts"
                    ),
                );
            }
        }
    }

    fn globs(&mut self, capabilities: &Capabilities) {
        let write = capabilities.fs_reach.as_ref().and_then(|reach| reach.write.as_ref());
        let (Some(PathReach::Listed(declared)), Some(_)) = (write, &capabilities.process) else { return };
        for pattern in declared.iter().filter(|pattern| !pattern.is_kernel_expressible()) {
            self.push(
                "fs_reach.write",
                format!("the kernel cannot express the write glob `{pattern}` for a process"),
                "name a directory (`/srv/out`) or a whole tree (`/srv/out/**`)".into(),
            );
        }
    }

    fn paths(&mut self, reach: &FsReach, personality: &Personality) {
        let sides = [
            (Direction::Read, &reach.read, &personality.fs_reach.read),
            (Direction::Write, &reach.write, &personality.fs_reach.write),
        ];
        for (direction, declared, permitted) in sides {
            let Some(PathReach::Listed(declared)) = declared else { continue };
            let (place, verb) = match direction {
                Direction::Read => ("fs_reach.read", "read"),
                Direction::Write => ("fs_reach.write", "write"),
            };
            for pattern in declared.iter() {
                if pattern.is_unexpanded() {
                    self.push(
                        place,
                        format!("path `{pattern}` holds a variable that was not expanded"),
                        "expand variables before registering, or write an absolute path".into(),
                    );
                } else if !permitted.covers(pattern) {
                    self.push(
                        place,
                        format!("path `{pattern}` is not covered by the personality"),
                        format!("add \"{pattern}\" to the personality's fs_reach.{verb}, or drop it"),
                    );
                }
            }
        }
    }

    fn names(&mut self, capabilities: &Capabilities, personality: &Personality) {
        if let (Some(own), Some(ceiling)) = (&capabilities.secrets, &personality.secrets) {
            self.uncovered(Surface::Secrets, own.iter(), |pattern| ceiling.covers(pattern));
        }
        if let (Some(own), Some(ceiling)) = (&capabilities.process, &personality.process) {
            self.uncovered(Surface::Process, own.allowed_binaries.iter(), |pattern| {
                *pattern == NamePattern::Any || ceiling.covers(pattern)
            });
        }
        if let (Some(own), Some(ceiling)) = (&capabilities.environment, &personality.environment) {
            self.uncovered(Surface::Environment, own.iter(), |pattern| ceiling.covers(pattern));
        }
    }

    fn uncovered<'p>(
        &mut self,
        surface: Surface,
        patterns: impl Iterator<Item = &'p NamePattern>,
        covered: impl Fn(&NamePattern) -> bool,
    ) {
        for pattern in patterns.filter(|pattern| !covered(pattern)) {
            self.push(
                surface.as_str(),
                format!("`{pattern}` is not covered by the personality"),
                format!("add \"{pattern}\" to the personality's {surface}.allow, or drop it"),
            );
        }
    }

    fn runtime(&mut self, declaration: &Declaration, capabilities: &Capabilities) {
        match &declaration.runtime {
            Runtime::Native | Runtime::Server { .. } => {}
            Runtime::Container { image, command } => match CommandTemplate::parse(command) {
                Err(error) => self.push("command", error.to_string(), "correct the command".into()),
                Ok(template) => self.command(&template, image, declaration, capabilities),
            },
            Runtime::Wasm { .. } => self.component(capabilities),
            Runtime::Command(command) => match CommandTemplate::parse(command) {
                Err(error) => self.push("command", error.to_string(), "correct the command".into()),
                Ok(template) => self.command(&template, template.program(), declaration, capabilities),
            },
            Runtime::Builtin(builtin) => {
                let reach = capabilities.fs_reach.as_ref();
                let (needed, declared) = match builtin {
                    Builtin::FetchUrl => ("network", capabilities.network.is_some()),
                    Builtin::ListFiles | Builtin::ReadFile => {
                        ("fs_reach.read", reach.is_some_and(|reach| reach.read.is_some()))
                    }
                    Builtin::WriteFile => {
                        ("fs_reach.write", reach.is_some_and(|reach| reach.write.is_some()))
                    }
                };
                if !declared {
                    self.push(
                        "builtin",
                        format!("the builtin needs `{needed}`, which is not declared"),
                        format!("declare `{needed}` in the capabilities"),
                    );
                }
            }
        }
    }

    /// A key of fields that no call has would be no key: the call would take effect as often as it is made.
    fn idempotency(&mut self, declaration: &Declaration) {
        const ELSEWHERE: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        let input = &declaration.input;
        let Some(properties) = input.get("properties").and_then(serde_json::Value::as_object) else { return };
        // Fields that another part of the schema describes are not looked for.
        if ELSEWHERE.iter().any(|keyword| input.get(keyword).is_some()) {
            return;
        }
        for field in declaration.idempotency.key.iter().filter(|field| !properties.contains_key(*field)) {
            let known: Vec<String> = properties.keys().map(|name| format!("`{name}`")).collect();
            self.push(
                "idempotency",
                format!("the key names `{field}`, which is not a property of the `input` schema"),
                match known.is_empty() {
                    true => "describe the field in `input`, or drop the key".to_owned(),
                    false => format!("name fields of `input`: {}", known.join(", ")),
                },
            );
        }
    }

    /// Looks for a forced step that no run can reach.
    fn constraints(&mut self, declaration: &Declaration) {
        let constraints = &declaration.constraints;
        let Some(step) = constraints.force_at_step else { return };
        if constraints.forbidden {
            self.push(
                "constraints",
                format!("must be call {step} of a run, and no model may call it"),
                "drop `forceAtStep` or `forbidden`".into(),
            );
        }
        if constraints.max_invocations == Some(0) {
            self.push(
                "constraints",
                format!("must be call {step} of a run, and may run 0 times"),
                "drop `forceAtStep` or raise `maxInvocations`".into(),
            );
        }
        let before: std::collections::BTreeSet<_> = constraints.only_after.iter().collect();
        let earliest = before.len() + 1;
        if usize::try_from(step.get()).is_ok_and(|step| step < earliest) {
            self.push(
                "constraints",
                format!(
                    "must be call {step} of a run, and {} tools must have completed before",
                    before.len()
                ),
                format!("raise `forceAtStep` to {earliest}, or shorten `onlyAfter`"),
            );
        }
    }

    fn assurance(&mut self, declaration: &Declaration) {
        let claimed = match declaration.runtime {
            Runtime::Container { .. } => "a container engine",
            Runtime::Wasm { .. } => "the host of a component",
            Runtime::Builtin(_) | Runtime::Command(_) | Runtime::Native | Runtime::Server { .. } => return,
        };
        if declaration.assurance == Some(Assurance::Probed) {
            self.push(
                "assurance",
                format!("asks for a sandbox that was tried, and what {claimed} enforces is claimed"),
                "run it as a command of this machine, or drop `assurance`".into(),
            );
        }
    }

    fn component(&mut self, capabilities: &Capabilities) {
        if capabilities.process.is_some() {
            self.push(
                Surface::Process.as_str(),
                "a component cannot start programs".into(),
                "drop `process`, or write the tool as a command".into(),
            );
        }
    }

    /// Looks at what a command is given in its environment, and at what it cannot be given.
    fn handed_over(&mut self, capabilities: &Capabilities) {
        if capabilities.storage.is_some() {
            self.push(
                Surface::Storage.as_str(),
                "a command has no way to use storage".into(),
                "drop `storage`, or write the tool in Rust or as a component".into(),
            );
        }
        let mut holders: BTreeMap<String, String> = BTreeMap::new();
        for variable in capabilities.environment.iter().flat_map(|set| set.iter()) {
            holders.insert(variable.to_string(), format!("the variable `{variable}`"));
        }
        for secret in capabilities.secrets.iter().flat_map(|set| set.iter()) {
            let NamePattern::Exact(name) = secret else {
                self.push(
                    Surface::Secrets.as_str(),
                    format!("a command gets each secret in a variable, and `{secret}` is not one secret"),
                    "name the secrets one by one".into(),
                );
                continue;
            };
            let variable = secret_variable(name);
            if let Some(other) = holders.insert(variable.clone(), format!("the secret `{name}`")) {
                self.push(
                    Surface::Secrets.as_str(),
                    format!("the variable `{variable}` would hold the secret `{name}` and {other}"),
                    "drop one of them, or rename the secret".into(),
                );
            }
        }
    }

    fn command(
        &mut self,
        template: &CommandTemplate,
        binary: &str,
        declaration: &Declaration,
        capabilities: &Capabilities,
    ) {
        let declared = capabilities.process.as_ref().is_some_and(|own| {
            own.allowed_binaries.admits(binary) || own.allowed_binaries.covers(&NamePattern::Any)
        });
        if !declared {
            self.push(
                Surface::Process.as_str(),
                format!("the command starts `{binary}`, which is not in its allowedBinaries"),
                format!("add \"{binary}\" to process.allowedBinaries"),
            );
        }
        self.handed_over(capabilities);
        let properties = declaration.input.get("properties").and_then(serde_json::Value::as_object);
        for placeholder in template.placeholders() {
            if !properties.is_some_and(|properties| properties.contains_key(placeholder)) {
                self.push(
                    "command",
                    format!(
                        "the command uses `{{{placeholder}}}`, which is not a property of the input schema"
                    ),
                    format!("add `{placeholder}` to input.properties, or write `{{{{` for a literal brace"),
                );
            }
        }
    }
}
