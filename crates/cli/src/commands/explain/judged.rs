//! A record, the rules behind it, and a change that was tried: everything that is told of a call.
//!
//! INVARIANT: a change is told only where the policy with it has no problems and lets the call through.

use ringfence::Code;
use ringfence::policy::explain::of_call;
use serde::Serialize;

use super::also;
use super::case::{Form, Policy, Rule};
use super::cause::{Attempt, Cause, cause};
use super::diff::unified;
use super::draft::Draft;
use super::record::Recorded;
use crate::load::Place;
use crate::shown::one_line;
use crate::time::Moment;

/// How much of what a caller was told is told again, in characters.
const MOST_SAID: usize = 600;

/// What is told of a call.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    /// The call.
    pub(super) call: Asked,
    /// How it ended: `done`, `failed` or `refused`.
    pub(super) outcome: String,
    /// The code of what was not done.
    pub(super) code: Option<String>,
    /// What the code means.
    pub(super) meaning: Option<&'static str>,
    /// What the caller was told.
    pub(super) said: String,
    /// The policy file, where there is one.
    pub(super) policy: Option<String>,
    /// The lines that decided.
    pub(super) rules: Vec<Rule>,
    /// Which side lacks it: `declaration`, `personality` or `both`.
    pub(super) lacking: Option<&'static str>,
    /// The smallest change that lets the same call through.
    pub(super) change: Option<Change>,
    /// What a person does instead, or before.
    pub(super) instead: Vec<String>,
    /// What else there is to know.
    pub(super) notes: Vec<String>,
}

/// What was asked.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    pub(super) index: Option<u64>,
    pub(super) number: u64,
    pub(super) tool: String,
    pub(super) run: String,
    pub(super) session: String,
    pub(super) proposer: String,
    pub(super) asker: String,
    pub(super) at: String,
    pub(super) personality: Option<String>,
    /// The arguments, cleaned.
    pub(super) arguments: String,
}

/// A change of the policy file.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    /// A unified diff.
    pub(super) diff: String,
    /// What it would also allow.
    pub(super) also: Vec<String>,
    /// What to do afterwards.
    pub(super) then: Vec<String>,
}

impl Explanation {
    /// Explains a record by the policy of today.
    pub(super) fn of(record: &Recorded, place: &Place) -> Self {
        let code = record.code().map(str::to_owned);
        let known = record.deciding_code().and_then(known);
        let mut told = Self {
            call: Asked::of(record),
            outcome: record.outcome.clone(),
            meaning: known.map(Code::meaning),
            said: cut(one_line(&record.result.error)),
            policy: None,
            rules: Vec::new(),
            lacking: None,
            change: None,
            instead: Vec::new(),
            notes: Vec::new(),
            code,
        };
        if told.code.as_deref() != known.map(Code::as_str)
            && let Some(code) = known
        {
            told.notes.push(format!("it failed by itself, after it had been refused something: {code}"));
        }
        let Some(code) = known else {
            told.notes.push(match &told.code {
                None => done(record),
                Some(_) => "the record has a code that this program does not know".to_owned(),
            });
            return told;
        };
        match Policy::read(place, &record.run) {
            Err(error) => {
                told.notes.push(format!("no line can be named: {}", one_line(&error.to_string())));
                told.instead.push(of_call(code).change.to_owned());
            }
            Ok(policy) => told.judge(record, code, &policy),
        }
        told
    }

    fn judge(&mut self, record: &Recorded, code: Code, policy: &Policy<'_>) {
        self.policy = Some(policy.place.policy.display().to_string());
        self.notes.extend(since(record, policy));
        if !policy.loaded.problems.is_empty() {
            self.notes.push(
                "the policy file has problems, which `ringfence check` lists; no change is tried".to_owned(),
            );
        }
        let Cause { rules, lacking, attempts, instead, notes } = cause(record, code, policy);
        (self.rules, self.lacking, self.instead) = (rules, lacking, instead);
        self.notes.extend(notes);
        if attempts.is_empty() || !policy.loaded.problems.is_empty() {
            return;
        }
        if policy.form == Form::OtherJson {
            self.instead.push(format!(
                "the lines of this policy file cannot be named (it begins with a space, or has a `null` or a rare escape), so make the change by hand: {}",
                of_call(code).change
            ));
            return;
        }
        let mut why = None;
        for attempt in attempts {
            match tried(policy, &record.tool, attempt) {
                Ok(change) => {
                    self.change = Some(change);
                    return;
                }
                Err(error) => why = Some(error),
            }
        }
        if let Some(why) = why {
            self.instead.push(why);
        }
    }
}

