//! A host, a path, a secret, a program or a variable that is not in the grant.

use std::net::IpAddr;

use ringfence::policy::{
    AddressClass, Host, HostPattern, HostShape, ListKind, NetworkGrant, Target, classify, is_metadata,
    is_metadata_address,
};
use ringfence_server::console::{PolicyQuestion, Surface};

use super::super::case::{Policy, Subject};
use super::super::draft::{Edit, Owner};
use super::super::record::Recorded;
use super::super::words;
use super::{Attempt, Cause, path};
use crate::desk::{Case, declares, permits, understood};

/// Finds the lists that lack it.
pub(super) fn cause(record: &Recorded, policy: &Policy<'_>) -> Cause {
    let Some(touch) = record.refused() else {
        return Cause::instead("the record does not say what was refused, so that no line can be named");
    };
    let (surface, what) = match touch.surface.as_str() {
        "binary" => (Surface::Binary, touch.what.clone()),
        "environment" => (Surface::Environment, touch.what.clone()),
        "host" => (Surface::Host, authority(record, &touch.what)),
        "read" => (Surface::Read, path::asked(record, touch)),
        "secret" => (Surface::Secret, touch.what.clone()),
        "write" => (Surface::Write, path::asked(record, touch)),
        _ => return Cause::instead("the record is of a surface that this program does not know"),
    };
    if let Some(cause) = path::spelling(surface, &what, record) {
        return cause;
    }
    let question = PolicyQuestion { tool: record.tool.clone(), surface, what };
    let Ok(case) = understood(&question, policy.place.variables()) else {
        return Cause::instead("what was asked for cannot be named in a policy");
    };
    if let Some(resolved) = below_the_floor(record, &touch.what) {
        return private(record, policy, &touch.what, resolved);
    }
    match policy.subject(&record.tool) {
        Some(subject) => judged(record, policy, subject, case, &touch.what),
        None => elsewhere(record, policy, &case, &touch.what),
    }
}

/// A tool whose declaration is not in the policy file: it is code of a program, or was in the file once.
fn elsewhere(record: &Recorded, policy: &Policy<'_>, case: &Case, what: &str) -> Cause {
    let mut cause = Cause::instead(format!(
        "`{}` is not declared in the policy file, so that no change can be tried: its declaration, in the program that brings it, must list what it needs, and the personality too",
        record.tool
    ));
    if !permits(case, policy.personality()) {
        cause.lacking = Some("personality");
        let says = format!("does not list `{what}`");
        cause.rules.push(policy.list_rule(&Owner::Personality, case.kind, says));
    }
    if let Some(instead) = not_advised(policy, case) {
        cause.instead = vec![instead];
    }
    cause
}

/// Judges what was asked for by the policy of today.
fn judged(record: &Recorded, policy: &Policy<'_>, subject: Subject<'_>, case: Case, what: &str) -> Cause {
    let declared = subject.capabilities();
    let mut cause = Cause::default();
    if case.judge(&declared, policy.personality()).is_ok() {
        cause.notes.push("the policy of today allows it: make the call again".to_owned());
        return cause;
    }
    let (is_declared, is_permitted) = (declares(&case, &declared), permits(&case, policy.personality()));
    if is_declared
        && is_permitted
        && let Some((target, led)) = path::led(&case)
    {
        // The path is permitted, and a link on its way leads to one that is not: that one decides.
        let mut cause = judged(record, policy, subject, led, &target);
        cause.notes.insert(0, format!("a link leads from `{what}` to `{target}`, which is what was judged"));
        return cause;
    }
    let kind = case.kind;
    let says = |what: &str| format!("does not list `{what}`");
    if !is_declared {
        cause.rules.push(policy.list_rule(&subject.owner(), kind, says(what)));
    }
    if !is_permitted {
        cause.rules.push(policy.list_rule(&Owner::Personality, kind, says(what)));
    }
    cause.lacking = match (is_declared, is_permitted) {
        (false, false) => Some("both"),
        (false, true) => Some("declaration"),
        (true, false) => Some("personality"),
        (true, true) => None,
    };
    if let Some(instead) = not_advised(policy, &case) {
        if cause.rules.is_empty() {
            let says = "lists it, and a path of the floor must be named by itself".to_owned();
            cause.rules.push(policy.list_rule(&Owner::Personality, kind, says));
        }
        cause.instead.push(instead);
        return cause;
    }
    let Some((entry, also)) = entry(record, &case, what) else {
        cause.instead.push("what was asked for cannot be named in a policy".to_owned());
        return cause;
    };
    let mut edits = Vec::new();
    if !is_declared {
        edits.push(Edit::Add { owner: subject.owner(), kind, entry: entry.clone() });
    }
    if !is_permitted {
        edits.push(Edit::Add { owner: Owner::Personality, kind, entry });
    }
    let tool = record.tool.clone();
    let proof = move |policy: &Policy<'_>| {
        let declared = policy.subject(&tool).map(Subject::capabilities);
        declared.is_some_and(|declared| case.judge(&declared, policy.personality()).is_ok())
    };
    cause.attempts.push(Attempt { edits, proof: Box::new(proof), also });
    cause
}

