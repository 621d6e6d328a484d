//! Several calls at once: in order, within limits, and no call is another's problem.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence::{Batch, Call, Registry, Run, Tool, ToolError, tool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::it::stage::{Stage, code};
use crate::it::wait::{PATIENCE, wait_until};

/// Waits `ms`, then does what it is told.
fn worker(now: &Arc<AtomicUsize>, most: &Arc<AtomicUsize>) -> impl Tool + use<> {
    let (now, most) = (Arc::clone(now), Arc::clone(most));
    tool("work")
        .input_schema(json!({"type": "object"}))
        .output_schema(json!(true))
        .run(move |order: Value, _| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(order["ms"].as_u64().unwrap_or(0))).await;
                now.fetch_sub(1, Ordering::SeqCst);
                match order["do"].as_str() {
                    Some("panic") => panic!("worker {} fell", order["n"]),
                    Some("fail") => Err(ToolError::new("failed")),
                    _ => Ok(order["n"].clone()),
                }
            }
        })
        .unwrap()
}

fn batch(concurrency: usize) -> Batch {
    Batch { concurrency: concurrency.try_into().unwrap(), output_characters: None }
}

#[tokio::test(start_paused = true)]
async fn reports_come_in_the_order_of_the_calls() {
    let stage = Stage::bare().with(worker(&Arc::default(), &Arc::default()));
    let calls: Vec<Call> = (0..20).map(|n| Call::new("work", json!({"n": n, "ms": 1000 - n * 50}))).collect();
    let reports = stage.registry.execute_parallel(&stage.run, calls, batch(20)).await;
    let numbers: Vec<_> = reports.iter().map(|report| report.outcome.structured().unwrap().clone()).collect();
    assert_eq!(numbers, (0..20).map(Value::from).collect::<Vec<_>>());
    assert_eq!(stage.audit.records().len(), 20);
    assert!(stage.registry.execute_parallel(&stage.run, vec![], batch(1)).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_the_limit_says() {
    for limit in [1, 3, 8] {
        let most = Arc::new(AtomicUsize::new(0));
        let stage = Stage::bare().with(worker(&Arc::default(), &most));
        let calls = (0..24).map(|n| Call::new("work", json!({"n": n, "ms": 10}))).collect();
        let started = tokio::time::Instant::now();
        stage.registry.execute_parallel(&stage.run, calls, batch(limit)).await;
        assert_eq!(most.load(Ordering::SeqCst), limit, "the limit is reached and kept");
        assert!(started.elapsed() >= Duration::from_millis(10) * u32::try_from(24 / limit).unwrap());
    }
}

#[tokio::test]
async fn a_panic_is_one_failed_call_and_poisons_nothing() {
    let stage = Stage::bare().with(worker(&Arc::default(), &Arc::default())).with(
        tool("blocking")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run_blocking(|_: Value, _| -> Result<Value, ToolError> { panic!("blocked and fell") })
            .unwrap(),
    );
    for _ in 0..3 {
        let calls = vec![
            Call::new("work", json!({"n": 1})),
            Call::new("work", json!({"n": 2, "do": "panic"})),
            Call::new("blocking", json!({})),
            Call::new("work", json!({"do": "fail"})),
            Call::new("nobody", json!({})),
            Call::new("work", json!({"n": 6})),
        ];
        let reports = stage.registry.execute_parallel(&stage.run, calls, batch(2)).await;
        let said: Vec<_> = reports
            .iter()
            .map(|report| report.outcome.value().map(str::to_owned).or(report.outcome.error()).unwrap())
            .collect();
        assert_eq!(
            said,
            [
                "1",
                "the tool panicked: worker 2 fell",
                "the tool panicked: blocked and fell",
                "failed",
                "TOOL_UNKNOWN: no tool is named `nobody`",
                "6"
            ]
        );
    }
    assert_eq!(stage.audit.records().len(), 18);
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_the_shortest_of_registry_limits_and_call() {
    let limited = |name: &str, wall: &str| {
        tool(name)
            .limits(serde_json::from_value(json!({"wall": wall})).unwrap())
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, _| std::future::pending::<Result<Value, ToolError>>())
            .unwrap()
    };
    let stage = Stage::of(Registry::builder().deadline(Duration::from_secs(4)))
        .with(limited("short", "2s"))
        .with(limited("long", "60s"));
    #[rustfmt::skip]
    let cases = [
        ("long",  None,                              4.0),
        ("long",  Some(Duration::from_secs(9)),      4.0),
        ("short", None,                              2.0),
        ("short", Some(Duration::from_millis(500)),  0.5),
        ("short", Some(Duration::MAX),               2.0),
    ];
    for (tool, deadline, seconds) in cases {
        let call = Call::new(tool, json!({}));
        let call = deadline.map_or(call.clone(), |deadline| call.deadline(deadline));
        let started = tokio::time::Instant::now();
        let report = stage.make(call).await;
        let expected = format!("DEADLINE_EXCEEDED: the tool did not end within {seconds} seconds");
        assert_eq!(report.outcome.error(), Some(expected));
        assert!((started.elapsed().as_secs_f64() - seconds).abs() < 0.1, "{tool} {deadline:?}");
    }
}

#[tokio::test]
async fn cancelling_ends_calls_in_flight_and_refuses_later_ones() {
    let token = CancellationToken::new();
    let now = Arc::new(AtomicUsize::new(0));
    let mut stage = Stage::bare().with(worker(&now, &Arc::default()));
    stage.run = Run::builder("run-1", "session-1").cancelled_by(token.clone()).start();
    let calls = (0..4).map(|n| Call::new("work", json!({"n": n, "ms": 600_000}))).collect();
    let together = stage.registry.execute_parallel(&stage.run, calls, batch(2));
    let (reports, ()) = tokio::join!(together, async {
        wait_until("two calls run", || now.load(Ordering::SeqCst) == 2).await;
        token.cancel();
    });
    let kinds: Vec<_> = reports.iter().map(|report| report.outcome.envelope_code().unwrap()).collect();
    assert_eq!(kinds, ["execution_failed", "execution_failed", "refused", "refused"]);
    assert!(reports.iter().all(|report| code(report) == "CANCELLED"));
    assert_eq!(code(&stage.call("work", json!({})).await), "CANCELLED");
}

#[tokio::test]
async fn blocking_tools_do_not_hold_the_others_up() {
    // Each blocking call holds its thread until the other one has run, so a call that waited for them would never end.
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let stage = Stage::bare()
        .with(
            tool("blocking")
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run_blocking(move |_: Value, _| {
                    released.lock().unwrap().recv_timeout(PATIENCE).map_err(|_| ToolError::new("held up"))?;
                    std::thread::sleep(Duration::from_millis(30));
                    Ok(json!("done"))
                })
                .unwrap(),
        )
        .with(
            tool("quick")
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run(move |_: Value, _| {
                    let release = release.clone();
                    async move {
                        release.send(()).and_then(|()| release.send(())).unwrap();
                        Ok(json!("x"))
                    }
                })
                .unwrap(),
        );
    let deadline = PATIENCE * 2;
    let calls = ["blocking", "blocking", "quick"].map(|name| Call::new(name, json!({})).deadline(deadline));
    let reports = stage.registry.execute_parallel(&stage.run, calls.to_vec(), batch(8)).await;
    assert!(reports.iter().all(|report| report.outcome.is_done()), "{reports:?}");
    assert!(reports[..2].iter().all(|report| report.duration >= Duration::from_millis(30)), "{reports:?}");
}

#[tokio::test]
async fn dropping_the_batch_ends_its_calls() {
    let now = Arc::new(AtomicUsize::new(0));
    let stage = Stage::bare().with(worker(&now, &Arc::default()));
    let calls = (0..4).map(|n| Call::new("work", json!({"n": n, "ms": 600_000}))).collect();
    let together = stage.registry.execute_parallel(&stage.run, calls, batch(4));
    tokio::select! {
        _ = together => panic!("the calls ended"),
        () = wait_until("four calls run", || now.load(Ordering::SeqCst) == 4) => {}
    }
    wait_until("no task holds the registry any more", || Arc::strong_count(&stage.registry) == 1).await;
}
