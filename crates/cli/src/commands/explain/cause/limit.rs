//! A limit that was too small, or a deadline that was too short.

use std::time::Duration;

use ringfence::policy::{Limits, Size, Span};
use ringfence::sandbox::default_limits;
use ringfence::{Code, Declaration};
use serde_json::Value;

use super::super::case::{Policy, Subject};
use super::super::draft::{Edit, Owner, Setting};
use super::super::record::Recorded;
use super::{Attempt, Cause};

/// Finds the limit that was hit, and doubles it: how much would be enough nobody knows.
pub(super) fn cause(record: &Recorded, code: Code, policy: &Policy<'_>) -> Cause {
    let Some(tool) = policy.subject(&record.tool).and_then(Subject::tool) else {
        return Cause::instead(format!(
            "raise the limit in the entry of the server of `{}`, where the message names one",
            record.tool
        ));
    };
    let Some(name) = named(&record.result.error, code) else {
        return Cause::instead(
            "no limit of the policy is named: the message says what was too large or too much",
        );
    };
    let personal = &policy.personality().limits;
    let sides = [
        (Owner::Tool(record.tool.clone()), value(&tool.limits, &name)),
        (Owner::Personality, value(personal, &name)),
    ];
    let default = value(&default_limits(), &name);
    let tightest =
        sides.iter().filter_map(|(_, own)| own.clone()).min_by_key(amount).or_else(|| default.clone());
    let Some(tightest) = tightest else {
        return Cause::instead(format!(
            "nothing in the policy limits `{name}`: it is the deadline of the call or of the program"
        ));
    };
    if code == Code::DeadlineExceeded && is_of_the_caller(&record.result.error, &tightest) {
        return Cause::instead(
            "the caller's own deadline was shorter than any limit of the policy: give the call more time",
        );
    }
    let Some(doubled) = doubled(&tightest) else {
        return Cause::instead(format!("`limits.{name}` cannot be raised any further"));
    };
    let mut cause = Cause::default();
    let mut edits = Vec::new();
    let field = format!("limits.{name}");
    for (owner, own) in &sides {
        let Some(own) = own.as_ref().filter(|own| amount(own) < amount(&doubled)) else { continue };
        cause.rules.push(policy.field_rule(owner, &field, format!("allows {}", shown(own))));
        edits.push(set(owner.clone(), &name, &doubled));
    }
    cause.lacking =
        match sides.each_ref().map(|(_, own)| own.as_ref().is_some_and(|own| amount(own) < amount(&doubled)))
        {
            [true, true] => Some("both"),
            [false, true] => Some("personality"),
            [true, false] | [false, false] => Some("declaration"),
        };
    if edits.is_empty() {
        let says = format!("names no limit, and without one the sandbox allows {}", shown(&tightest));
        let owner = Owner::Tool(record.tool.clone());
        cause.rules.push(policy.field_rule(&owner, &field, says));
        edits.push(set(owner, &name, &doubled));
    }
    let also = vec![
        format!("every call of `{}` may spend up to {} ({name})", record.tool, shown(&doubled)),
        "it is twice what was too little; whether it is enough is seen when the call is made again"
            .to_owned(),
    ];
    let (tool, limit) = (record.tool.clone(), amount(&doubled));
    let proof = move |policy: &Policy<'_>| {
        let own = policy.subject(&tool).and_then(Subject::tool);
        let met = own.map(|own: &Declaration| own.limits.meet(&policy.personality().limits));
        met.and_then(|met| value(&met, &name)).is_some_and(|now| amount(&now) == limit)
    };
    cause.attempts.push(Attempt { edits, proof: Box::new(proof), also });
    if code == Code::DeadlineExceeded {
        cause.instead.push(
            "look whether the call took effect before you make it again: it was running when its time was up"
                .to_owned(),
        );
    }
    cause
}

