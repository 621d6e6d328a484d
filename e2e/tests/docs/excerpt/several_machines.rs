//! The guide to several machines: a registry over a shared database.

use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::Personality;
use ringfence::{Backends, Registry, StoreApprover};
use ringfence_store::PostgresStore;

#[rustfmt::skip]
async fn registry(url: &str, personality: Personality, backends: Backends) -> Result<Registry, Box<dyn std::error::Error>> {
    let store = Arc::new(PostgresStore::connect(url).await?);
    let registry = Registry::builder()
        .personality(personality)
        .backends(backends.store(store.clone()))
        .audit(store.clone())
        .idempotency(store.clone())
        .runs(store.clone())
        .approver(Arc::new(StoreApprover::new(store).wait(Duration::from_secs(300))))
        .build();
    Ok(registry)
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let personality = serde_json::from_str("{}").unwrap();
    let url = "postgres://nobody:nothing@127.0.0.1:1/nowhere?sslmode=disable";
    assert!(registry(url, personality, Backends::none()).await.is_err());
}
