//! What an entry of the log says, in a few words.
//!
//! INVARIANT: only what the words need is read of a record, so that large arguments cost nothing, and what is written is short.

use serde::Deserialize;
use serde_json::Value;

/// How long a sentence may be, in characters.
const MOST: usize = 140;

/// What is read of a record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    outcome: Option<String>,
    verdict: Option<String>,
    step: Option<String>,
    action: Option<String>,
    change: Option<String>,
    settled: Option<String>,
    result: Option<Failed>,
    /// The code of what the fence refused a tool before it failed.
    refused: Option<String>,
    replayed: bool,
    attempts: Option<u64>,
    host: Option<String>,
    port: Option<u16>,
    via: Option<String>,
    message: Option<String>,
    sent: Option<u64>,
    received: Option<u64>,
    duration_us: Option<u64>,
    /// Of a connection, in milliseconds.
    duration: Option<f64>,
    by: Option<Value>,
    reason: Option<String>,
    name: Option<String>,
    role: Option<String>,
    personality: Option<String>,
    start: bool,
    server: Option<String>,
    about: Option<Value>,
    key: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failed {
    error: Option<String>,
}

impl Head {
    /// Reads a record; one that cannot be read says nothing.
    pub(crate) fn read(record: &str) -> Self {
        serde_json::from_str(record).unwrap_or_default()
    }

    /// Returns the word for how it went.
    pub(crate) fn state(&self) -> &str {
        let of_server = self.about_text("verdict").filter(|_| self.step.as_deref() == Some("connection"));
        let words = [&self.outcome, &self.verdict, &self.step, &self.settled, &self.change];
        let counts_as_refused = self.refused.as_ref().map(|_| "refused");
        of_server
            .or(counts_as_refused)
            .or_else(|| words.into_iter().find_map(|word| word.as_deref()))
            .unwrap_or_default()
    }

    /// Returns how long it took, in microseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration is a few hours, not negative"
    )]
    pub(crate) fn duration_us(&self) -> Option<u64> {
        self.duration_us.or_else(|| {
            self.duration.filter(|millis| (0.0..1e12).contains(millis)).map(|millis| (millis * 1000.0) as u64)
        })
    }

    fn about_text(&self, name: &str) -> Option<&str> {
        self.about.as_ref()?.get(name)?.as_str()
    }

    fn by(&self) -> String {
        match &self.by {
            Some(Value::String(by)) => by.clone(),
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            _ => "nobody".to_owned(),
        }
    }

    /// Adds the reason, where somebody gave one.
    fn because(&self, text: String) -> String {
        match self.reason.as_deref().filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("{text}: {reason}"),
            None => text,
        }
    }
}

/// Says what happened.
pub(crate) fn what(kind: &str, head: &Head) -> String {
    let said = match kind {
        "approval" => approval(head),
        "approver" => approver(head),
        "call" => call(head),
        "connection" => connection(
            head.verdict.as_deref(),
            head.host.as_deref(),
            head.port.map(u64::from),
            head.message.as_deref(),
            head.sent.zip(head.received),
            head.via.as_deref(),
        ),
        "console" => console(head),
        "policy" => policy(head),
        "server" => server(head),
        "settlement" => settlement(head),
        _ => String::new(),
    };
    short(&said, MOST)
}

/// Cuts a text that is too long.
pub(crate) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn call(head: &Head) -> String {
    let error = head.result.as_ref().and_then(|result| result.error.as_deref()).unwrap_or_default();
    let tries = head.attempts.filter(|tries| *tries > 1).map(|tries| format!(" after {tries} tries"));
    let tries = tries.unwrap_or_default();
    match head.outcome.as_deref() {
        Some("done") if head.replayed => "answered as an earlier call with the same key".to_owned(),
        Some("done") => format!("ran{tries}"),
        Some("failed") => match &head.refused {
            Some(code) => format!("failed after it was refused ({code}){tries}: {error}"),
            None => format!("failed{tries}: {error}"),
        },
        Some("refused") => format!("was refused: {error}"),
        _ => "ended".to_owned(),
    }
}

