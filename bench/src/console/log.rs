//! A log as agents would leave it: calls of many tools and runs, refusals, and connections of servers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ringfence::audit::ServerStep;
use ringfence::{ApprovalStore as _, ApproverToken, AuditEntry, AuditSink, Call, Registry, Role, Run, tool};
use ringfence_store::SqliteStore;
use serde_json::json;

use super::Outcome;

/// How many callers write at once.
const CALLERS: usize = 64;
/// How many tools and how many runs there are.
const TOOLS: u64 = 20;
const RUNS: u64 = 2_000;

/// Fills a log, and returns the token of somebody who may read it.
///
/// # Errors
///
/// The store cannot be written.
pub async fn fill(path: &Path, size: u64) -> Outcome<String> {
    let store = Arc::new(SqliteStore::open(path)?);
    let token = ApproverToken::generate()?;
    store.add_approver(&"bench".parse()?, token.hash(), Role::Admin).await?;
    let registry = Registry::builder().audit(Arc::clone(&store) as Arc<_>).build();
    for number in 0..TOOLS {
        registry.register(
            tool(&format!("tool_{number}"))
                .input_schema(json!({ "type": "object", "properties": { "invoice": { "type": "integer" } } }))
                .output_schema(json!({ "type": "object" }))
                .run(|input: serde_json::Value, _| async move {
                    Ok(json!({ "invoice": input, "state": "open" }))
                })?,
        )?;
    }
    let registry = Arc::new(registry);
    let next = Arc::new(AtomicU64::new(1));
    let tasks: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (registry, store, next) = (Arc::clone(&registry), Arc::clone(&store), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= size {
                        return Outcome::Ok(());
                    }
                    entry(&registry, &store, number).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(token.expose().to_owned())
}

/// Writes one entry: one in ten is a connection, one in twenty is refused, one in 50,000 is of a tool that is not there.
async fn entry(registry: &Registry, store: &SqliteStore, number: u64) -> Outcome<()> {
    if number.is_multiple_of(10) {
        return step(store, number).await;
    }
    let run = format!("run-{}", number / 37 % RUNS);
    let run =
        Run::builder(run.as_str(), "session").proposed_by(format!("agent-{}", number % 7).as_str()).start();
    let tool = if number % 50_000 == 1 { "gone".to_owned() } else { format!("tool_{}", number % TOOLS) };
    let invoice = if number % 20 == 3 { json!("none") } else { json!(number) };
    let arguments = json!({ "invoice": invoice, "customer": "acme", "note": "delivered in two parts, the second one late" });
    registry.call(&run, Call::new(tool.as_str(), arguments)).await;
    Ok(())
}

/// Writes that a server has reached something.
///
/// # Errors
///
/// The store cannot be written.
pub async fn step(store: &(impl AuditSink + ?Sized), number: u64) -> Outcome<()> {
    let step = ServerStep {
        at: SystemTime::now().duration_since(UNIX_EPOCH)?,
        run: format!("run-{}", number / 37 % RUNS).into(),
        manifest: None,
        server: "files".to_owned(),
        step: "connection",
        about: json!({ "host": format!("api{}.example.com", number % 40), "port": 443, "via": "gate", "sent": 512,
            "received": 2048, "duration": 12, "verdict": "closed" }),
    };
    Ok(store.append(&[AuditEntry::Server(&step)]).await?)
}
