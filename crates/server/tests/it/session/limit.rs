//! What a call and a message may take, and how the work grows with the number of tools.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringfence::policy::Limits;
use ringfence_server::ToolRule;
use serde_json::{Value, json};

use super::fake::{Client, Fake, Setup, code, legacy, text, tool};
use crate::it::wait::wait_until;

/// A server whose tool answers when the test says so.
fn held() -> (Arc<Fake>, Sender<()>, Arc<Mutex<Option<u64>>>) {
    let (release, released): (Sender<()>, Receiver<()>) = channel();
    let (released, called) = (Mutex::new(released), Arc::new(Mutex::new(None)));
    let seen = Arc::clone(&called);
    let server = legacy(json!([tool("one")]), move |message, out| {
        if message["method"] != json!("tools/call") {
            return None;
        }
        *seen.lock().unwrap() = message["id"].as_u64();
        let released = released.lock().unwrap();
        for step in 1..=2 {
            released.recv().unwrap();
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": message["params"]["_meta"]["progressToken"], "progress": step } });
            writeln!(out, "{told}").unwrap();
        }
        released.recv().unwrap();
        text(message, "done")
    });
    (server, release, called)
}

/// Lets time pass at once.
pub(super) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn begin(client: &Client, called: &Mutex<Option<u64>>) -> usize {
    let params = json!({ "name": "one", "arguments": {}, "_meta": { "progressToken": "mine" } });
    let id = client.begin("tools/call", params);
    wait_until("the server is asked", || called.lock().unwrap().is_some()).await;
    id
}

#[tokio::test]
async fn a_call_has_no_limit_but_its_own_and_its_progress_is_heard() {
    let (server, release, called) = held();
    let client = Setup::new(&server).legacy(json!({})).await;
    let id = begin(&client, &called).await;
    for step in 1..=2 {
        // Longer than any patience there ever was, twice.
        pass(Duration::from_hours(2)).await;
        release.send(()).unwrap();
        let heard = client.hear().await;
        assert_eq!(heard["method"], json!("notifications/progress"), "{heard}");
        assert_eq!(heard["params"], json!({ "progressToken": "mine", "progress": step }));
    }
    pass(Duration::from_hours(2)).await;
    release.send(()).unwrap();
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], json!("done"), "{answer}");
}

