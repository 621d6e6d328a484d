//! Events and the audit: exactly one outcome per call, whatever happens to it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{Risk, SafetyClass};
use ringfence::{
    AuditEntry, AuditSink, Backends, Call, Claim, Context, Declaration, Event, Fence, HostFiles,
    IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, ManualClock, Registry, Run,
    Settled, Settlement, StoreError, Tool, ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, echo, echo_of, personality};

fn reader() -> impl Tool {
    tool("reader")
        .risk(Risk::High)
        .read(["/srv/data"])
        .input_schema(json!({"type": "string"}))
        .output_schema(json!(true))
        .run(|text: Value, _| async { Ok(text) })
        .unwrap()
}

fn stage() -> Stage {
    let clock = Arc::new(ManualClock::default());
    clock.advance(std::time::Duration::from_millis(1_234));
    Stage::of(
        Registry::builder()
            .personality(personality(json!({"id": "researcher", "fs_reach": {"read": ["/srv/data"]}})))
            .backends(Backends::none().files(HostFiles::new()))
            .clock(clock),
    )
    .with(reader())
    .with(echo())
}

#[tokio::test]
async fn a_refused_record_carries_the_risk_and_whether_a_declared_surface_was_used() {
    let stage = stage();
    stage.call("reader", json!("/etc/passwd")).await;
    let record = stage.last();
    assert_eq!((record.risk(), record.used_declared_capability()), (Risk::High, true));
    stage.call("reader", json!(7)).await;
    assert!(!stage.last().used_declared_capability(), "a wrong type is no use of a surface");
    stage.call("nobody", json!({})).await;
    assert_eq!((stage.last().risk(), stage.last().used_declared_capability()), (Risk::Unknown, false));
    assert_eq!(
        stage.log.lines(),
        ["refused reader PATH_NOT_REACHABLE", "refused reader INPUT_INVALID", "refused nobody TOOL_UNKNOWN"],
        "hooks of executed calls do not fire"
    );
}

#[tokio::test]
async fn a_record_is_one_line_of_json() {
    let stage = stage();
    stage.call("reader", json!("/etc/passwd")).await;
    let mut line = serde_json::to_value(stage.last()).unwrap();
    for digest in ["tool_digest", "policy_digest"] {
        assert_eq!(line[digest].take().as_str().map(str::len), Some(64), "{digest}");
    }
    assert!(line["duration_us"].take().is_u64());
    assert!(line["stages"]["arguments"].take().is_u64());
    let hint = line["hint"].take();
    assert!(hint.as_str().is_some_and(|hint| !hint.is_empty()), "{hint}");
    assert_eq!(
        line,
        json!({
            "call": 1,
            "at_ms": 1234,
            "run": "run-1",
            "session": "session-1",
            "tool": "reader",
            "tool_digest": null,
            "class": "read",
            "risk": "high",
            "asker": "model",
            "proposer": "agent",
            "personality": "researcher",
            "policy_digest": null,
            "outcome": "refused",
            "arguments": "/etc/passwd",
            "result": {
                "ok": false,
                "code": "refused",
                "error": "PATH_NOT_REACHABLE: read not permitted for /etc/passwd",
                "refusal": "PATH_NOT_REACHABLE",
            },
            "used_declared_capability": true,
            "hint": null,
            "touched": [{"surface": "read", "what": "/etc/passwd", "refused": "PATH_NOT_REACHABLE"}],
            "stages": {"arguments": null},
            "duration_us": null,
        })
    );
    assert!(!serde_json::to_string(&stage.last()).unwrap().contains('\n'));
    stage.call("echo", json!("x")).await;
    assert_eq!(stage.last().call(), 2, "numbers are unique in a registry");
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_withheld() {
    struct Full;
    impl AuditSink for Full {
        fn append<'a>(&'a self, _entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(std::future::ready(Err("no space left".into())))
        }
    }
    struct Broken;
    impl AuditSink for Broken {
        fn append<'a>(&'a self, _entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
            panic!("no space left")
        }
    }
    let sinks: [Arc<dyn AuditSink>; 2] = [Arc::new(Full), Arc::new(Broken)];
    for sink in sinks {
        let log = Arc::new(crate::it::stage::Log::default());
        let registry = Registry::builder()
            .audit(sink)
            .observer(Arc::clone(&log) as Arc<dyn ringfence::Observer>)
            .build();
        registry.register(echo()).unwrap();
        let report = registry.call(&Run::new("r", "s"), Call::new("echo", json!("the answer"))).await;
        assert_eq!(code(&report), "AUDIT_FAILED");
        let error = report.outcome.error().unwrap();
        assert!(error.starts_with("AUDIT_FAILED: the outcome could not be recorded, so it is withheld: "));
        assert!(error.contains("no space left") && !error.contains("the answer"), "{error}");
        assert_eq!(log.lines(), ["failed echo AUDIT_FAILED"]);
    }
}

