//! Two records of a tool, compared.

use super::ChangeCode::{
    ToolAdded, ToolCommandChanged, ToolDescriptionChanged, ToolLimitsLowered, ToolLimitsRaised, ToolRemoved,
    ToolSandboxStrengthened, ToolSandboxWeakened, ToolSchemaLoosened, ToolSchemaTightened,
};
use super::change::{Changes, arrow, quote, quoted};
use super::schema::{Comparison, compare as compare_schemas, looser_at, tells_nothing_new};
use super::{lint, reach, rule};
use crate::Assurance;
use crate::SafetyClass;
use crate::manifest::tool::spelled;
use crate::manifest::{Reached, RuntimeRecord, Tier, ToolRecord};
use crate::report::Level;

/// Tells of a tool that was not there.
pub(super) fn added(changes: &mut Changes<'_>, tool: &ToolRecord) {
    let touches_nothing = tool.capabilities.is_nothing()
        && tool.class.value == SafetyClass::Read
        && tool.sandbox != Tier::NativeCode;
    arrived(changes, touches_nothing, tool.class.value, &tool.capabilities);
    lint::added(changes, tool.lint.as_ref());
}

/// Tells of something new by what it can do.
pub(super) fn arrived(
    changes: &mut Changes<'_>,
    touches_nothing: bool,
    class: SafetyClass,
    reached: &Reached,
) {
    let class = quote(class.as_str());
    if touches_nothing {
        changes.changed(ToolAdded, Level::Note, format!("new, of class {class}: touches nothing"));
        return;
    }
    let surfaces = reached.summary();
    let surfaces = surfaces.iter().map(|(surface, entries)| format!("{surface} {}", quoted(entries)));
    let surfaces: Vec<String> = surfaces.collect();
    let reach = if surfaces.is_empty() { "touches nothing".to_owned() } else { surfaces.join("; ") };
    changes.widened(ToolAdded, format!("new, of class {class}: {reach}"));
}

/// Tells of a tool that is gone.
pub(super) fn removed(changes: &mut Changes<'_>) {
    changes.narrowed(ToolRemoved, "is gone");
}

/// Compares everything.
pub(super) fn compare(changes: &mut Changes<'_>, old: &ToolRecord, new: &ToolRecord) {
    if old.hash == new.hash {
        return;
    }
    reach::compare(changes, &old.capabilities, &new.capabilities);
    rule::classes(changes, old.class.value, new.class.value);
    rule::risks(changes, old.risk, new.risk);
    rule::approvals(changes, old.approval.value, new.approval.value);
    rule::constraints(changes, &old.constraints, &new.constraints);
    rule::idempotency(changes, &old.idempotency, &new.idempotency);
    let codes = [ToolLimitsRaised, ToolLimitsLowered];
    rule::held_limits(changes, codes, old.limits.limits(), new.limits.limits());
    tiers(changes, old.sandbox, new.sandbox);
    assurances(changes, old.assurance, new.assurance);
    schemas(changes, old, new);
    if old.description != new.description {
        changes.changed(ToolDescriptionChanged, Level::Warning, "title or description");
    }
    runtimes(changes, &old.runtime, &new.runtime);
    lint::compare(changes, old.lint.as_ref(), new.lint.as_ref());
}

pub(super) fn tiers(changes: &mut Changes<'_>, old: Tier, new: Tier) {
    let message = format!("sandbox: {}", arrow(old.as_str(), new.as_str()));
    match new.cmp(&old) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.widened(ToolSandboxWeakened, message),
        std::cmp::Ordering::Greater => changes.narrowed(ToolSandboxStrengthened, message),
    }
}

fn assurances(changes: &mut Changes<'_>, old: Assurance, new: Assurance) {
    let message =
        format!("how sure it must be that it is confined: {}", arrow(&old.to_string(), &new.to_string()));
    match new.cmp(&old) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.widened(ToolSandboxWeakened, message),
        std::cmp::Ordering::Greater => changes.narrowed(ToolSandboxStrengthened, message),
    }
}

fn schemas(changes: &mut Changes<'_>, old: &ToolRecord, new: &ToolRecord) {
    for (what, before, now) in [("input", &old.input, &new.input), ("output", &old.output, &new.output)] {
        match compare_schemas(before, now) {
            Comparison::Equal => {}
            Comparison::Looser => {
                let place = looser_at(before, now).map_or_else(String::new, |place| format!(": {place}"));
                let message = format!("the {what} schema may admit more than before{place}");
                changes.widened(ToolSchemaLoosened, message);
            }
            Comparison::Tighter => {
                changes.narrowed(ToolSchemaTightened, format!("the {what} schema admits less"));
            }
        }
        if !tells_nothing_new(before, now) {
            let message = format!("the {what} schema says something else to a model");
            changes.changed(ToolDescriptionChanged, Level::Warning, message);
        }
    }
}

fn runtimes(changes: &mut Changes<'_>, old: &RuntimeRecord, new: &RuntimeRecord) {
    if old == new {
        return;
    }
    if let (
        RuntimeRecord::Command { command: before, binaries: were },
        RuntimeRecord::Command { command: now, binaries: are },
    ) = (old, new)
    {
        commands(changes, before, now);
        binaries(changes, were, are);
        return;
    }
    let message = format!("runs: {}", arrow(&word(old), &word(new)));
    changes.changed(ToolCommandChanged, Level::Warning, message);
}

fn word(runtime: &RuntimeRecord) -> String {
    match runtime {
        RuntimeRecord::Builtin { name } => format!("builtin {name:?}"),
        RuntimeRecord::Command { command, .. } => spelled(command),
        RuntimeRecord::Container { command, engine, image } => {
            let engine = engine.as_deref().unwrap_or("no engine");
            format!("{} in {image} of {engine}", spelled(command))
        }
        RuntimeRecord::Native => "native code".to_owned(),
        RuntimeRecord::Server { server, definition } => {
            format!("server {server} {}", definition.chars().take(12).collect::<String>())
        }
        RuntimeRecord::Wasm { component } => format!("component {component}"),
    }
}

pub(super) fn commands(changes: &mut Changes<'_>, old: &[String], new: &[String]) {
    if old != new {
        let message = format!("command: {}", arrow(&spelled(old), &spelled(new)));
        changes.changed(ToolCommandChanged, Level::Warning, message);
    }
}

type Digests = std::collections::BTreeMap<String, String>;

pub(super) fn binaries(changes: &mut Changes<'_>, old: &Digests, new: &Digests) {
    let short = |digest: &String| digest.chars().take(12).collect::<String>();
    for (name, digest) in new {
        match old.get(name) {
            Some(before) if before != digest => {
                let message = format!("program {}: {}", quote(name), arrow(&short(before), &short(digest)));
                changes.changed(ToolCommandChanged, Level::Warning, message);
            }
            Some(_) => {}
            None => {
                let message = format!("program {}: {} is new", quote(name), quote(&short(digest)));
                changes.changed(ToolCommandChanged, Level::Note, message);
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        let message = format!("program {}: its digest is gone", quote(name));
        changes.changed(ToolCommandChanged, Level::Warning, message);
    }
}