#[tokio::test]
async fn of_the_walls_of_tool_and_server_the_shorter_holds() {
    let span = |text: &str| Some(text.parse().unwrap());
    #[rustfmt::skip]
    let cases = [
        // server        tool            seconds   ends
        (None,           None,           100_000,  false),
        (span("30s"),    None,           31,       true),
        (span("30s"),    None,           20,       false),
        (None,           span("90s"),    91,       true),
        (None,           span("90s"),    61,       false),
        (span("300s"),   span("90s"),    91,       true),
        (span("30s"),    span("90s"),    31,       true),
    ];
    for (wall, own, seconds, ends) in cases {
        let (server, release, called) = held();
        let rule = ToolRule { limits: Limits { wall: own, ..Limits::default() }, ..ToolRule::default() };
        let rules = BTreeMap::from([("one".to_owned(), rule)]);
        let client = Setup { wall, rules, ..Setup::new(&server) }.legacy(json!({})).await;
        let id = begin(&client, &called).await;
        pass(Duration::from_secs(seconds)).await;
        for _ in 0..3 {
            // A server that was told to stop reads on.
            let _sent = release.send(());
        }
        let answer = client.answer(id).await;
        let wanted = if ends { "DEADLINE_EXCEEDED" } else { "" };
        assert_eq!(code(&answer), wanted, "{wall:?} {own:?} {seconds}: {answer}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_at_once_wherever_its_id_stands() {
    const MOST: usize = 1 << 20;
    let server = legacy(json!([tool("one")]), |message, out| {
        if message["method"] == json!("tools/call") {
            let (filler, id) = ("x".repeat(MOST), &message["id"]);
            let result = format!(r#"{{"content":[{{"type":"text","text":"{filler}"}}]}}"#);
            let line = match message["params"]["arguments"]["n"].as_u64() {
                Some(1) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
                Some(2) => format!(r#"{{"id":{id},"jsonrpc":"2.0","result":{result}}}"#),
                Some(3) => format!(r#"[{{"result":{result},"id":{id},"jsonrpc":"2.0"}}]"#),
                // Something that is asked of the client under the number of our own question is not its answer.
                _ => {
                    writeln!(
                        out,
                        r#"{{"jsonrpc":"2.0","method":"roots/list","params":{{"x":"{filler}"}},"id":{id}}}"#
                    )
                    .unwrap();
                    return text(message, "small");
                }
            };
            writeln!(out, "{line}").unwrap();
        }
        None
    });
    let client = Setup { max_message: MOST, ..Setup::new(&server) }.legacy(json!({})).await;
    for n in 1..=3 {
        let answer = client.call("one", json!({ "n": n })).await;
        assert!(answer.to_string().contains("larger than 1M; raise `max_message`"), "{n}: {answer}");
    }
    let answer = client.call("one", json!({ "n": 4 })).await;
    assert_eq!(answer["result"]["content"][0]["text"], json!("small"), "{answer}");
    // With more room the same answers pass.
    let client = Setup { max_message: 32 << 20, ..Setup::new(&server) }.legacy(json!({})).await;
    let answer = client.call("one", json!({ "n": 1 })).await;
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(MOST));
}

#[tokio::test]
async fn a_message_may_be_larger_than_usual_where_the_policy_says_so() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if message["method"] == json!("tools/call") {
            let (filler, id) = ("x".repeat(17 << 20), &message["id"]);
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{filler}"}}]}}}}"#).unwrap();
        }
        None
    });
    let client = Setup { max_message: 32 << 20, ..Setup::new(&server) }.legacy(json!({})).await;
    let answer = client.call("one", json!({})).await;
    let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(said.len(), 17 << 20, "{}", said.get(..200).unwrap_or(said));
}

/// Returns how long it takes to list so many tools for the first time, and when all of them have been judged.
async fn listing(count: usize) -> (Duration, Duration) {
    let tools: Vec<Value> = (0..count).map(|number| tool(&format!("tool_{number}"))).collect();
    let server = legacy(Value::Array(tools), |_, _| None);
    let client = Setup::new(&server).legacy(json!({})).await;
    let begun = Instant::now();
    assert_eq!(client.tools().await.len(), count + 1);
    let first = begun.elapsed();
    // What was accepted has changed the pins, and is judged by them once more.
    assert_eq!(client.tools().await.len(), count + 1);
    let begun = Instant::now();
    assert_eq!(client.tools().await.len(), count + 1);
    (first, begun.elapsed())
}

#[tokio::test]
async fn listing_takes_as_long_as_there_are_tools_and_no_longer() {
    // The fastest counts, of as many as it takes: others use the machine too.
    let mut best = [(Duration::MAX, Duration::MAX); 2];
    // Eight times as many: twice that is far from the 64 times that comparing all pairs would take.
    let is_linear = |[few, many]: [(Duration, Duration); 2]| {
        many.0 < few.0 * 16 && many.1 < few.1 * 16 && many.1 * 2 < many.0
    };
    for round in 0..12 {
        if round > 1 && is_linear(best) {
            break;
        }
        for (place, count) in [(0, 200), (1, 1600)] {
            let (first, again) = listing(count).await;
            best[place] = (best[place].0.min(first), best[place].1.min(again));
        }
    }
    let [few, many] = best;
    assert!(many.0 < few.0 * 16, "first: {few:?} {many:?}");
    assert!(many.1 < few.1 * 16, "again: {few:?} {many:?}");
    assert!(many.1 * 2 < many.0, "what was judged is not judged again: {many:?}");
}