/// Returns why no change is advised, whatever the lists say.
fn not_advised(policy: &Policy<'_>, case: &Case) -> Option<String> {
    match case.kind {
        ListKind::Hosts => {
            let (ringfence::policy::Reach::Connect(text) | ringfence::policy::Reach::Url(text)) = &case.reach
            else {
                return None;
            };
            let target = Target::from_authority(text).or_else(|_| Target::from_url(text)).ok()?;
            match &target.host {
                Host::Address(address) => unadvised_address(*address),
                Host::Name(name) if is_metadata(&target.host) => Some(metadata(name)),
                Host::Name(_) => None,
            }
        }
        ListKind::Read | ListKind::Write => path::not_advised(policy, case),
        ListKind::Binaries | ListKind::Environment | ListKind::Secrets | ListKind::Tools => None,
    }
}

/// Returns why an address is never advised.
fn unadvised_address(address: IpAddr) -> Option<String> {
    if is_metadata_address(address) {
        return Some(metadata(&address));
    }
    match classify(address) {
        AddressClass::Public | AddressClass::Loopback | AddressClass::Private | AddressClass::SharedCgnat => {
            None
        }
        class => Some(format!("no change is advised: {address} is {class}, and no tool has business there")),
    }
}

fn metadata(what: &dyn std::fmt::Display) -> String {
    format!(
        "no change is advised: at {what} clouds hand out the credentials of this machine. Give the tool a secret of its own under `secrets` instead, and look at who asked for this"
    )
}

/// Returns the entry that would admit it, and what the entry admits.
fn entry(record: &Recorded, case: &Case, what: &str) -> Option<(String, Vec<String>)> {
    let tool = &record.tool;
    match case.kind {
        ListKind::Binaries => Some((
            what.to_owned(),
            vec![format!(
                "`{what}` with any arguments, in the sandbox; programs that it starts itself only as far as the sandbox lets them"
            )],
        )),
        ListKind::Environment => Some((
            what.to_owned(),
            vec![format!("the value of the variable `{what}`, whatever it is at the time")],
        )),
        ListKind::Secrets => Some((
            what.to_owned(),
            vec![format!(
                "the value of the secret `{what}`, which `{tool}` may send wherever it may send anything"
            )],
        )),
        ListKind::Hosts => {
            let port = port(record, what);
            let shape = match what.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(address) => HostShape::Address(address),
                Err(_) => HostShape::Name(what.parse().ok()?),
            };
            let pattern = HostPattern::new(shape, port);
            let mut also = vec![
                words::hosts(&pattern),
                format!(
                    "any path and any request there, and with it everything that `{tool}` can read or is given"
                ),
            ];
            if port.is_none() {
                also.push(format!(
                    "the record has only the name; write `{what}:443` where that port is enough"
                ));
            }
            Some((pattern.to_string(), also))
        }
        ListKind::Read | ListKind::Write => path::entry(case),
        ListKind::Tools => None,
    }
}

/// Returns the port that was asked for: as it was seen, or as a URL of the arguments says.
fn port(record: &Recorded, host: &str) -> Option<u16> {
    let seen = record.connection(host).and_then(|one| one.port);
    seen.or_else(|| {
        let mut found = None;
        each_text(&record.arguments, &mut |text| {
            let target = Target::from_url(text).ok().filter(|target| target.host.to_string() == host);
            found = found.or(target.map(|target| target.port));
        });
        found
    })
}

fn each_text(value: &serde_json::Value, look: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => look(text),
        serde_json::Value::Array(all) => all.iter().for_each(|one| each_text(one, look)),
        serde_json::Value::Object(all) => all.values().for_each(|one| each_text(one, look)),
        _ => {}
    }
}

/// Writes a host with the port that was asked for, as a question to the policy.
fn authority(record: &Recorded, host: &str) -> String {
    let port = port(record, host).unwrap_or(443);
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Returns the address that a name resolved to, where that was refused and not the name.
fn below_the_floor(record: &Recorded, host: &str) -> Option<IpAddr> {
    let said = record.connection(host).and_then(|one| one.message.clone());
    let said = said.unwrap_or_else(|| record.result.error.clone());
    let (_, rest) = said.split_once(" resolves to ")?;
    rest.split([',', ' ']).next()?.parse().ok()
}

/// A name that is permitted and leads to an address that is not public.
fn private(record: &Recorded, policy: &Policy<'_>, name: &str, address: IpAddr) -> Cause {
    let says = format!("lists `{name}`, and not that it may lead to {address}: see `network.private`");
    let mut cause = Cause {
        rules: vec![policy.list_rule(&Owner::Personality, ListKind::Hosts, says)],
        lacking: Some("personality"),
        ..Cause::default()
    };
    if let Some(instead) = unadvised_address(address) {
        cause.instead.push(instead);
        return cause;
    }
    let Ok(host) = name.parse() else { return cause };
    let target = Target::new(Host::Name(host), port(record, name).unwrap_or(443));
    let tool = record.tool.clone();
    let proof = move |policy: &Policy<'_>| {
        let declared = policy.subject(&tool).and_then(|own| own.capabilities().network);
        declared.is_some_and(|declared| {
            let grant = NetworkGrant::meet(&declared.allowed_hosts, &policy.personality().network);
            grant.judge(&target).is_ok() && grant.judge_address(&target, address).is_ok()
        })
    };
    let also = vec![format!(
        "whatever `{name}` leads to, also inside this network: whoever answers for the name decides which machine that is"
    )];
    cause.attempts.push(Attempt {
        edits: vec![Edit::AddPrivate(name.to_owned())],
        proof: Box::new(proof),
        also,
    });
    cause
}
