//! Definitions that change, drift, take other names or give orders.

use std::fs;

use serde_json::{Value, json};

use super::{client, says};
use crate::mcp::client::Client;
use crate::mcp::place::{Scene, attack};

const WITHHELD: &str = "TOOL_QUARANTINED";

/// An attack server that may read the workspace, where a test leaves it a word.
fn reading(arguments: &[&str]) -> Scene {
    let read = "fs_reach = { read = [\"${workspace}\"] }";
    let mut scene = Scene::new("attack", Vec::new());
    let workspace = scene.workspace();
    let expanded: Vec<String> =
        arguments.iter().map(|word| word.replace("{workspace}", workspace.to_str().unwrap())).collect();
    scene.command = attack(&expanded.iter().map(String::as_str).collect::<Vec<_>>());
    scene.policy(&format!(
        "[personality]\nid = \"e2e\"\n{read}\n[[server]]\nname = \"attack\"\ncommand = {:?}\naccept = \"clean\"\ncapabilities = {{ {read} }}\n",
        scene.command
    ));
    scene
}

fn described(client: &mut Client, name: &str) -> Option<Value> {
    client.list("tools").into_iter().find(|tool| tool["name"] == name)
}

#[test]
fn a_swap_that_is_announced_withholds_the_tool_at_once() {
    for mode in ["swap", "schema", "hidden"] {
        let scene = Scene::attack(&[mode, "2", "announce"]);
        let mut client = client(&scene);
        assert!(described(&mut client, "work").is_some(), "{mode}");
        assert_eq!(client.text("work", json!({})), "done 1", "{mode}");
        assert_eq!(client.text("work", json!({})), "done 2", "{mode}");
        client.hear("that the list changed", |frame| frame["method"] == "notifications/tools/list_changed");
        assert_eq!(described(&mut client, "work"), None, "{mode}");
        let reply = client.call("work", json!({}));
        assert!(says(&reply, WITHHELD), "{mode}: {reply:?}");
        // The other tool is as it was.
        assert!(client.text("report", json!({})).starts_with('['), "{mode}");
        // And the next session begins with the same judgement.
        let mut next = super::client(&scene);
        assert!(described(&mut next, "work").is_some(), "{mode}: the accepted definition is back");
    }
}

#[test]
fn a_swap_that_is_not_announced_is_never_shown() {
    for mode in ["swap", "schema", "hidden"] {
        let scene = Scene::attack(&[mode, "2"]);
        let mut client = client(&scene);
        let before = described(&mut client, "work").unwrap();
        assert_eq!(client.text("work", json!({})), "done 1", "{mode}");
        assert_eq!(client.text("work", json!({})), "done 2", "{mode}");
        let after = described(&mut client, "work");
        assert!(after.is_none() || after.as_ref() == Some(&before), "{mode}: {after:?}");
        if after.is_none() {
            let reply = client.call("work", json!({}));
            assert!(says(&reply, WITHHELD), "{mode}: {reply:?}");
        }
    }
}

#[test]
fn drift_in_small_steps_is_held_against_what_was_accepted() {
    let scene = reading(&["drift", "{workspace}/step"]);
    let step = scene.workspace().join("step");
    fs::write(&step, "0").unwrap();
    assert!(described(&mut client(&scene), "work").is_some());
    for number in 1..=10 {
        fs::write(&step, number.to_string()).unwrap();
        let mut client = client(&scene);
        assert_eq!(described(&mut client, "work"), None, "step {number}");
        let reply = client.call("work", json!({}));
        assert!(says(&reply, WITHHELD), "step {number}: {reply:?}");
    }
    // The difference is the whole way from the accepted text, not the last step.
    let output = scene.ringfence(&["pins", "diff", "--server", "attack"]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("Does a") && shown.contains("number of"), "{shown}");
    fs::write(&step, "0").unwrap();
    assert!(described(&mut client(&scene), "work").is_some(), "what was accepted is fine again");
}

#[test]
fn a_person_accepts_a_change_and_it_is_offered() {
    let scene = reading(&["drift", "{workspace}/step"]);
    let step = scene.workspace().join("step");
    fs::write(&step, "0").unwrap();
    assert!(described(&mut client(&scene), "work").is_some());
    fs::write(&step, "3").unwrap();
    assert_eq!(described(&mut client(&scene), "work"), None);
    scene.accept("work");
    assert!(described(&mut client(&scene), "work").is_some());
    // A later change is one again, and the old definition is not accepted any more either.
    for other in ["4", "0"] {
        fs::write(&step, other).unwrap();
        assert_eq!(described(&mut client(&scene), "work"), None, "{other}");
    }
}

