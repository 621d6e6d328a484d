//! The cases of `tests/corpora` that [`clean`] must meet: hidden characters, secrets and honest descriptions.

use ringfence_text::clean;
use serde_json::Value;

/// Returns the cases of a file in `tests/corpora`, which are at least `minimum` many.
pub(crate) fn cases(name: &str, minimum: usize) -> Vec<Value> {
    let path = format!("{}/../../tests/corpora/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= minimum, "`{path}` has {} cases, fewer than {minimum}", cases.len());
    cases
}

fn strings<'a>(case: &'a Value, key: &str) -> Vec<&'a str> {
    case[key].as_array().into_iter().flatten().map(|value| value.as_str().unwrap()).collect()
}

fn forbidden(point: char, ranges: &[&str]) -> bool {
    ranges.iter().any(|range| {
        let (low, high) = range.split_once('-').unwrap();
        let number = |text| u32::from_str_radix(text, 16).unwrap();
        (number(low)..=number(high)).contains(&u32::from(point))
    })
}

#[test]
fn unicode() {
    let mut wrong = Vec::new();
    let mut debatable = 0;
    let all = cases("unicode", 60);
    for case in &all {
        let input = case["input"].as_str().unwrap();
        let cleaned = clean(input);
        assert_eq!(clean(&cleaned.text).text, cleaned.text, "{case}");
        let right = if case["expect"] == "allow" {
            cleaned.text == input
        } else {
            let ranges = strings(case, "forbid");
            !cleaned.text.chars().any(|point| forbidden(point, &ranges))
                && strings(case, "keep").iter().all(|kept| cleaned.text.contains(kept))
                && !strings(case, "gone").iter().any(|gone| cleaned.text.contains(gone))
        };
        if !right {
            match case["either"].as_bool() {
                Some(true) => debatable += 1,
                _ => wrong.push(format!("{} {} {:?} -> {:?}", case["id"], case["why"], input, cleaned.text)),
            }
        }
    }
    println!("unicode: {} cases, {} wrong, {debatable} answered the other way", all.len(), wrong.len());
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn secrets() {
    let (mut missed, mut damaged) = (Vec::new(), Vec::new());
    let (mut secrets, mut benign) = (0, 0);
    for case in &cases("secrets", 80) {
        let secret = strings(case, "secret_parts").concat();
        let text = case["template"].as_str().unwrap().replace("{S}", &secret);
        let cleaned = clean(&text);
        assert_eq!(clean(&cleaned.text).text, cleaned.text, "{case}");
        if case["expect"] == "allow" {
            benign += 1;
            if cleaned.text != text {
                damaged.push(format!("{} {} -> {}", case["id"], case["kind"], cleaned.text));
            }
        } else {
            secrets += 1;
            if cleaned.text.contains(&secret) {
                missed.push(format!("{} {} {}", case["id"], case["kind"], case["template"]));
            }
        }
    }
    println!(
        "secrets: {} of {secrets} redacted, {} of {benign} benign changed",
        secrets - missed.len(),
        damaged.len()
    );
    for line in missed.iter().chain(&damaged) {
        println!("  {line}");
    }
    assert!(missed.len() * 100 <= secrets * 3, "{missed:?}");
    assert!(damaged.len() * 100 <= benign, "{damaged:?}");
}

/// Descriptions of tools are ordinary text that talks about tokens and keys all the time.
#[test]
fn descriptions() {
    let mut damaged = Vec::new();
    let all = cases("benign", 300);
    for case in &all {
        let text = case["description"].as_str().unwrap_or_default();
        let cleaned = clean(text);
        if cleaned.text != text {
            let found: Vec<String> = cleaned
                .findings
                .iter()
                .map(|one| format!("{} {:?}", one.label, text.get(one.span.clone())))
                .collect();
            damaged.push(format!("{} {found:?}", case["id"]));
        }
    }
    println!("descriptions: {} of {} changed", damaged.len(), all.len());
    for line in &damaged {
        println!("  {line}");
    }
    assert!(damaged.len() * 100 <= all.len(), "{damaged:?}");
}
