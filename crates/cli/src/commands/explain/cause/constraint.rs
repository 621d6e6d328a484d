//! What a run has not done yet, or has done often enough.

use ringfence::policy::Constraints;

use super::super::case::{Policy, Subject};
use super::super::draft::{Edit, Owner, Setting};
use super::super::record::Recorded;
use super::{Attempt, Cause};

/// Finds the constraint that decided.
pub(super) fn cause(record: &Recorded, policy: &Policy<'_>) -> Cause {
    let Some(tool) = policy.subject(&record.tool).and_then(Subject::tool) else {
        return Cause::instead(format!(
            "the constraints of `{}` are not in an entry of a tool: those of a server's tool stand under `[server.tool.NAME]`",
            record.tool
        ));
    };
    let said = &record.result.error;
    if let Some(cause) = forced(record, policy) {
        return cause;
    }
    let name = record.tool.as_str();
    let owner = Owner::Tool(name.to_owned());
    let constraints = &tool.constraints;
    let found = if said.contains("never by a model") {
        constraints.forbidden.then(|| forbidden(name))
    } else if said.contains("may run only after") {
        constraints
            .only_after
            .iter()
            .find(|needed| said.contains(&format!("`{needed}`")))
            .map(|needed| only_after(name, needed.as_str()))
    } else {
        constraints.max_invocations.map(|most| too_often(name, most))
    };
    let Some((field, says, instead, attempt)) = found else {
        let note = "the constraint is not in the policy of today: make the call again";
        return Cause { notes: vec![note.to_owned()], ..Cause::default() };
    };
    Cause {
        rules: vec![policy.field_rule(&owner, field, says)],
        lacking: Some("declaration"),
        attempts: vec![attempt],
        instead: vec![instead],
        notes: Vec::new(),
    }
}

/// Finds the tool that had to be the call: its entry says so, and not that of the tool that was refused.
fn forced(record: &Recorded, policy: &Policy<'_>) -> Option<Cause> {
    let (_, after) = record.result.error.split_once(" of this run must be `")?;
    let (needed, _) = after.split_once('`')?;
    let own = policy.subject(needed).and_then(Subject::tool)?;
    let step = own.constraints.force_at_step?;
    let owner = Owner::Tool(needed.to_owned());
    let says = format!("makes it call {step} of every run");
    Some(Cause {
        rules: vec![policy.field_rule(&owner, "constraints.forceAtStep", says)],
        lacking: Some("declaration"),
        attempts: Vec::new(),
        instead: vec![format!("call `{needed}` first, in the same run")],
        notes: vec![format!("without `forceAtStep` in the entry of `{needed}`, the order is free")],
    })
}

type Found = (&'static str, String, String, Attempt);

fn forbidden(tool: &str) -> Found {
    let edit = set(tool, &["forbidden"], Setting::Flag(false));
    (
        "constraints.forbidden",
        "only code may call it, never a model".to_owned(),
        format!("let code of the host call it: `ringfence call {tool} ARGUMENTS --asked-by code`"),
        attempt(
            tool,
            edit,
            |own| !own.forbidden,
            format!("any model under this policy may call `{tool}`, as often as it likes"),
        ),
    )
}

fn only_after(tool: &str, needed: &str) -> Found {
    let way = way(&["onlyAfter", "only_after"]);
    let edit = Edit::Take { owner: Owner::Tool(tool.to_owned()), way, entry: needed.to_owned() };
    let gone = needed.to_owned();
    (
        "constraints.onlyAfter",
        format!("demands that `{needed}` was done before in the same run"),
        format!("call `{needed}` first, in the same run"),
        attempt(
            tool,
            edit,
            move |own| !own.only_after.iter().any(|one| one.as_str() == gone),
            format!("`{tool}` may run although `{needed}` was never done in that run"),
        ),
    )
}

fn too_often(tool: &str, most: u32) -> Found {
    let more = most.saturating_add(1);
    let edit = set(tool, &["maxInvocations", "max_invocations"], Setting::Number(more));
    (
        "constraints.maxInvocations",
        format!("lets it run {most} times in one run"),
        "start a new run: the count begins again".to_owned(),
        attempt(
            tool,
            edit,
            move |own| own.max_invocations == Some(more),
            format!("`{tool}` may run {more} times in every run, whatever its arguments"),
        ),
    )
}

fn set(tool: &str, names: &[&str], setting: Setting) -> Edit {
    Edit::Set { owner: Owner::Tool(tool.to_owned()), way: way(names), setting }
}

fn way(names: &[&str]) -> Vec<Vec<String>> {
    vec![vec!["constraints".to_owned()], names.iter().map(|name| (*name).to_owned()).collect()]
}

fn attempt(tool: &str, edit: Edit, holds: impl Fn(&Constraints) -> bool + 'static, also: String) -> Attempt {
    let tool = tool.to_owned();
    let proof = move |policy: &Policy<'_>| {
        policy.subject(&tool).and_then(Subject::tool).is_some_and(|own| holds(&own.constraints))
    };
    Attempt { edits: vec![edit], proof: Box::new(proof), also: vec![also] }
}
