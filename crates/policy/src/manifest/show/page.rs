//! What a page says, before it is written in any format.

use super::outside;
use crate::manifest::tool::spelled;
use crate::manifest::{
    Approval, LintRecord, Listed, Manifest, Paths, Provenance, Reached, RuntimeRecord, ServerRecord, Sourced,
    SourcedLimits, ToolRecord,
};
use crate::{Accept, Constraints, Decision, IdempotencyMode, OnUnknown, Personality, Risk};

/// A page.
pub(super) struct Page {
    pub(super) hash: String,
    /// How much there is, and how grave the gravest is.
    pub(super) summary: String,
    pub(super) sections: Vec<Section>,
}

/// One tool, one server, the personality, or who connects and who is told.
pub(super) struct Section {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// The facts that fit into its headline.
    pub(super) facts: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// One surface or rule.
pub(super) struct Row {
    pub(super) label: &'static str,
    pub(super) entries: Vec<Entry>,
}

/// One entry, and who wrote it.
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) from: Option<Provenance>,
}

impl Page {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let mut tools: Vec<_> = manifest.tools.iter().collect();
        tools.sort_by_key(|(name, tool)| {
            (!tool.permitted, std::cmp::Reverse(tool.class.value), tool.capabilities.is_nothing(), *name)
        });
        let mut sections = vec![personality(&manifest.personality)];
        sections.extend(tools.into_iter().map(|(name, record)| tool(name.as_str(), record)));
        sections.extend(manifest.servers.iter().map(|(name, record)| server(name.as_str(), record)));
        sections.extend(outside::sections(manifest));
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            more => format!("{more} {what}s"),
        };
        let idle = manifest.tools.values().filter(|tool| tool.capabilities.is_nothing()).count();
        let summary = format!(
            "{}, {idle} of them touching nothing; {}",
            counted(manifest.tools.len(), "tool"),
            counted(manifest.servers.len(), "server"),
        );
        Self { hash: manifest.hash().to_owned(), summary, sections }
    }
}

fn personality(personality: &Personality) -> Section {
    let mut rows = Rows::default();
    let list = |set: Vec<String>| if set.is_empty() { vec!["nothing".to_owned()] } else { set };
    let shown = |set: &mut dyn Iterator<Item = String>| list(set.collect());
    rows.plain("hosts", shown(&mut personality.network.allow().iter().map(ToString::to_string)));
    rows.plain("private", personality.network.private().iter().map(ToString::to_string).collect());
    if personality.network.on_unknown() == OnUnknown::Ask {
        rows.plain("other hosts", vec!["after asking a person".to_owned()]);
    }
    rows.plain("read", shown(&mut personality.fs_reach.read.iter().map(ToString::to_string)));
    rows.plain("write", shown(&mut personality.fs_reach.write.iter().map(ToString::to_string)));
    let declared = || vec!["what each tool declares".to_owned()];
    let names = |set: Option<Vec<String>>| set.map_or_else(declared, list);
    let texts = |set: &mut dyn Iterator<Item = String>| set.collect::<Vec<_>>();
    rows.plain(
        "programs",
        names(personality.process.as_ref().map(|set| texts(&mut set.iter().map(ToString::to_string)))),
    );
    rows.plain(
        "secrets",
        names(personality.secrets.as_ref().map(|set| texts(&mut set.iter().map(ToString::to_string)))),
    );
    rows.plain(
        "environment",
        names(personality.environment.as_ref().map(|set| texts(&mut set.iter().map(ToString::to_string)))),
    );
    if let Some(permitted) = personality.unix_sockets {
        let word = if permitted { "permitted" } else { "refused" };
        rows.plain("Unix sockets", vec![word.to_owned()]);
    }
    if let Some(tools) = &personality.tools {
        rows.plain("tools", list(tools.iter().map(ToString::to_string).collect()));
    }
    Section {
        kind: "personality",
        name: personality.id.clone().unwrap_or_else(|| "without a name".to_owned()),
        facts: Vec::new(),
        rows: rows.0,
    }
}

fn tool(name: &str, record: &ToolRecord) -> Section {
    let mut rows = Rows::default();
    rows.reached(&record.capabilities);
    rows.rules(&record.constraints, &record.limits);
    match &record.runtime {
        RuntimeRecord::Builtin { .. } | RuntimeRecord::Native => {}
        RuntimeRecord::Command { command, .. } => rows.plain("runs", vec![spelled(command)]),
        RuntimeRecord::Container { command, image, .. } => {
            rows.plain("runs", vec![spelled(command), format!("in {image}")]);
        }
        RuntimeRecord::Wasm { component } => rows.plain("runs", vec![format!("component {component}")]),
        RuntimeRecord::Server { server, .. } => rows.plain("runs", vec![format!("in server {server}")]),
    }
    rows.lint(record.lint.as_ref());
    let mut facts = vec![
        format!("class {}", record.class.value.as_str()),
        risk(record.risk).to_owned(),
        approval(record.approval),
        record.sandbox.as_str().to_owned(),
    ];
    match record.idempotency.mode {
        None => {}
        Some(IdempotencyMode::Optional) => facts.push("may carry a key".to_owned()),
        Some(IdempotencyMode::Required) => facts.push("must carry a key".to_owned()),
    }
    if !record.permitted {
        facts.push("not in the toolset".to_owned());
    }
    Section { kind: "tool", name: name.to_owned(), facts, rows: rows.0 }
}