fn connection(
    verdict: Option<&str>,
    host: Option<&str>,
    port: Option<u64>,
    message: Option<&str>,
    bytes: Option<(u64, u64)>,
    via: Option<&str>,
) -> String {
    let host = host.unwrap_or("an unknown host");
    let place = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let message = message.unwrap_or_default();
    match (verdict, bytes) {
        (Some("refused"), _) if via == Some("dns") => format!("was refused the name {place}: {message}"),
        (Some("refused"), _) => format!("was refused {place}: {message}"),
        (Some("failed"), _) => format!("could not reach {place}: {message}"),
        (Some("cut"), _) => format!("was cut off from {place}: {message}"),
        (_, Some((sent, received))) => {
            format!("reached {place}, sent {}, received {}", size(sent), size(received))
        }
        _ => format!("reached {place}"),
    }
}

/// Writes a number of bytes.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        1_000_000..1_000_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
    }
}

fn approval(head: &Head) -> String {
    let by = head.by();
    match head.step.as_deref().unwrap_or_default() {
        "asked" => "waits for people".to_owned(),
        "agreed" => head.because(format!("{by} agreed")),
        "changed" => head.because(format!("{by} agreed to other arguments")),
        "refused" => head.because(format!("{by} refused it")),
        "withdrawn" => head.because(format!("{by} withdrew the approval")),
        "approved" => format!("was agreed to by {by}"),
        "denied" => head.because(format!("was denied by {by}")),
        "expired" => "nobody agreed in time".to_owned(),
        "pending" => "was told to come again, since nobody has agreed yet".to_owned(),
        "unreachable" => head.because("people could not be asked".to_owned()),
        other => other.to_owned(),
    }
}

fn approver(head: &Head) -> String {
    let name = head.name.as_deref().unwrap_or_default();
    match (head.change.as_deref(), head.role.as_deref()) {
        (Some("added"), Some(role)) => format!("{name} was made {role}"),
        (Some("added"), None) => format!("{name} was made approver"),
        _ => format!("{name} was revoked"),
    }
}

fn policy(head: &Head) -> String {
    let name = head
        .personality
        .as_deref()
        .map_or_else(|| "a nameless personality".to_owned(), |name| format!("the personality {name}"));
    if head.start {
        format!("{name} is in force, since the start")
    } else {
        format!("{name} was put in force")
    }
}

fn server(head: &Head) -> String {
    let name = head.server.as_deref().unwrap_or_default();
    let number = |field: &str| head.about.as_ref().and_then(|about| about.get(field)?.as_u64());
    let definition = head.about_text("definition").unwrap_or("a definition");
    match head.step.as_deref().unwrap_or_default() {
        "started" => format!("server {name} was started"),
        "ended" => match head.about_text("why").filter(|why| !why.is_empty()) {
            Some(why) => format!("server {name} ended: {why}"),
            None => format!("server {name} ended"),
        },
        "accepted" => format!("{definition} of server {name} is offered"),
        "withheld" => match head.about_text("why").filter(|why| !why.is_empty()) {
            Some(why) => format!("{definition} of server {name} is withheld: {why}"),
            None => format!("{definition} of server {name} is withheld"),
        },
        "connection" => {
            let bytes = number("sent").zip(number("received"));
            let (verdict, host) = (head.about_text("verdict"), head.about_text("host"));
            let (message, via) = (head.about_text("message"), head.about_text("via"));
            format!("server {name} {}", connection(verdict, host, number("port"), message, bytes, via))
        }
        other => format!("server {name}: {other}"),
    }
}

fn settlement(head: &Head) -> String {
    let found = match head.settled.as_deref() {
        Some("committed") => "was done",
        Some("failed") => "had no effect",
        _ => "is still in doubt",
    };
    let key = head.key.as_deref().unwrap_or_default();
    head.because(format!("{} found that the call with key {key} {found}", head.by()))
}

