//! What `[gateway]` limits, in a gateway that runs, and lists that say when they are cut.

use std::process::Command;

use serde_json::{Value, json};

use crate::console::agent::text;
use crate::console::scene::{Scene, Setting};

const HOUR_US: i64 = 3_600_000_000;

fn start(gateway: &str) -> Scene {
    Scene::start_with(Setting { gateway, ..Setting::default() }, |_| {})
}

#[test]
fn an_agent_has_only_as_many_sessions_as_the_policy_says() {
    for (gateway, expected) in [("sessions_per_agent = 1", 429), ("sessions_per_agent = 2", 200)] {
        let scene = start(gateway);
        let ada = scene.person("ada", "admin");
        let cookie = scene.cookie(&ada);
        // A session with a call under way does not give way to another.
        let waiting = scene.agent().begin("pay", &json!({ "invoice": "one", "amount": 1, "memo": "" }));
        while !scene.get("/api/v1/approvals?state=open", &cookie).body.contains("\"pay\"") {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(scene.greet(), expected, "{gateway}");
        scene.stop();
        let _ended = waiting.join();
    }
}

/// How long the store keeps each key, in microseconds from its claim on.
fn kept_for(scene: &Scene) -> Vec<i64> {
    let script = "import json, sqlite3, sys\nrows = sqlite3.connect(sys.argv[1]).execute('SELECT until_us - claimed_us FROM idempotency ORDER BY fence')\nprint(json.dumps([row[0] for row in rows]))";
    let output = Command::new("python3").args(["-c", script, scene.store()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn keys_are_kept_as_long_as_the_policy_says() {
    for (gateway, hours) in [("keep_keys = \"1h\"", 1), ("keep_keys = \"48h\"", 48), ("", 7 * 24)] {
        let scene = start(gateway);
        let agent = scene.agent();
        for _ in 0..2 {
            assert_eq!(text(&agent.call("file_away", &json!({ "number": 7 }))).trim(), "filed 7");
        }
        assert_eq!(scene.paid().matches("filed 7").count(), 1, "the second call is answered by the first");
        let kept = kept_for(&scene);
        assert_eq!(kept.len(), 1, "{kept:?}");
        // From the claim to the end of the call is not counted.
        let expected = hours * HOUR_US..hours * HOUR_US + HOUR_US / 6;
        assert!(expected.contains(&kept[0]), "{gateway}: {kept:?}");
    }
}

#[test]
fn a_list_that_is_cut_says_so() {
    let scene = start("");
    let agent = scene.agent();
    for number in 0..3 {
        agent.call("file_away", &json!({ "number": number }));
    }
    for (command, list) in [("idempotency", "list"), ("audit", "tail"), ("audit", "search")] {
        let cut = scene.notes_on_store(command, &[list, "--limit", "2"]);
        assert!(cut.contains("showing 2 of ") && cut.contains("use --limit"), "{command} {list}: {cut}");
        let whole = scene.notes_on_store(command, &[list, "--limit", "1000"]);
        assert!(!whole.contains("showing"), "{command} {list}: {whole}");
    }
    let cookie = scene.cookie(&scene.person("ada", "admin"));
    let read = |path: &str| -> Value { serde_json::from_str(&scene.get(path, &cookie).body).unwrap() };
    assert_eq!(read("/api/v1/keys")["more"], json!(false));
    assert_eq!(read("/api/v1/approvals")["more"], json!(false));
    assert!(read("/api/v1/entries?most=1")["older"].is_u64(), "the entries go on");
}
