//! `ringfence clean`: streams, objects and lines.

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::corpora::cases;

fn clean(arguments: &[&str], input: &[u8]) -> String {
    let bench = Bench::new();
    let all: Vec<&str> = std::iter::once("clean").chain(arguments.iter().copied()).collect();
    bench.ringfence_with(&all, input)
}

#[test]
fn cleans_a_stream() {
    insta::assert_snapshot!(clean(&[], b"\x1b[31mred\x1b[0m pass\xe2\x80\x8bword=Tr0ub4dor7x\n"), @"
    red password=[redacted: password]
    exit 4
    ");
    insta::assert_snapshot!(clean(&[], "nothing here, \u{1f469}\u{200d}\u{1f680} said\n".as_bytes()), @"
    nothing here, 👩‍🚀 said
    exit 0
    ");
    insta::assert_snapshot!(clean(&[], b""), @"exit 0");
    insta::assert_snapshot!(clean(&[], b"a\xffb\x9b31mc\xe2\x82\n"), @"
    a�bc�
    exit 4
    ");
}

#[test]
fn tells_what_it_found() {
    insta::assert_snapshot!(clean(&["--json"], "a\u{202e}b ![x](https://e.test/p)".as_bytes()), @r#"
    {"text":"ab [x][removed: image]","findings":[{"kind":"hidden","label":"bidi","span":{"start":1,"end":4},"action":"removed"},{"kind":"markdown","label":"image","span":{"start":6,"end":7},"action":"removed"},{"kind":"markdown","label":"image","span":{"start":10,"end":28},"action":{"replaced":"[removed: image]"}}]}
    exit 4
    "#);
    insta::assert_snapshot!(clean(&["--json"], b"plain"), @r#"
    {"text":"plain","findings":[]}
    exit 0
    "#);
    assert!(clean(&["--json", "--jsonl"], b"").ends_with("exit 2"));
}

#[test]
fn answers_line_by_line() {
    let lines = [
        r#"{"id": 1, "text": "a\u001b[2Jb"}"#,
        r#"{"id": 2, "text": "half \ud800 and whole \ud83d\ude00"}"#,
        r#"{"id": 3, "text": 7}"#,
        r#"{"id": 4}"#,
        r#"{"id": 5, "text": "cut"#,
        "[]",
        "",
        r#"{"id": "last", "text": "fine"}"#,
    ];
    insta::assert_snapshot!(clean(&["--jsonl"], lines.join("\n").as_bytes()), @r#"
    {"id":1,"text":"ab","findings":[{"kind":"escape","label":"escape","span":{"start":1,"end":5},"action":"removed"}]}
    {"id":2,"text":"half � and whole 😀","findings":[{"kind":"encoding","label":"lone-surrogate","span":{"start":5,"end":8},"action":{"replaced":"�"}}]}
    {"id":3,"error":"`text` is not a string"}
    {"id":4,"error":"the line has no `text`"}
    {"id":5,"error":"a string is not closed at column 23"}
    {"id":null,"error":"a question is a JSON object"}
    {"id":"last","text":"fine","findings":[]}
    exit 4
    "#);
    insta::assert_snapshot!(clean(&["--jsonl"], br#"{"id": 1, "text": "fine"}"#), @r#"
    {"id":1,"text":"fine","findings":[]}
    exit 0
    "#);
}

#[test]
fn a_token_over_the_edge_of_a_buffer_is_caught() {
    let token = format!("{}_{}", "ghp", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5");
    for edge in [8_192, 65_536, 131_072] {
        for back in [1, 7, 39] {
            let text = format!("{}{token}\n", "word ".repeat(edge / 5 + 1).split_at(edge - back).0);
            let shown = clean(&[], text.as_bytes());
            assert!(!shown.contains(&token) && shown.contains("[redacted: github-token]"), "{edge} {back}");
        }
    }
}

#[test]
fn secrets_of_the_corpus_are_redacted() {
    let cases = cases("secrets", 80);
    let secret = |case: &Value| -> String {
        case["secret_parts"].as_array().into_iter().flatten().map(|part| part.as_str().unwrap()).collect()
    };
    let lines: Vec<String> = cases
        .iter()
        .map(|case| json!({"id": case["id"], "text": case["template"].as_str().unwrap().replace("{S}", &secret(case))}).to_string())
        .collect();
    let shown = clean(&["--jsonl"], lines.join("\n").as_bytes());
    assert_eq!(shown.lines().count(), cases.len() + 1, "an answer for each case, and the exit code");
    let wrong = cases.iter().zip(shown.lines()).filter(|(case, line)| {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["id"], case["id"]);
        case["expect"] == "clean" && answer["text"].as_str().unwrap().contains(&secret(case))
    });
    assert!(wrong.count() * 100 <= cases.len() * 3);
}