#[tokio::test]
async fn a_panicking_observer_changes_nothing_and_the_next_one_is_told() {
    let log = Arc::new(crate::it::stage::Log::default());
    let registry = Registry::builder()
        .observer(Arc::new(|_: Event<'_>| panic!("observer")))
        .observer(Arc::clone(&log) as Arc<dyn ringfence::Observer>)
        .build();
    registry.register(echo()).unwrap();
    for _ in 0..2 {
        let report = registry.call(&Run::new("r", "s"), Call::new("echo", json!("x"))).await;
        assert_eq!(report.outcome.value(), Some("x"));
    }
    assert_eq!(log.lines(), ["called echo", "called echo"]);
}

/// A tool of another making that panics before there is a future.
struct Eager(Declaration);

impl Tool for Eager {
    fn declaration(&self) -> &Declaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _arguments: &'a Value,
        _context: Context,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        panic!("before the future")
    }
}

#[tokio::test]
async fn a_tool_that_panics_before_its_first_await_is_a_failed_call() {
    let declaration = reader().declaration().clone();
    let eager = Declaration {
        name: "eager".parse().unwrap(),
        capabilities: Some(ringfence::Capabilities::default()),
        ..declaration
    };
    let stage = stage().with(Eager(eager));
    let report = stage.call("eager", json!("x")).await;
    assert_eq!(report.outcome.error().as_deref(), Some("the tool panicked: before the future"));
    assert!(stage.call("echo", json!("x")).await.outcome.is_done());
}

#[tokio::test]
async fn a_port_that_panics_is_a_failed_call_with_a_record() {
    struct Broken;
    impl IdempotencyStore for Broken {
        fn claim<'a>(&'a self, _: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>> {
            panic!("connection lost")
        }
        fn find<'a>(
            &'a self,
            _: &'a KeyName,
            _: &'a str,
        ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
            ready(Ok(None)).boxed()
        }
        fn settle<'a>(
            &'a self,
            _: &'a KeyName,
            _: Fence,
            _: Settlement,
        ) -> BoxFuture<'a, Result<Settled, StoreError>> {
            ready(Ok(Settled::Kept)).boxed()
        }
        fn find_out<'a>(&'a self, _: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>> {
            ready(Ok(Settled::Stale)).boxed()
        }
        fn keys<'a>(&'a self, _: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>> {
            ready(Ok(Vec::new())).boxed()
        }
    }
    let stage = Stage::of(Registry::builder().idempotency(Arc::new(Broken))).with(
        tool("pay")
            .idempotency(ringfence::policy::IdempotencyMode::Optional)
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|arguments: Value, _| async { Ok(arguments) })
            .unwrap(),
    );
    let report = stage.make(Call::new("pay", json!({})).idempotency_key("k")).await;
    assert!(!report.outcome.is_done());
    assert!(report.outcome.error().unwrap().contains("connection lost"), "{:?}", report.outcome);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_its_record() {
    let stage = stage().with(
        tool("hang")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, _| std::future::pending::<Result<Value, ToolError>>())
            .unwrap(),
    );
    let call = stage.registry.call(&stage.run, Call::new("hang", json!({"n": 1})));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(10), call).await.is_err());
    let records = stage.audit.records();
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0].outcome().error().as_deref(),
        Some("CANCELLED: the call was given up before it ended")
    );
    assert_eq!(records[0].arguments(), &json!({"n": 1}));
    assert_eq!(stage.log.lines(), ["failed hang CANCELLED"]);
    drop(stage.registry.call(&stage.run, Call::new("hang", json!({}))));
    assert_eq!(stage.audit.records().len(), 1, "a future that was never polled is no call");
}

#[tokio::test]
async fn policies_and_approvals_are_kept_in_the_order_they_happened() {
    let approver = Arc::new(ringfence::MemoryApprover::default());
    let builder = Registry::builder()
        .personality(personality(json!({"id": "first"})))
        .approver(Arc::clone(&approver) as Arc<_>);
    let stage = Stage::of(builder).with(echo_of(SafetyClass::Financial));
    assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED");
    stage.registry.set_personality(&personality(json!({"id": "second"})));
    assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED", "another role asks anew");
    approver.approve(&approver.waiting()[1].digest, "ada");
    assert_eq!(code(&stage.call("echo", json!("x")).await), "");
    approver.deny("nothing", "ada", "unasked");

    let lines: Vec<serde_json::Value> =
        stage.audit.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<String> = lines
        .iter()
        .map(|line| match line["kind"].as_str().unwrap() {
            "policy" => format!("policy {} {}", line["personality"], line["start"]),
            _ => format!("{} {} {}", line["kind"], line["step"], line["by"]),
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"policy "first" true"#,
            r#""approval" "asked" []"#,
            r#""approval" "pending" []"#,
            r#"policy "second" false"#,
            r#""approval" "asked" []"#,
            r#""approval" "pending" []"#,
            r#""approval" "asked" []"#,
            r#""approval" "approved" ["ada"]"#,
        ]
    );
}

