//! Credentials in a text: by vendor, by context, in addresses, in armour, and one level of encoding down.
//!
//! INVARIANT: a marker is never found again, so that redacting twice is redacting once.

mod announcer;
mod checksum;
mod context;
mod decode;
mod discord;
mod integrity;
mod phrase;
mod place;
mod rule;
mod run;
mod table;
mod value;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use announcer::ANNOUNCERS;
#[cfg(test)]
pub(crate) use context::value_of;
pub(crate) use table::RULES;

use serde_json::Value;

use crate::clean::{Edit, FindingKind, settle};
use crate::trigger::{self, Header, Hit, Meaning};
use value::{Strength, convinces, made_up};

/// How deep to look into encodings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Depth {
    /// Decode what looks encoded.
    Encoded,
    /// The text was decoded already.
    Plain,
}

/// A credential: where it is and what it is; a lower rank names it better.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) span: Range<usize>,
    pub(crate) label: &'static str,
    pub(crate) rank: u8,
}

const VENDOR: u8 = 0;
const ARMOUR: u8 = 1;
const PLACE: u8 = 2;
const CONTEXT: u8 = 3;
const WEAK: u8 = 4;

/// Finds what to redact.
pub(crate) fn edits(text: &str, hits: &[Hit]) -> Vec<Edit> {
    let found = find(text, hits, Depth::Encoded);
    let mut ranked: Vec<(Edit, u8)> = found
        .into_iter()
        .map(|one| {
            let with = Cow::Owned(["[redacted: ", one.label, "]"].concat());
            (Edit { span: one.span, with, kind: FindingKind::Credential, label: one.label }, one.rank)
        })
        .collect();
    ranked.sort_by_key(|(edit, rank)| (edit.span.start, *rank));
    let rank = |edit: &Edit| match edit.label {
        "password" | "secret" | "token" | "api-key" | "authorization" | "cookie" | "session"
        | "url-password" | "signature" => 2,
        "private-key" | "basic-auth" | "access-key" => 1,
        _ => 0,
    };
    let mut edits: Vec<Edit> = ranked.into_iter().map(|(edit, _)| edit).collect();
    settle(&mut edits, rank);
    edits
}

/// Finds every credential, in no order; spans may overlap.
pub(crate) fn find(text: &str, hits: &[Hit], depth: Depth) -> Vec<Found> {
    let mut found = Vec::new();
    for hit in hits {
        match hit.meaning {
            Meaning::Vendor(index) => found.extend(vendor(text, hit.at, index)),
            Meaning::Announce(index) => found.extend(announced(text, hit.at, index)),
            Meaning::Header(header) => place::header(text, hit.at, header, &mut found),
            Meaning::Armour => found.extend(place::armour(text, hit.at)),
            Meaning::Command(option) => found.extend(place::command(text, hit.at, option)),
            Meaning::Pgpass => found.extend(place::pgpass(text, hit.at)),
            Meaning::Phrase => found.extend(phrase::phrase(text, hit.at)),
            Meaning::Query(label) => found.extend(place::query(text, hit.at, label)),
            Meaning::Mark(_) => {}
        }
    }
    place::addresses(text, &mut found);
    discord::tokens(text, &mut found);
    run::runs(text, depth, &mut found);
    if depth == Depth::Encoded {
        decode::percent(text, &mut found);
    }
    found.retain(|one| {
        !one.span.is_empty()
            && text.is_char_boundary(one.span.start)
            && text.is_char_boundary(one.span.end)
            // What is called a password is one, whatever it looks like.
            && (one.label == "password" || !integrity::holds(text, &one.span))
    });
    found
}

/// What the name of a field, as in structured output, makes of its value.
pub(crate) struct Named(Vec<Announced>);

enum Announced {
    Authorization,
    By(usize),
}

impl Named {
    /// Reads a name; `None` where it announces no credential.
    pub(crate) fn read(name: &str) -> Option<Self> {
        if !may_announce(name) {
            return None;
        }
        let text = format!("{name}=\"");
        let announced = |hit: &Hit| match hit.meaning {
            Meaning::Announce(index) => {
                let probe = format!("{text}{}\"", "x1".repeat(12));
                context::value_of(&probe, hit.at, ANNOUNCERS.get(index)?)?;
                Some(Announced::By(index))
            }
            Meaning::Header(Header::Authorization) => Some(Announced::Authorization),
            _ => None,
        };
        let found: Vec<Announced> = trigger::hits(&text).iter().filter_map(announced).collect();
        (!found.is_empty()).then_some(Self(found))
    }

    /// Tells whether a name can make a credential of a value at all: of a number or a short text it cannot.
    pub(crate) fn may_judge(value: &Value) -> bool {
        match value {
            Value::String(text) => text.len() >= value::SHORTEST,
            Value::Array(items) => items.iter().any(Self::may_judge),
            // Its fields have names of their own.
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Judges a value; the label of the credential that it is.
    pub(crate) fn judge(&self, value: &str) -> Option<&'static str> {
        self.0.iter().find_map(|announced| match announced {
            Announced::Authorization => {
                (value.len() > 7 && !value::stands_in(value)).then_some("authorization")
            }
            Announced::By(index) => {
                let announcer = ANNOUNCERS.get(*index)?;
                let is_hash = announcer.label != "password" && integrity::is_hash(value);
                (!is_hash && convinces(value, announcer.strength, true)).then_some(announcer.label)
            }
        })
    }
}

/// Tells whether a name holds a word that announces a credential. Nearly none does, so nothing is put together for it.
fn may_announce(name: &str) -> bool {
    const SHORT: usize = 64;
    let mut text = [0; SHORT];
    let length = name.len() + 2;
    for (slot, byte) in text.iter_mut().zip(name.bytes().chain(*b"=\"")) {
        *slot = byte;
    }
    text.get(..length).is_none_or(|text| {
        trigger::has(text, |meaning| {
            matches!(meaning, Meaning::Announce(_) | Meaning::Header(Header::Authorization))
        })
    })
}

/// Returns a rule as a regular expression.
pub(crate) fn pattern(rule: &rule::Rule) -> String {
    rule.pattern()
}

fn vendor(text: &str, at: usize, index: usize) -> Option<Found> {
    let rule = RULES.get(index)?;
    let (span, body) = rule.matches(text.as_bytes(), at)?;
    let inner = text.get(body)?;
    // A checksum that fits ends all doubt; most copies in manuals have none.
    if made_up(if rule.body.is_empty() { text.get(span.clone())? } else { inner })
        && !checksum::fits(text.get(span.clone())?)
    {
        return None;
    }
    Some(Found { span, label: rule.label, rank: VENDOR })
}

fn announced(text: &str, at: usize, index: usize) -> Option<Found> {
    let announcer = ANNOUNCERS.get(index)?;
    let value = context::value_of(text, at, announcer)?;
    let content = text.get(value.span.clone())?;
    let strength = match announcer.strength {
        // Prose must convince: "the password is required", "token for pagination".
        _ if value.loose && announcer.strength != Strength::Password => Strength::Weak,
        strength => strength,
    };
    if value.loose && !content.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A variable of the environment that ends in `_KEY` holds no digest.
    let variable = || {
        let name = context::name_before(text, at);
        name.bytes().any(|byte| byte.is_ascii_uppercase())
            && !name.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let digest = announcer.strength == Strength::Weak
        && value::is_digest(content)
        && announcer.label != "session"
        && !variable();
    (!digest && convinces(content, strength, value.quoted)).then(|| Found {
        span: value.span,
        label: announcer.label,
        rank: if announcer.strength == Strength::Weak { WEAK } else { CONTEXT },
    })
}