fn server(name: &str, record: &ServerRecord) -> Section {
    let mut rows = Rows::default();
    rows.reached(&record.capabilities);
    rows.rules(&Constraints::default(), &record.limits);
    rows.plain("variables", record.env.keys().cloned().collect());
    let secrets = record.secrets.iter().map(|(variable, secret)| format!("{variable} = {secret}"));
    rows.plain("in variables", secrets.collect());
    if !record.command.is_empty() {
        rows.plain("runs", vec![spelled(&record.command)]);
    }
    rows.sourced("installs from", &record.registry);
    let tools = record.tools.iter().map(|(name, tool)| match tool.enabled {
        true => format!("{name}: class {}, {}", tool.class.value.as_str(), approval(tool.approval)),
        false => format!("{name}: not offered"),
    });
    rows.plain("tools", tools.collect());
    rows.lint(record.lint.as_ref());
    let accept = match record.accept {
        Accept::Clean => "accepts clean definitions by itself",
        Accept::Review => "definitions are reviewed",
    };
    let mut facts = vec![
        format!("class {}", record.class.value.as_str()),
        approval(record.approval),
        record.sandbox.as_str().to_owned(),
        accept.to_owned(),
    ];
    for (says, fact) in [
        (record.unix_sockets, "opens Unix sockets"),
        (!record.sampling, "may not use the client's model"),
        (!record.elicitation, "may not ask the person at the client"),
    ] {
        facts.extend(says.then(|| fact.to_owned()));
    }
    facts.extend(record.max_message.map(|most| format!("messages of at most {most}")));
    Section { kind: "server", name: name.to_owned(), facts, rows: rows.0 }
}

const fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "risk low",
        Risk::Medium => "risk medium",
        Risk::High => "risk high",
        Risk::Critical => "risk critical",
        Risk::Unknown => "risk not stated",
    }
}

fn approval(approval: Approval) -> String {
    match approval.value {
        Decision::Allow => "nobody is asked",
        Decision::Ask => "one person is asked",
        Decision::AskTwo => "two people are asked",
        Decision::Forbid => "always refused",
    }
    .to_owned()
}

#[derive(Default)]
pub(super) struct Rows(pub(super) Vec<Row>);

impl Rows {
    fn push(&mut self, label: &'static str, entries: Vec<Entry>) {
        if !entries.is_empty() {
            self.0.push(Row { label, entries });
        }
    }

    pub(super) fn plain(&mut self, label: &'static str, texts: Vec<String>) {
        self.push(label, texts.into_iter().map(|text| Entry { text, from: None }).collect());
    }

    fn sourced<S: Listed>(&mut self, label: &'static str, set: &Sourced<S>) {
        let entry = |(text, from): (&str, Provenance)| Entry { text: text.to_owned(), from: Some(from) };
        self.push(label, set.entries().map(entry).collect());
    }

    fn paths(&mut self, label: &'static str, paths: &Paths) {
        let whole = paths.paths.entries();
        let mut entries: Vec<Entry> =
            whole.map(|(text, from)| Entry { text: text.to_owned(), from: Some(from) }).collect();
        entries.extend(paths.overlaps.iter().map(|[one, other]| Entry {
            text: format!("{one} within {other}"),
            from: Some(Provenance::Both),
        }));
        entries.extend(paths.lifted.iter().map(|path| Entry {
            text: format!("{path} despite the floor"),
            from: Some(Provenance::Personality),
        }));
        self.push(label, entries);
    }

    fn reached(&mut self, reached: &Reached) {
        self.sourced("network", &reached.network.hosts);
        self.sourced("private network", &reached.network.private);
        if reached.network.on_unknown == OnUnknown::Ask {
            self.plain("other hosts", vec!["after asking a person".to_owned()]);
        }
        self.paths("read files", &reached.fs_reach.read);
        self.paths("write files", &reached.fs_reach.write);
        self.sourced("run programs", &reached.process);
        self.sourced("secrets", &reached.secrets);
        self.sourced("environment", &reached.environment);
        if let Some(storage) = &reached.storage {
            let kept = storage.ttl_seconds_default.map_or("for ever".to_owned(), |ttl| format!("for {ttl}s"));
            self.plain("storage", vec![format!("{}, kept {kept}", storage.scope)]);
        }
        if reached.is_nothing() {
            self.plain("touches", vec!["nothing".to_owned()]);
        }
    }

    fn rules(&mut self, constraints: &Constraints, limits: &SourcedLimits) {
        let mut rules = Vec::new();
        rules.extend(constraints.max_invocations.map(|most| format!("at most {most} calls in a run")));
        rules.extend(constraints.only_after.iter().map(|tool| format!("only after {tool}")));
        rules.extend(constraints.force_at_step.map(|step| format!("must be call {step} of a run")));
        if constraints.forbidden {
            rules.push("never by a model".to_owned());
        }
        self.plain("constraints", rules);
        let limit = |(name, value, from): (&str, String, Provenance)| Entry {
            text: format!("{} {value}", name.replace('_', " ")),
            from: Some(from),
        };
        self.push("limits", limits.entries().map(limit).collect());
    }

    fn lint(&mut self, lint: Option<&LintRecord>) {
        let Some(lint) = lint else { return };
        let effects: Vec<&str> = lint.effects.iter().map(String::as_str).collect();
        let effects = if effects.is_empty() { "nothing".to_owned() } else { effects.join(", ") };
        self.plain("code does", vec![format!("{effects} (seen by {})", lint.engine)]);
    }
}
