//! A report as SARIF 2.1.0, by hand: the format is large and little of it is needed.
//!
//! INVARIANT: each result has a rule of its own run, a location (a place in a file where there is one, else what it is about),
//! and a fingerprint that no other result of the run has and that a moved line does not change.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::escape::{json as escaped, plain, sarif, uri};
use super::{FilePlace, Finding, Report, Step};

/// The name under which our fingerprints stand.
const FINGERPRINT: &str = "ringfence/v1";

pub(super) fn render(report: &Report<'_>) -> String {
    let mut rules: Vec<(&str, &str)> = report.rules.to_vec();
    for one in &report.findings {
        if !rules.iter().any(|(code, _)| *code == one.code) {
            rules.push((&one.code, &one.code));
        }
    }
    let listed: Vec<Value> = rules
        .iter()
        .map(|(code, short)| json!({"id": plain(code), "shortDescription": {"text": sarif(short)}}))
        .collect();
    let mut seen = BTreeMap::new();
    let results: Vec<Value> = report.findings.iter().map(|one| result(one, &rules, &mut seen)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": plain(report.title),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": listed,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    escaped(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

fn result(one: &Finding, rules: &[(&str, &str)], seen: &mut BTreeMap<String, usize>) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), plain(&one.code).into());
    if let Some(index) = rules.iter().position(|(code, _)| *code == one.code) {
        result.insert("ruleIndex".to_owned(), index.into());
    }
    result.insert("level".to_owned(), one.level.as_str().into());
    let help = one.help.as_ref().map(|help| format!("; {}", sarif(help))).unwrap_or_default();
    let message = format!("{}: {}{help}", sarif(&one.subject), sarif(&one.message));
    result.insert("message".to_owned(), json!({ "text": message }));
    let mut location = Map::new();
    if let Some(place) = &one.place {
        location.insert("physicalLocation".to_owned(), physical(place));
    }
    location.insert("logicalLocations".to_owned(), json!([{"fullyQualifiedName": plain(&one.subject)}]));
    result.insert("locations".to_owned(), json!([location]));
    if !one.steps.is_empty() {
        let steps: Vec<Value> = one.steps.iter().map(step).collect();
        let flow: Vec<Value> = steps.iter().map(|step| json!({ "location": step })).collect();
        result.insert("codeFlows".to_owned(), json!([{"threadFlows": [{"locations": flow}]}]));
        result.insert("relatedLocations".to_owned(), steps.into());
    }
    let print = fingerprint(one);
    let count = seen.entry(print.clone()).and_modify(|count| *count += 1).or_insert(1);
    result.insert("partialFingerprints".to_owned(), json!({ FINGERPRINT: format!("{print}:{count}") }));
    result.into()
}

fn physical(place: &FilePlace) -> Value {
    json!({
        "artifactLocation": {"uri": uri(&place.file)},
        "region": {"startLine": place.line.max(1), "startColumn": place.column.max(1)},
    })
}

fn step(step: &Step) -> Value {
    let mut location = Map::new();
    location.insert("message".to_owned(), json!({"text": sarif(&step.text)}));
    if let Some(place) = &step.place {
        location.insert("physicalLocation".to_owned(), physical(place));
    }
    location.into()
}

/// Returns a digest of what makes a finding the same finding tomorrow: not the numbers after a colon, which are places.
fn fingerprint(one: &Finding) -> String {
    let mut stable = String::with_capacity(one.message.len());
    let mut in_place = false;
    for c in one.message.chars() {
        in_place = c == ':' || (in_place && c.is_ascii_digit());
        if c == ':' || !in_place {
            stable.push(c);
        }
    }
    let mut digest = Sha256::new();
    for part in [&*one.code, &one.subject, &stable] {
        // With its length before it, no two lists of parts have the same bytes.
        digest.update(part.len().to_be_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
