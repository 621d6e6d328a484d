//! What goes into a log in these tests, and who signs it.

use std::sync::Arc;
use std::time::Duration;

use ringfence::audit::{
    ApprovalStep, ApproverChange, ConsoleStep, KeySettlement, ServerStep, SignerKey, TrustedLog,
};
use ringfence::{ApproverName, AuditEntry, AuditSink, Call, Fence, Registry, Role, Run, tool};
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

/// Appends one entry of each kind that is filed under a host or a person: a server's connection, a console step, a
/// settlement, an approver who came and went, and what people said to a call. Their times run backwards.
pub(crate) async fn variety(sink: &dyn AuditSink) {
    let at = |number: u64| Duration::from_millis(2_000 - number);
    let server = |number, step, about| ServerStep {
        at: at(number),
        run: "run-2".into(),
        manifest: None,
        server: "weather".into(),
        step,
        about,
    };
    let reached = server(0, "connection", json!({"host": "api.example", "port": 443, "verdict": "done"}));
    let ended = server(1, "ended", json!({"host": "not.one"}));
    let odd = server(2, "connection", json!("host"));
    let console =
        |number, action, about| ConsoleStep { at: at(number), principal: "ada".into(), action, about };
    let (login, looked) =
        (console(3, "login", json!({})), console(4, "looked_at_raw", json!({"index": 7, "host": "x"})));
    let settled = KeySettlement {
        at: at(5),
        scope: "pay".into(),
        key: "key".into(),
        fence: Fence(1),
        run: "run-3".into(),
        settled: "failed",
        by: "bob".into(),
        reason: "seen".into(),
    };
    let name: ApproverName = "ada".parse().unwrap();
    let added = ApproverChange { at: at(6), name: name.clone(), change: "added", role: Some(Role::Admin) };
    let revoked = ApproverChange { at: at(7), name, change: "revoked", role: None };
    let said = |number: u64, step, by: &[&str]| ApprovalStep {
        at: at(number),
        step,
        by: by.iter().map(|by| (*by).to_owned()).collect(),
        ..self::step("run-4", 0)
    };
    let (agreed, approved) = (said(8, "agreed", &["bob"]), said(9, "approved", &["ada", "bob"]));
    let entries = [
        AuditEntry::Server(&reached),
        AuditEntry::Server(&ended),
        AuditEntry::Server(&odd),
        AuditEntry::Console(&login),
        AuditEntry::Console(&looked),
        AuditEntry::Settlement(&settled),
        AuditEntry::Approver(&added),
        AuditEntry::Approver(&revoked),
        AuditEntry::Approval(&agreed),
        AuditEntry::Approval(&approved),
    ];
    sink.append(&entries).await.unwrap();
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
