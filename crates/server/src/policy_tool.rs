//! `ringfence_policy`: tells an agent what it may reach and why something was refused, so that it does not probe.

use std::sync::Weak;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::{
    BinarySet, Capabilities, Constraints, Decision, Declaration, Direction, Idempotency, Limits,
    NetworkGrant, Risk, Runtime, SafetyClass, ToolName,
};
use ringfence::{Context, Grant, Registered, Tool, ToolError};
use serde_json::{Value, json};

use crate::session::Session;
use crate::upstream::{Upstream, lock};

/// What it is called.
pub(crate) const NAME: &str = "ringfence_policy";

/// How many withheld tools an agent is told of.
const MOST_WITHHELD: usize = 100;

/// Tells an agent what it may do.
pub(crate) struct PolicyTool {
    declaration: Declaration,
    session: Weak<Session>,
}

impl PolicyTool {
    pub(crate) fn new(name: ToolName, session: Weak<Session>) -> Self {
        let input = json!({
            "type": "object",
            "properties": { "tool": { "type": "string", "description": "Only about this tool" } },
            "additionalProperties": false,
        });
        let description = "Shows what the tools here may reach (hosts, paths, programs), which calls need a person's approval, \
             which tools are withheld, and why recent calls were refused. Read it instead of trying what is not permitted.";
        let declaration = Declaration {
            name,
            title: Some("What is permitted here".to_owned()),
            description: description.to_owned(),
            input,
            output: json!({ "type": "object" }),
            capabilities: Some(Capabilities::default()),
            class: Some(SafetyClass::Read),
            risk: Risk::Low,
            idempotency: Idempotency::default(),
            constraints: Constraints::default(),
            limits: Limits::default(),
            assurance: None,
            runtime: Runtime::Native,
        };
        Self { declaration, session }
    }

    fn told(&self, only: Option<&str>) -> Value {
        let Some(session) = self.session.upgrade() else { return json!({}) };
        let registry = session.registry();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        let listed = registry.list();
        let mut reaches: Vec<(Value, Vec<&str>)> = Vec::new();
        let mut tools: Vec<Value> = Vec::new();
        let own = |tool: &Registered| {
            let name = tool.declaration().name.as_str();
            wanted(name) && name != NAME && session.admits_tool(tool)
        };
        for tool in listed.iter().filter(|tool| own(tool)) {
            let name = tool.declaration().name.as_str();
            let mut told = json!({ "name": name, "class": tool.class().as_str() });
            if let Some(told) = told.as_object_mut() {
                if let Some(decision) =
                    registry.decision(name).filter(|decision| *decision != Decision::Allow)
                {
                    told.insert("approval".into(), json!(needed(decision)));
                }
                if !tool.declaration().constraints.is_none() {
                    told.insert("constraints".into(), json!(tool.declaration().constraints));
                }
            }
            tools.push(told);
            let reach = registry.granted(name).map(|grant| reach(&grant)).unwrap_or_default();
            // Tools of one server reach the same, which is said once.
            match reaches.iter_mut().find(|(known, _)| *known == reach) {
                Some((_, names)) => names.push(name),
                None => reaches.push((reach, vec![name])),
            }
        }
        let reaches: Vec<Value> =
            reaches.into_iter().map(|(reach, names)| json!({ "tools": names, "reach": reach })).collect();
        let withheld: Vec<Value> = session
            .upstreams
            .iter()
            .flat_map(|upstream| withheld(upstream).into_iter().map(move |own| (upstream, own)))
            .filter(|(upstream, (name, _))| wanted(name) && session.admits(&upstream.spec.name, name))
            .map(|(_, own)| own)
            .map(|(name, why)| json!({ "name": name, "why": why }))
            .collect();
        let refusals: Vec<Value> = session
            .refusals()
            .iter()
            .filter(|(tool, ..)| wanted(tool))
            .map(|(tool, code, why)| json!({ "tool": tool, "code": code.as_str(), "why": why }))
            .collect();
        json!({
            "personality": session.house().options.personality,
            "tools": tools,
            "reach": reaches,
            "withheld": withheld,
            "recentRefusals": refusals,
        })
    }
}

/// Returns what is withheld of a server and why, without the server's own words.
fn withheld(upstream: &Upstream) -> Vec<(String, String)> {
    let listing = lock(&upstream.tools);
    let kept = listing.judged.iter().filter_map(|one| {
        let name = one.key.strip_prefix("tool:")?;
        let why = one.quarantine.as_ref()?.refusal.message.to_string();
        // A name can say anything; one that is none is not told.
        let name = upstream.spec.offered(name).parse::<ToolName>().ok()?;
        Some((name.to_string(), why))
    });
    kept.take(MOST_WITHHELD).collect()
}

const fn needed(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "none",
        Decision::Ask => "one person",
        Decision::AskTwo => "two people",
        Decision::Forbid => "never permitted",
    }
}

fn reach(grant: &Grant) -> Value {
    let paths = |direction: Direction| -> Vec<String> {
        let Some(fs) = &grant.fs else { return Vec::new() };
        let (roots, wild) = fs.trees(direction);
        let roots = roots.iter().map(|path| path.display().to_string());
        roots.chain(wild.iter().map(ToString::to_string)).collect()
    };
    let hosts = |network: &NetworkGrant| network.hosts().iter().map(ToString::to_string).collect::<Vec<_>>();
    let names = |set: &BinarySet| set.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "hosts": grant.network.as_ref().map(hosts).unwrap_or_default(),
        "read": paths(Direction::Read),
        "write": paths(Direction::Write),
        "programs": grant.process.as_ref().map(names).unwrap_or_default(),
    })
}

impl Tool for PolicyTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call<'a>(&'a self, arguments: &'a Value, _: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move { Ok(self.told(arguments.get("tool").and_then(Value::as_str))) }.boxed()
    }
}
