//! Guests that take more than they may.

use std::time::Duration;

use serde_json::{Value, json};

use crate::it::bench::{Bench, builder, tool, tool_of};

#[tokio::test]
async fn a_limit_is_named() {
    #[rustfmt::skip]
    let cases = [
        // limits                   act                                                    named
        (json!({ "memory": "8M" }), json!({ "act": "output", "bytes": 32 << 20 }),         "memory"),
        (json!({ "cpu": "200ms" }), json!({ "act": "spin" }),                              "cpu"),
        (json!({ "cpu": "200ms" }), json!({ "act": "spin_outside" }),                      "cpu"),
        (json!({}),                 json!({ "act": "output", "bytes": 5 << 20 }),          "output"),
        (json!({ "memory": "1G" }), json!({ "act": "output", "bytes": 18 << 20 }),         "output"),
        (json!({ "output": "1K" }), json!({ "act": "output", "bytes": 2_000 }),            "output"),
    ];
    for (limits, act, named) in cases {
        let bench = Bench::limited(json!({}), limits);
        let answer = bench.call(act.clone()).await;
        assert_eq!(answer["ok"], json!(false), "{act}: {answer}");
        assert_eq!(answer["refusal"], json!("LIMIT_EXCEEDED"), "{act}: {answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(&format!("`{named}`")), "{act}: {answer}");
    }
}

#[tokio::test]
async fn instructions_are_counted_where_that_is_asked_for() {
    let host = builder().fuel(Some(50_000_000)).instances(2).build().unwrap();
    let bench = Bench::of(&tool_of(&host, "probe").unwrap(), json!({}));
    for _ in 0..2 {
        // Every call starts with all of it.
        assert_eq!(bench.act(json!({ "act": "output", "bytes": 1 })).await, json!({ "ok": "x" }));
    }
    let answer = bench.call(json!({ "act": "spin" })).await;
    assert_eq!(answer["refusal"], json!("LIMIT_EXCEEDED"), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("`fuel`"), "{answer}");
}

#[tokio::test]
async fn a_guest_that_is_told_no_can_go_on() {
    let bench = Bench::limited(json!({}), json!({ "memory": "16M" }));
    let grown = bench.act(json!({ "act": "grow", "bytes": 64 << 20 })).await;
    assert!(grown["error"].as_str().is_some_and(|error| error.starts_with("no memory after")), "{grown}");
    let grown = bench.act(json!({ "act": "grow", "bytes": 4 << 20 })).await;
    assert_eq!(grown["ok"], json!(4 << 20));
}

#[tokio::test]
async fn the_personality_narrows_limits() {
    let bench = Bench::limited(json!({ "limits": { "cpu": "100ms" } }), json!({ "cpu": "60s" }));
    let answer = bench.call(json!({ "act": "spin" })).await;
    assert_eq!(answer["refusal"], json!("LIMIT_EXCEEDED"), "{answer}");
}

#[tokio::test]
async fn a_trap_says_nothing_of_the_host() {
    for act in [
        json!({ "act": "abort" }),
        // Compilers keep a stack of their own in the memory of a component, which ends before the engine's does.
        json!({ "act": "recurse", "levels": 100_000_000 }),
        json!({ "act": "exit", "code": 7 }),
        json!({ "act": "panic", "text": "/home/secret" }),
    ] {
        let bench = Bench::new(json!({}));
        let answer = bench.call(act.clone()).await;
        assert_eq!(answer["code"], json!("execution_failed"), "{act}: {answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.starts_with("the component "), "{act}: {answer}");
        assert!(!error.contains('/') && !error.contains("0x") && error.len() < 100, "{act}: {answer}");
    }
}

#[tokio::test]
async fn a_flood_for_operators_is_no_output() {
    let bench = Bench::new(json!({}));
    for act in ["flood_log", "flood_output"] {
        let answer = bench.act(json!({ "act": act, "bytes": 4 << 20 })).await;
        assert_eq!(answer, json!({ "ok": Value::Null }), "{act}");
    }
}

#[test]
fn a_loop_without_end_holds_no_thread_and_ends_with_its_future() {
    let (done, ended) = std::sync::mpsc::channel();
    // A thread of its own: a guest that does not give way would hold it for ever, and the test with it.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(a_loop_gives_way());
        done.send(()).unwrap();
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(120)), Ok(()), "the guest gave way");
}

async fn a_loop_gives_way() {
    let bench = Bench::new(json!({}));
    let watching = async {
        // Each turn is one time that the guest gave way; without that the first would never come.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    };
    // One thread for both: the watcher runs only where the guest gives way.
    tokio::select! {
        biased;
        answer = bench.call(json!({ "act": "spin" })) => panic!("it ended: {answer}"),
        () = watching => {}
    }
    // The place in the pool is free again, and nothing of it runs on.
    assert_eq!(bench.act(json!({ "act": "output", "bytes": 1 })).await, json!({ "ok": "x" }));
}

#[tokio::test]
async fn a_cancelled_run_ends_its_guest() {
    let bench = Bench::new(json!({}));
    let run = bench.run.clone();
    let (answer, ()) = tokio::join!(bench.call(json!({ "act": "spin" })), async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        run.cancellation().cancel();
    });
    assert_eq!(answer["code"], json!("execution_failed"), "{answer}");
    assert_eq!(answer["refusal"], json!("CANCELLED"), "{answer}");
}

/// In a process of its own: the memory of this one is that of all tests.
#[test]
fn ten_thousand_instances_leave_nothing_behind() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "it::limit::makes_ten_thousand_instances"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "measures its whole process: `ten_thousand_instances_leave_nothing_behind` starts it in one of its own"]
async fn makes_ten_thousand_instances() {
    let bench = Bench::of(&tool("slug").unwrap(), json!({}));
    let arguments = json!({ "title": "Many a Little" });
    for _ in 0..500 {
        bench.call(arguments.clone()).await;
    }
    let before = resident();
    for _ in 0..10_000 {
        let answer = bench.call(arguments.clone()).await;
        assert_eq!(answer["ok"], json!(true), "{answer}");
    }
    let after = resident();
    assert!(after < before + (16 << 10), "{before} KiB before, {after} KiB after");
}

/// Returns the memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
