//! The manifest in force: in every record, and in the way of what goes beyond it.

use std::sync::Arc;

use ringfence::policy::Code;
use ringfence::{Call, InForce, MemoryAudit, Registry, Run, tool};
use serde_json::{Value, json};

use crate::it::stage::echo;

#[tokio::test]
async fn every_record_names_the_manifest() {
    let audit = Arc::new(MemoryAudit::default());
    let in_force = InForce { hash: Some("sha256:aa".into()), ..InForce::default() };
    let registry = Registry::builder().audit(audit.clone()).manifest(in_force).build();
    registry.register(echo()).unwrap();
    let run = Run::new("run-1", "session-1");
    registry.call(&run, Call::new("echo", json!("hi"))).await;
    registry.call(&run, Call::new("nobody", json!({}))).await;
    registry.keep_server(&run, "git", "started", json!({})).await.unwrap();
    let lines: Vec<Value> = audit.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["policy", "server"]);
    let calls: Vec<Value> =
        audit.records().iter().map(|record| serde_json::to_value(record).unwrap()).collect();
    assert_eq!(calls.len(), 2);
    for line in lines.into_iter().chain(calls) {
        assert_eq!(line["manifest"], "sha256:aa", "{line}");
    }
}

#[tokio::test]
async fn a_tool_that_goes_beyond_what_was_accepted_is_not_called() {
    let widened = [("echo".parse().unwrap(), "network: `` → `*`".to_owned())];
    let in_force = InForce { hash: None, widened: widened.into() };
    let registry = Registry::builder().manifest(in_force).build();
    registry.register(echo()).unwrap();
    let other = tool("other").description("Another").input::<String>().output::<String>();
    registry.register(other.run(|text, _context| async move { Ok(text) }).unwrap()).unwrap();
    let run = Run::new("run-1", "session-1");
    let refused = registry.call(&run, Call::new("echo", json!("hi"))).await;
    assert_eq!(refused.outcome.code(), Some(Code::ToolQuarantined));
    let envelope = serde_json::to_value(&refused.outcome).unwrap();
    assert!(envelope["error"].as_str().unwrap().contains("may do more than was accepted"), "{envelope}");
    let free = registry.call(&run, Call::new("other", json!("hi"))).await;
    assert_eq!(free.outcome.code(), None, "{:?}", free.outcome);
    assert_eq!(registry.quarantined().len(), 1);
}
