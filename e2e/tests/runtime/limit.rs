//! Limits hold in every runtime, and are named where they are met.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::runtime::kind::Kind;
use crate::runtime::stage::{Came, Stage};

/// Says whether a call ended at a limit: with the code of limits or of deadlines, or as a program that was ended.
fn is_limited(came: &Came) -> bool {
    match came {
        Came::Did(_) => false,
        Came::ToldNo(_) => true,
        Came::Ended { code, .. } => {
            ["LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "execution_failed"].contains(&code.as_str())
        }
    }
}

fn named(came: &Came, word: &str) -> bool {
    matches!(came, Came::Ended { code, message } if code == "LIMIT_EXCEEDED" && message.contains(word))
}

#[test]
fn a_loop_ends_at_its_time() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "wall = \"2s\"");
        // Without a limit of its own it would end after the usual 30 s, so one attempt must end well before.
        let ends_early = (0..3).any(|_| {
            let begun = Instant::now();
            let came = stage.act(json!({"act": "spin"}));
            assert!(
                matches!(&came, Came::Ended { code, .. } if code == "LIMIT_EXCEEDED" || code == "DEADLINE_EXCEEDED"),
                "{}: {came:?}",
                kind.name()
            );
            begun.elapsed() < Duration::from_secs(25)
        });
        assert!(ends_early, "{}", kind.name());
        // Waiting is no way around it.
        let came = stage.act(json!({"act": "sleep", "milliseconds": 600_000}));
        assert!(is_limited(&came), "{}: {came:?}", kind.name());
    }
}

#[test]
fn a_loop_ends_at_its_processor_time() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "wall = \"110s\", cpu = \"1s\"");
        let came = stage.act(json!({"act": "spin"}));
        // What bwrap's first process waits for is nowhere counted, so that nobody knows why the kernel killed it.
        let holds = if kind == Kind::Bwrap { is_limited(&came) } else { named(&came, "cpu") };
        assert!(holds, "{}: {came:?}", kind.name());
        // Who only waits spends none.
        assert!(stage.act(json!({"act": "sleep", "milliseconds": 1500})).did(), "{}", kind.name());
    }
}

#[test]
fn memory_has_an_end() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "memory = \"48M\", wall = \"110s\"");
        assert!(stage.act(json!({"act": "grow", "bytes": 8 << 20})).did(), "{}", kind.name());
        let came = stage.act(json!({"act": "grow", "bytes": 512 << 20}));
        assert!(is_limited(&came), "{}: {came:?}", kind.name());
        // It is a fresh one the next time.
        assert!(stage.act(json!({"act": "grow", "bytes": 8 << 20})).did(), "{}", kind.name());
    }
}

#[test]
fn output_has_an_end() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "output = \"64K\", wall = \"110s\"");
        assert!(stage.act(json!({"act": "output", "bytes": 1000})).did(), "{}", kind.name());
        let came = stage.act(json!({"act": "output", "bytes": 8 << 20}));
        assert!(came.text().len() < 200 << 10, "{}: {} bytes came through", kind.name(), came.text().len());
        let came = stage.act(json!({"act": "flood_output", "bytes": 64 << 20}));
        assert!(came.text().len() < 200 << 10, "{}: {} bytes came through", kind.name(), came.text().len());
    }
}

#[test]
fn open_files_and_stacks_have_an_end() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "open_files = 64, wall = \"110s\"");
        let many = |count: u32| {
            stage.act(json!({"act": "open_many", "path": stage.path("in/known.txt"), "count": count}))
        };
        assert!(many(20).did(), "{}: {:?}", kind.name(), many(20));
        assert!(is_limited(&many(200)), "{}: {:?}", kind.name(), many(200));
        let came = stage.act(json!({"act": "recurse", "levels": 1_000_000_000_u64}));
        assert!(matches!(came, Came::Ended { .. }), "{}: {came:?}", kind.name());
        assert!(stage.on("read", "in/known.txt").did(), "{}: the next call works", kind.name());
    }
}

#[test]
fn what_traps_or_panics_or_exits_fails_and_nothing_else() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "wall = \"110s\"");
        let acts: [Value; 4] = [
            json!({"act": "abort"}),
            json!({"act": "panic", "text": "on purpose"}),
            json!({"act": "exit", "code": 7}),
            json!({"act": "reserve"}),
        ];
        for act in acts {
            let came = stage.act(act.clone());
            assert!(
                matches!(&came, Came::Ended { code, .. } if code == "execution_failed" || code == "LIMIT_EXCEEDED"),
                "{}: {act}: {came:?}",
                kind.name()
            );
            assert!(
                !came.text().contains("/work") && !came.text().contains(".cargo"),
                "{}: {came:?}",
                kind.name()
            );
        }
        assert!(stage.on("read", "in/known.txt").did(), "{}: the next call works", kind.name());
    }
}

#[test]
fn a_file_has_a_largest_size_where_files_are_written() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "file_size = \"1M\", wall = \"110s\"");
        let came = stage.act(json!({"act": "disk", "path": stage.path("out/large"), "bytes": 64 << 20}));
        assert!(!came.did(), "{}: {came:?}", kind.name());
        let size = std::fs::metadata(stage.path("out/large")).map_or(0, |found| found.len());
        assert!(size <= 1 << 20, "{}: {size}", kind.name());
    }
}

#[test]
fn processes_have_an_end_where_there_are_any() {
    for kind in Kind::asked().into_iter().filter(|kind| kind.has_processes()) {
        let stage = Stage::new(kind, "processes = 16, wall = \"110s\"");
        let came = stage.act(json!({"act": "fork", "count": 2, "milliseconds": 100}));
        assert!(came.did(), "{}: {came:?}", kind.name());
        let came = stage.act(json!({"act": "fork", "count": 200, "milliseconds": 3000}));
        assert!(is_limited(&came), "{}: {came:?}", kind.name());
    }
}
