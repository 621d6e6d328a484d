//! The shared example cases, where they are present: how many attacks are seen, and how many honest texts suffer.
//!
//! Rules were tuned on the part that `is_tuned_on` names; the other part only measures how they generalise.
#![expect(clippy::disallowed_methods, reason = "the cases are files beside the project")]

use ringfence_text::{Definition, Verdict, collide, collisions, refused, scan};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn cases(name: &str) -> Option<Vec<Value>> {
    let path = format!("{}/../../../shared/corpora/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("the shared corpus `{name}` is not here; the project's own tables stand alone");
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Part of the cases, told by their id, so that it stays the same.
fn is_tuned_on(case: &Value) -> bool {
    let id = case["id"].as_str().unwrap();
    Sha256::digest(id).iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 10) < 6
}

fn verdict(case: &Value) -> Verdict {
    let definition = Definition {
        description: case["description"].as_str(),
        input_schema: case.get("inputSchema"),
        ..Definition::new(case["tool"].as_str().unwrap())
    };
    scan(&definition).verdict
}

/// Counts cases, those flagged or worse, and those quarantined.
fn counted<'a>(cases: impl Iterator<Item = &'a Value>) -> (usize, usize, usize) {
    cases.map(verdict).fold((0, 0, 0), |(all, flagged, quarantined), verdict| {
        (
            all + 1,
            flagged + usize::from(verdict >= Verdict::Flag),
            quarantined + usize::from(verdict == Verdict::Quarantine),
        )
    })
}

#[test]
fn poisoned_descriptions_are_seen_and_honest_ones_left_alone() {
    let (Some(poisoned), Some(benign)) = (cases("poisoned"), cases("benign")) else { return };
    for (part, tuned) in [("tuned on", true), ("held out", false)] {
        let (all, flagged, quarantined) = counted(poisoned.iter().filter(|case| is_tuned_on(case) == tuned));
        println!("poisoned, {part}: {flagged} of {all} flagged, {quarantined} of them quarantined");
        assert!(flagged * 100 >= all * 85, "{part}: {flagged} of {all}");
        let (all, flagged, quarantined) = counted(benign.iter().filter(|case| is_tuned_on(case) == tuned));
        println!("benign, {part}: {flagged} of {all} flagged, {quarantined} of them quarantined");
        assert!(flagged * 1_000 <= all * 15, "{part}: {flagged} of {all}");
        assert!(quarantined * 1_000 <= all, "{part}: {quarantined} of {all}");
    }
}

#[test]
fn injections_are_told_from_ordinary_descriptions() {
    let Some(cases) = cases("injections") else { return };
    let mut wrong = Vec::new();
    for case in &cases {
        let mut tool = json!({"description": "A tool."});
        let path: Vec<&str> = case["field"].as_str().unwrap().split('.').collect();
        let mut place = &mut tool;
        for key in path {
            place = &mut place[key];
        }
        *place = case["text"].clone();
        let definition = Definition {
            name: case["tool"].as_str().unwrap(),
            title: tool["title"].as_str(),
            description: tool["description"].as_str(),
            input_schema: tool.get("inputSchema"),
            output_schema: tool.get("outputSchema"),
        };
        let found = scan(&definition);
        if (found.verdict >= Verdict::Flag) != (case["expect"] == "deny") && case["either"] != json!(true) {
            wrong.push(format!("{}: {} {found:?}", case["id"], case["text"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn hidden_characters_are_quarantined_and_honest_text_is_not() {
    let Some(cases) = cases("unicode") else { return };
    let mut wrong = Vec::new();
    for case in &cases {
        let hides = matches!(case["category"].as_str(), Some("bidi" | "tag" | "varsel" | "zero-width"));
        let is_benign = case["expect"] == "allow";
        let found = scan(&Definition::new("tool").description(case["input"].as_str().unwrap()));
        let right = if hides {
            found.verdict == Verdict::Quarantine
        } else {
            !is_benign || found.verdict == Verdict::Accept
        };
        if !right && case["either"] != json!(true) {
            wrong.push(format!("{}: {} {found:?}", case["id"], case["why"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn names_that_pass_for_one_another_collide() {
    let Some(cases) = cases("toolnames") else { return };
    let mut wrong = Vec::new();
    for case in &cases {
        let (one, other) = (case["a"].as_str().unwrap(), case["b"].as_str().unwrap());
        let alone = case["category"] == "single-name";
        let denied = collide(one, other) || (alone && refused(one).is_some());
        assert_eq!(collide(one, other), !collisions(&[one, other]).is_empty());
        if denied != (case["expect"] == "deny") {
            let either = if case["either"] == json!(true) { " (either)" } else { "" };
            println!("{}{either}: {one:?} {other:?} {}", case["id"], case["why"]);
            if either.is_empty() {
                wrong.push(case["id"].to_string());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