impl Asked {
    fn of(record: &Recorded) -> Self {
        let at = Moment::from(std::time::Duration::from_millis(record.at_ms));
        Self {
            index: record.index,
            number: record.call,
            tool: one_line(&record.tool),
            run: one_line(&record.run),
            session: one_line(&record.session),
            proposer: one_line(&record.proposer),
            asker: one_line(&record.asker),
            at: at.to_string(),
            personality: record.personality.as_deref().map(one_line),
            arguments: record.shown_arguments(),
        }
    }
}

/// Cuts what a tool said at great length.
fn cut(text: String) -> String {
    match text.char_indices().nth(MOST_SAID) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn known(code: &str) -> Option<Code> {
    Code::ALL.into_iter().find(|own| own.as_str() == code)
}

/// Says of a call that was done what it was refused on its way.
fn done(record: &Recorded) -> String {
    let refused = record.touched.iter().filter_map(|touch| {
        Some(format!("{} `{}` ({})", touch.surface, one_line(&touch.what), touch.refused.as_deref()?))
    });
    let refused: Vec<String> = refused.collect();
    if refused.is_empty() {
        return "the call was done: there is nothing to allow".to_owned();
    }
    format!("the call was done, and was refused on its way: {}", refused.join(", "))
}

/// Says what has changed since the record was written.
fn since(record: &Recorded, policy: &Policy<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let now = ringfence::personality_digest(policy.personality()).ok();
    if record.policy_digest.is_some() && record.policy_digest != now {
        notes.push(
            "the personality is not the one that decided: it has changed since, or `${workspace}` stands for another folder here. What follows is by the policy of today"
                .to_owned(),
        );
    }
    let tool = policy.loaded.declarations.iter().find(|own| own.name.as_str() == record.tool);
    let digest = tool.and_then(|own| ringfence::definition_digest(own).ok());
    if let (Some(then), Some(now)) = (&record.tool_digest, &digest)
        && then != now
    {
        notes.push(format!("the definition of `{}` has changed since", one_line(&record.tool)));
    }
    notes
}

/// Makes a change in a copy, and judges the call by it.
fn tried(policy: &Policy<'_>, tool: &str, attempt: Attempt) -> Result<Change, String> {
    let text = policy.loaded.text();
    let nowhere = || {
        "the change has no place that this program can write to: make it by hand, where the lines above say"
            .to_owned()
    };
    let mut draft = Draft::of(text, &policy.form).ok_or_else(nowhere)?;
    for edit in &attempt.edits {
        draft.change(edit).ok_or_else(nowhere)?;
    }
    let changed = draft.text().ok_or_else(nowhere)?;
    let then = policy.draft(&changed);
    if let Some(problem) = then.loaded.problems.first() {
        return Err(format!(
            "no change is advised: with the smallest one `ringfence check` says: {}",
            one_line(&problem.message)
        ));
    }
    if !(attempt.proof)(&then) {
        return Err("no small change of the policy lets this call through".to_owned());
    }
    let file = policy.place.policy.display().to_string();
    let mut all = attempt.also;
    all.extend(also::others(policy, &then, tool));
    Ok(Change { diff: unified(&file, text, &changed), also: all, then: afterwards(policy, &then, tool) })
}

/// Says what must be done before the change takes effect.
fn afterwards(policy: &Policy<'_>, then: &Policy<'_>, tool: &str) -> Vec<String> {
    let mut all = vec!["`ringfence check`, and make the call again".to_owned()];
    if policy.place.manifest().exists() {
        all.push(
            "`ringfence manifest accept`: what goes beyond the accepted manifest is withheld until then"
                .to_owned(),
        );
    }
    let digest = |policy: &Policy<'_>| {
        let own = policy.loaded.declarations.iter().find(|own| own.name.as_str() == tool);
        own.and_then(|own| ringfence::definition_digest(own).ok())
    };
    let is_pinned = policy.place.pins().ok().flatten().is_some();
    if is_pinned && digest(policy) != digest(then) {
        all.push(format!("`ringfence pins accept {tool}`: its definition is another one with the change"));
    }
    all
}
