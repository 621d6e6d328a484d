//! What goes into a log in these tests, and who signs it.

use std::sync::Arc;
use std::time::Duration;

use ringfence::audit::{ApprovalStep, SignerKey, TrustedLog};
use ringfence::{AuditEntry, AuditSink, Call, Registry, Run, tool};
use serde_json::json;

/// The name of the log.
pub(crate) const ORIGIN: &str = "audit.example/log";

/// The key that signs.
pub(crate) fn key() -> SignerKey {
    SignerKey::from_seed(ORIGIN, &[7; 32]).unwrap()
}

/// Whom to believe.
pub(crate) fn log() -> TrustedLog {
    TrustedLog::new(ORIGIN, [key().verifier().clone()]).unwrap()
}

/// A step, at 1,000 milliseconds and the number of its call.
pub(crate) fn step(run: &str, call: u64) -> ApprovalStep {
    ApprovalStep {
        at: Duration::from_millis(1_000 + call),
        call: Some(call),
        run: run.into(),
        manifest: None,
        tool: "pay".into(),
        digest: "00".into(),
        step: "asked",
        by: Vec::new(),
        reason: None,
    }
}

/// Appends steps one after another.
pub(crate) async fn append(sink: &dyn AuditSink, run: &str, calls: std::ops::Range<u64>) {
    for call in calls {
        sink.append(&[AuditEntry::Approval(&step(run, call))]).await.unwrap();
    }
}

/// Has a real call recorded, whose output is changed by cleaning: a policy and a call, in this order.
pub(crate) async fn call(sink: Arc<dyn AuditSink>) {
    let registry = Registry::builder().audit(sink).build();
    let echo = tool("echo")
        .description("Says it again")
        .input::<String>()
        .output::<String>()
        .run(|text, _| async move { Ok(text) })
        .unwrap();
    registry.register(echo).unwrap();
    let run = Run::new("run-1", "session-1");
    let report = registry.call(&run, Call::new("echo", json!("red \u{1b}[31mpaint\u{200b}"))).await;
    assert_eq!(report.outcome.code(), None, "{:?}", report.outcome);
}
