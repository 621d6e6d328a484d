//! The cases of `tests/corpora` for the scanner: how many attacks it flags, and how many honest descriptions.
//!
//! Rules may be tuned on the part that `is_tuned_on` names; the other part only measures how they generalise.

use ringfence_text::{Definition, Verdict, collide, collisions, refused, scan};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::it::corpora::cases;

/// Part of the cases: those that say so, or by their id, so that it stays the same.
fn is_tuned_on(case: &Value) -> bool {
    if let Some(is_tuned_on) = case["tuned"].as_bool() {
        return is_tuned_on;
    }
    let id = case["id"].as_str().unwrap();
    Sha256::digest(id).iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 10) < 6
}

fn verdict(case: &Value) -> Verdict {
    let definition = Definition {
        name: case["tool"].as_str().unwrap(),
        title: case["title"].as_str(),
        description: case["description"].as_str(),
        input_schema: case.get("inputSchema"),
        output_schema: case.get("outputSchema"),
    };
    scan(&definition).verdict
}

/// Counts cases, those flagged or worse, and those quarantined. Prints those that are not flagged as they should be.
fn count<'a>(cases: impl Iterator<Item = &'a Value>) -> (usize, usize, usize) {
    cases.fold((0, 0, 0), |(all, flagged, quarantined), case| {
        let verdict = verdict(case);
        let is_flagged = verdict >= Verdict::Flag;
        if is_flagged != (case["expect"] == "deny") {
            println!("  {} {} {}: {verdict:?}", case["id"], case["category"], case["tool"]);
        }
        (
            all + 1,
            flagged + usize::from(is_flagged),
            quarantined + usize::from(verdict == Verdict::Quarantine),
        )
    })
}

/// What the scanner must reach on one part of the cases, in thousandths.
struct Floor {
    part: &'static str,
    is_tuned_on: bool,
    /// Poisoned cases that are flagged, at least.
    seen: usize,
    /// Benign cases that are flagged, at most.
    flagged: usize,
    /// Benign cases that are quarantined, at most.
    quarantined: usize,
}

/// What was measured, slightly rounded.
///
/// The aims are 900, 10 and 1 for both parts. What differs between the parts is how far words can go: an order without a
/// word of alarm in a wording that no class of words knows is missed. The benign cases are chosen to be hard (descriptions
/// that quote attacks, show shell commands, insist, hide, delete or pay); of 670 descriptions of real servers 3 are flagged.
#[rustfmt::skip]
const FLOORS: [Floor; 2] = [
    Floor { part: "tuned on", is_tuned_on: true,  seen: 945, flagged: 49, quarantined: 11 },
    Floor { part: "held out", is_tuned_on: false, seen: 720, flagged: 68, quarantined: 17 },
];

#[test]
fn poisoned_descriptions_are_seen_and_honest_ones_left_alone() {
    let (poisoned, benign) = (cases("poisoned", 550), cases("benign", 840));
    for floor in FLOORS {
        let part = floor.part;
        let is_in = |case: &&Value| is_tuned_on(case) == floor.is_tuned_on;
        let (all, flagged, quarantined) = count(poisoned.iter().filter(is_in));
        println!("poisoned, {part}: {flagged} of {all} flagged, {quarantined} of them quarantined");
        assert!(all >= 40, "{part}: only {all} poisoned cases");
        assert!(flagged * 1_000 >= all * floor.seen, "{part}: {flagged} of {all}");
        let (all, flagged, quarantined) = count(benign.iter().filter(is_in));
        println!("benign, {part}: {flagged} of {all} flagged, {quarantined} of them quarantined");
        assert!(all >= 100, "{part}: only {all} benign cases");
        assert!(flagged * 1_000 <= all * floor.flagged, "{part}: {flagged} of {all}");
        assert!(quarantined * 1_000 <= all * floor.quarantined, "{part}: {quarantined} of {all}");
    }
}

#[test]
fn injections_are_told_from_ordinary_descriptions() {
    let cases = cases("injections", 50);
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
    let cases = cases("unicode", 60);
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
    let cases = cases("toolnames", 50);
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