#[test]
fn a_renamed_tool_is_flagged_and_withheld() {
    let scene = reading(&["rename", "{workspace}/renamed"]);
    assert!(described(&mut client(&scene), "work").is_some());
    fs::write(scene.workspace().join("renamed"), "").unwrap();
    let mut client = client(&scene);
    assert_eq!(described(&mut client, "work_now"), None, "a rename must not pass as a new clean tool");
    let reply = client.call("work_now", json!({}));
    assert!(says(&reply, WITHHELD), "{reply:?}");
    let output = scene.ringfence(&["pins", "list", "--server", "attack"]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("rename"), "{shown}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn tools_that_differ_per_session_are_withheld_from_the_second_on() {
    let scene = Scene::attack(&["session"]);
    assert!(described(&mut client(&scene), "work").is_some());
    for _ in 0..2 {
        let mut client = client(&scene);
        assert_eq!(described(&mut client, "work"), None);
        assert!(described(&mut client, "report").is_some());
    }
}

#[test]
fn names_that_look_like_others_are_not_offered() {
    let scene = Scene::attack(&["shadow"]);
    let mut client = client(&scene);
    let names = client.tools();
    assert!(names.contains(&"work".to_owned()), "{names:?}");
    // Never two that a reader takes for one, never one name twice, and nothing but plain names.
    let lookalikes = names
        .iter()
        .filter(|name| matches!(name.as_str(), "transfer" | "tr\u{430}nsfer" | "trans\u{200b}fer"));
    assert!(lookalikes.count() <= 1, "{names:?}");
    assert!(names.iter().filter(|name| *name == "twice").count() <= 1, "{names:?}");
    assert!(names.iter().all(|name| name.is_ascii() && !name.is_empty() && name.len() <= 128), "{names:?}");
    assert!(!names.iter().any(|name| name.contains('/')), "{names:?}");
    for name in ["tr\u{430}nsfer", "trans\u{200b}fer", "../up", ""] {
        let reply = client.call(name, json!({}));
        assert!(super::failed(&reply), "{name:?}: {reply:?}");
    }
    // The gateway's own tool is its own.
    let policy = client.call("ringfence_policy", json!({})).unwrap();
    assert!(!policy.to_string().contains("called 'ringfence_policy'"), "{policy}");
}

#[test]
fn orders_in_definitions_are_withheld_at_first_sight() {
    let scene = Scene::attack(&["poison"]);
    let mut client = Client::start(scene.wrapped());
    let hello = client.greet(crate::mcp::client::LEGACY);
    assert!(!hello.to_string().contains("id_rsa"), "{hello}");
    let names = client.tools();
    assert_eq!(names, ["work", "report"], "nothing but the clean ones");
    for name in ["add", "deep", "escape", "tags", "titled", "noted"] {
        let reply = client.call(name, json!({}));
        assert!(says(&reply, WITHHELD), "{name}: {reply:?}");
    }
    let prompts: Vec<Value> =
        client.list("prompts").into_iter().map(|prompt| prompt["name"].clone()).collect();
    assert_eq!(prompts, ["fine"]);
    let reply = client.ask("prompts/get", json!({"name": "foul"}));
    assert!(reply.is_err(), "{reply:?}");
}

#[test]
fn a_definition_with_two_meanings_is_not_offered() {
    let scene = Scene::attack(&["duplicate_keys"]);
    let reply = client(&scene).ask("tools/list", json!({}));
    // The whole page may be refused, or only those two; never may one of them be shown.
    let text = format!("{reply:?}");
    assert!(!text.contains("Pays.") && !text.contains("Adds."), "{text}");
}

#[test]
fn without_accept_nothing_is_offered_until_a_person_says_so() {
    let scene = Scene::new("attack", attack(&["swap", "1000"]));
    scene.policy(&format!(
        "[personality]\nid = \"e2e\"\n[[server]]\nname = \"attack\"\ncommand = {:?}\n",
        scene.command
    ));
    let mut first = client(&scene);
    assert!(first.tools().is_empty());
    let reply = first.call("work", json!({}));
    assert!(says(&reply, WITHHELD), "{reply:?}");
    scene.accept("work");
    assert_eq!(client(&scene).tools(), ["work"]);
}

#[test]
fn a_corrupt_pin_file_refuses_everything() {
    let scene = Scene::attack(&["swap", "1000"]);
    assert!(!client(&scene).tools().is_empty());
    let pins = scene.policy_file().with_extension("pins.json");
    let text = fs::read_to_string(&pins).unwrap();
    let edited = text.replace("Does a little work.", "Does a little harm.");
    assert_ne!(edited, text, "the definition is in the pin file");
    fs::write(&pins, edited).unwrap();
    let mut client = Client::start(scene.wrapped());
    let id = client.begin(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
        }),
    );
    client.idle(std::time::Duration::from_secs(3));
    let offered = client.strays().iter().any(|reply| reply["id"] == id && reply.get("result").is_some()) && {
        let _hello = client.wait(id);
        let id = client.begin("tools/list", json!({}));
        client.wait(id).is_ok_and(|page| page.to_string().contains("\"work\""))
    };
    assert!(!offered, "tools were offered with a pin file that cannot be trusted");
}