/// Returns the limit that a message names.
fn named(message: &str, code: Code) -> Option<String> {
    if code == Code::DeadlineExceeded {
        return Some("wall".to_owned());
    }
    let words = message.split('`').skip(1).step_by(2).map(|word| word.replace('-', "_"));
    let known = serde_json::to_value(every()).unwrap_or_default();
    words.into_iter().find(|word| known.get(word).is_some())
}

/// Every limit there is, whatever it is.
fn every() -> Limits {
    let (span, size) = (Some(Span::new(Duration::from_secs(1))), Some(Size::new(1)));
    Limits {
        wall: span,
        cpu: span,
        memory: size,
        processes: Some(1),
        open_files: Some(1),
        file_size: size,
        output: size,
        scratch: size,
        connections: Some(1),
        sent: size,
        received: size,
        idle: span,
        connection_time: span,
        requests_per_minute: Some(1),
        names_per_minute: Some(1),
    }
}

fn value(limits: &Limits, name: &str) -> Option<Value> {
    serde_json::to_value(limits).ok()?.get(name).cloned()
}

/// Returns a limit as a number that grows with it: milliseconds, bytes or a count.
fn amount(limit: &Value) -> u128 {
    let text = limit.as_str().unwrap_or_default();
    if let Ok(span) = text.parse::<Span>() {
        return span.duration().as_millis();
    }
    text.parse::<Size>().map(Size::bytes).ok().or_else(|| limit.as_u64()).unwrap_or_default().into()
}

fn doubled(limit: &Value) -> Option<Value> {
    let text = limit.as_str().unwrap_or_default();
    if let Ok(span) = text.parse::<Span>() {
        return Some(Value::from(Span::new(span.duration().checked_mul(2)?).to_string()));
    }
    if let Ok(size) = text.parse::<Size>() {
        return Some(Value::from(Size::new(size.bytes().checked_mul(2)?).to_string()));
    }
    let count = u32::try_from(limit.as_u64()?).ok()?;
    Some(Value::from(count.checked_mul(2)?))
}

fn shown(limit: &Value) -> String {
    limit.as_str().map_or_else(|| limit.to_string(), str::to_owned)
}

fn set(owner: Owner, name: &str, limit: &Value) -> Edit {
    let camel = camel(name);
    let way = vec![vec!["limits".to_owned()], vec![name.to_owned(), camel, name.replace('_', "-")]];
    let setting = match limit.as_u64().and_then(|count| u32::try_from(count).ok()) {
        Some(count) => Setting::Number(count),
        None => Setting::Text(shown(limit)),
    };
    Edit::Set { owner, way, setting }
}

/// Spells a name with capitals in place of its underscores.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// Says whether a call had less time than the policy gives it.
fn is_of_the_caller(message: &str, limit: &Value) -> bool {
    let seconds = message
        .split_once("did not end within ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    let had = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    had.is_some_and(|had| had.as_millis() < amount(limit))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_limit_is_found_in_the_message_and_doubled() {
        #[rustfmt::skip]
        let cases = [
            ("LIMIT_EXCEEDED: the command ran into its limit `memory`",              Some("memory")),
            ("LIMIT_EXCEEDED: the command ran into its limit `open-files`",          Some("open_files")),
            ("LIMIT_EXCEEDED: more than 3 were asked for (`requests_per_minute`)",   Some("requests_per_minute")),
            ("LIMIT_EXCEEDED: the output is larger than 4 bytes",                    None),
        ];
        for (message, wanted) in cases {
            assert_eq!(named(message, Code::LimitExceeded).as_deref(), wanted, "{message}");
        }
        for (limit, wanted) in
            [(json!("1500ms"), json!("3s")), (json!("64M"), json!("128M")), (json!(4), json!(8))]
        {
            assert_eq!(doubled(&limit), Some(wanted));
        }
        assert_eq!(camel("requests_per_minute"), "requestsPerMinute");
        assert!(is_of_the_caller("the tool did not end within 0.5 seconds", &json!("1s")));
        assert!(!is_of_the_caller("the tool did not end within 1 seconds", &json!("1s")));
    }
}