fn console(head: &Head) -> String {
    let action = head.action.as_deref().unwrap_or_default().replace('_', " ");
    let about = head.about.as_ref().and_then(Value::as_object).into_iter().flatten();
    let about = about.map(|(name, value)| match value {
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    });
    let about = about.collect::<Vec<_>>().join(", ");
    if about.is_empty() { action } else { format!("{action} ({about})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_in_words() {
        #[rustfmt::skip]
        let cases = [
            ("call", r#"{"outcome":"done","duration_us":7}"#, "done", "ran"),
            ("call", r#"{"outcome":"done","attempts":3}"#, "done", "ran after 3 tries"),
            ("call", r#"{"outcome":"done","replayed":true}"#, "done", "answered as an earlier call with the same key"),
            ("call", r#"{"outcome":"refused","result":{"ok":false,"error":"no such host"}}"#, "refused", "was refused: no such host"),
            ("call", r#"{"outcome":"failed","result":{"error":"boom"}}"#, "failed", "failed: boom"),
            ("connection", r#"{"host":"a.io","port":443,"via":"gate","sent":1500,"received":2,"duration":1.5,"verdict":"done"}"#, "done", "reached a.io:443, sent 1.5 kB, received 2 B"),
            ("connection", r#"{"host":"a.io","via":"dns","verdict":"refused","message":"not granted"}"#, "refused", "was refused the name a.io: not granted"),
            ("connection", r#"{"host":"a.io","port":80,"verdict":"cut","message":"time is up"}"#, "cut", "was cut off from a.io:80: time is up"),
            ("approval", r#"{"step":"asked","by":[]}"#, "asked", "waits for people"),
            ("approval", r#"{"step":"agreed","by":["ada"],"reason":""}"#, "agreed", "ada agreed"),
            ("approval", r#"{"step":"changed","by":["ada"],"reason":"less"}"#, "changed", "ada agreed to other arguments: less"),
            ("approval", r#"{"step":"withdrawn","by":["ada"],"reason":"no"}"#, "withdrawn", "ada withdrew the approval: no"),
            ("call", r#"{"outcome":"failed","refused":"HOST_NOT_ALLOWED","result":{"ok":false,"error":"exit 6"}}"#, "refused", "failed after it was refused (HOST_NOT_ALLOWED): exit 6"),
            ("approval", r#"{"step":"refused","by":["ada"],"reason":"no"}"#, "refused", "ada refused it: no"),
            ("approval", r#"{"step":"approved","by":["ada","bob"]}"#, "approved", "was agreed to by ada, bob"),
            ("approver", r#"{"name":"ada","change":"added","role":"admin"}"#, "added", "ada was made admin"),
            ("approver", r#"{"name":"ada","change":"revoked"}"#, "revoked", "ada was revoked"),
            ("policy", r#"{"personality":"clerk","start":true}"#, "", "the personality clerk is in force, since the start"),
            ("policy", r#"{"personality":null,"start":false}"#, "", "a nameless personality was put in force"),
            ("server", r#"{"server":"git","step":"started","about":{}}"#, "started", "server git was started"),
            ("server", r#"{"server":"git","step":"ended","about":{"why":"it hung up"}}"#, "ended", "server git ended: it hung up"),
            ("server", r#"{"server":"git","step":"connection","about":{"host":"a.io","port":443,"verdict":"refused","message":"no"}}"#, "refused", "server git was refused a.io:443: no"),
            ("server", r#"{"server":"git","step":"withheld","about":{"definition":"tool:log","why":"it is new"}}"#, "withheld", "tool:log of server git is withheld: it is new"),
            ("settlement", r#"{"settled":"committed","by":"ada","reason":"seen","key":"k"}"#, "committed", "ada found that the call with key k was done: seen"),
            ("console", r#"{"action":"looked at raw output","about":{"index":3}}"#, "", "looked at raw output (index 3)"),
            ("console", r#"{"action":"logout","about":{}}"#, "", "logout"),
            ("call", "no record", "", "ended"),
            ("mystery", "{}", "", ""),
        ];
        for (kind, record, state, expected) in cases {
            let head = Head::read(record);
            assert_eq!((head.state(), what(kind, &head).as_str()), (state, expected), "{record}");
        }
    }

    #[test]
    fn what_is_said_is_short() {
        let record = serde_json::json!({ "outcome": "failed", "result": { "error": "ü".repeat(10_000) } });
        let said = what("call", &Head::read(&record.to_string()));
        assert_eq!(said.chars().count(), MOST);
        assert!(said.ends_with('…'));
    }
}