#[tokio::test]
async fn a_start_is_kept_when_it_is_asked_for_and_once() {
    let stage = Stage::of(Registry::builder().personality(personality(json!({"id": "first"}))));
    for _ in 0..2 {
        stage.registry.keep_policies().await.unwrap();
    }
    stage.registry.set_personality(&personality(json!({"id": "second"})));
    stage.registry.keep_policies().await.unwrap();
    let lines = stage.audit.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains(r#""start":true"#) && lines[1].contains("second"), "{lines:?}");
}

#[tokio::test]
async fn an_audit_that_cannot_keep_the_start_is_a_refusal_before_the_first_effect() {
    struct Full;
    impl AuditSink for Full {
        fn append<'a>(&'a self, _entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(ready(Err("no space left".into())))
        }
    }
    let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&ran);
    let touch = tool("touch")
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(move |input: Value, _| {
            seen.store(true, std::sync::atomic::Ordering::SeqCst);
            async move { Ok(input) }
        })
        .unwrap();
    let registry = Registry::builder().audit(Arc::new(Full)).build();
    registry.register(touch).unwrap();
    let report = registry.call(&Run::new("r", "s"), Call::new("touch", json!({}))).await;
    assert_eq!(code(&report), "AUDIT_FAILED");
    assert!(!ran.load(std::sync::atomic::Ordering::SeqCst), "the tool ran");
}

#[tokio::test]
async fn an_approval_that_cannot_be_kept_stops_the_call() {
    struct Full;
    impl AuditSink for Full {
        fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
            let is_call = entries.iter().all(|entry| matches!(entry, AuditEntry::Call { .. }));
            Box::pin(ready(if is_call { Ok(()) } else { Err("no space left".into()) }))
        }
    }
    let approver = Arc::new(ringfence::MemoryApprover::default());
    let registry =
        Registry::builder().audit(Arc::new(Full)).approver(Arc::clone(&approver) as Arc<_>).build();
    registry.register(echo_of(SafetyClass::Financial)).unwrap();
    let report = registry.call(&Run::new("r", "s"), Call::new("echo", json!("x"))).await;
    assert_eq!(code(&report), "AUDIT_FAILED");
    assert!(approver.waiting().is_empty(), "nobody was asked");
}

#[tokio::test]
async fn the_line_of_a_call_ties_its_outputs_to_its_record() {
    let stage = Stage::bare().with(echo());
    stage.call("echo", json!("plain \u{1b}[31mred")).await;
    let record = stage.last();
    let raw = json!("plain \u{1b}[31mred");
    let line = AuditEntry::Call { record: &record, raw: Some(&raw) }.line().unwrap();
    let (raw, clean) = (line.raw.as_deref().map(str::as_bytes), line.clean.as_deref().map(str::as_bytes));
    assert!(raw.is_some() && clean.is_some() && !line.record.contains("\"result\""), "{}", line.record);
    assert_eq!(ringfence::audit::check_outputs(line.record.as_bytes(), raw, clean), Ok(()));
    assert!(ringfence::audit::check_outputs(line.record.as_bytes(), clean, raw).is_err());
}

/// Keeps the lines of calls, as a store does.
#[derive(Default)]
struct Lines(std::sync::Mutex<Vec<ringfence::audit::AuditLine>>);

impl AuditSink for Lines {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        let calls = entries.iter().filter(|entry| matches!(entry, AuditEntry::Call { .. }));
        self.0.lock().unwrap().extend(calls.map(|entry| entry.line().unwrap()));
        Box::pin(ready(Ok(())))
    }
}

#[tokio::test]
async fn an_error_is_kept_as_it_was_said_beside_what_the_model_saw() {
    let lines = Arc::new(Lines::default());
    let registry = Registry::builder().audit(Arc::clone(&lines) as Arc<_>).build();
    let said = "cannot \u{1b}[31mreach\u{1b}[0m it";
    let fails = tool("fails")
        .input_schema(json!({"type": "string"}))
        .output_schema(json!(true))
        .run(|said: Value, _| async move {
            Err::<Value, _>(ringfence::ToolError::new(said.as_str().unwrap_or_default()).permanent())
        })
        .unwrap();
    registry.register(fails).unwrap();
    let run = Run::new("r", "s");
    let report = registry.call(&run, Call::new("fails", json!(said))).await;
    assert_eq!(report.outcome.error().as_deref(), Some("cannot reach it"));
    registry.call(&run, Call::new("fails", json!("plain"))).await;
    let lines = lines.0.lock().unwrap();
    let (odd, plain) = (&lines[0], &lines[1]);
    assert_eq!(odd.raw.as_deref(), Some(&*json!(said).to_string()));
    let raw = odd.raw.as_deref().map(str::as_bytes);
    assert_eq!(ringfence::audit::check_outputs(odd.record.as_bytes(), raw, None), Ok(()));
    assert!(ringfence::audit::check_outputs(odd.record.as_bytes(), Some(b"other"), None).is_err());
    assert!(odd.record.contains("\"error\":\"cannot reach it\""), "{}", odd.record);
    assert!(plain.raw.is_none() && !plain.record.contains("outputs"), "{}", plain.record);
}

#[tokio::test]
async fn the_description_stands_beside_the_digest() {
    let stage = Stage::bare().with(echo());
    stage.call("echo", json!("x")).await;
    let line = serde_json::to_value(stage.last()).unwrap();
    assert_eq!(line["tool_description"], "Says it again");
}
