//! A factory opens the store of a tool: once for each tool and run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ringfence::policy::{StorageScope, ToolName};
use ringfence::{Backends, Batch, Call, MemoryStore, Registry, Run, Store, StoreError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, personality};

/// What was opened, and the stores by namespace.
#[derive(Clone, Default)]
struct Opened {
    asked: Arc<Mutex<Vec<String>>>,
    stores: Arc<Mutex<BTreeMap<String, Arc<MemoryStore>>>>,
}

impl Opened {
    fn factory(
        &self,
    ) -> impl Fn(&ToolName, &str) -> Result<Arc<dyn Store>, StoreError> + Send + Sync + use<> {
        let this = self.clone();
        move |tool, namespace| {
            this.asked.lock().unwrap().push(format!("{tool} {namespace}"));
            let mut stores = this.stores.lock().unwrap();
            Ok(Arc::clone(stores.entry(namespace.to_owned()).or_default()) as Arc<dyn Store>)
        }
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn keeper(name: &str, scope: StorageScope) -> impl ringfence::Tool + use<> {
    tool(name)
        .storage(scope)
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(|value: Value, context| async move {
            let before = context.store()?.get("k").await?;
            context.store()?.set("k", &value.to_string()).await?;
            Ok(json!(before))
        })
        .unwrap()
}

fn stage(backends: Backends) -> Stage {
    Stage::of(Registry::builder().personality(personality(json!({"id": "ada"}))).backends(backends))
        .with(keeper("own", StorageScope::ToolPrivate))
        .with(keeper("session", StorageScope::Session))
}

#[tokio::test]
async fn a_store_is_opened_once_for_each_tool_and_run() {
    let opened = Opened::default();
    let mut stage = stage(Backends::none().store_factory(opened.factory()));
    assert!(opened.taken().is_empty(), "nothing is opened before it is used");
    for n in 0..3 {
        assert!(stage.call("own", json!(n)).await.outcome.is_done());
        assert!(stage.call("session", json!(n)).await.outcome.is_done());
    }
    assert_eq!(opened.taken(), ["own tool:own", "session session:session-1"]);
    let calls = (0..8).map(|n| Call::new("own", json!(n))).collect();
    stage.registry.execute_parallel(&stage.run, calls, Batch::default()).await;
    assert_eq!(opened.taken(), [""; 0], "calls at once share it");
    stage.run = Run::new("run-2", "session-1");
    let report = stage.call("own", json!(9)).await;
    assert_eq!(opened.taken(), ["own tool:own"]);
    assert!(report.outcome.is_done() && report.outcome.value() != Some("null"), "the values are the store's");
}

#[tokio::test]
async fn the_namespace_stays_with_the_handle() {
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let given = Arc::clone(&shared);
    let factory = move |_: &ToolName, _: &str| Ok(Arc::clone(&given));
    let stage = stage(Backends::none().store_factory(factory));
    stage.call("own", json!(1)).await;
    stage.call("session", json!(2)).await;
    assert_eq!(shared.get("tool:own", "k").await.unwrap().as_deref(), Some("1"));
    assert_eq!(shared.get("session:session-1", "k").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_refused_and_asked_for_again() {
    let failures = Arc::new(Mutex::new(1));
    let left = Arc::clone(&failures);
    let factory = move |_: &ToolName, _: &str| {
        let mut left = left.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            return Err(StoreError::Unreachable("gone".into()));
        }
        Ok(Arc::new(MemoryStore::default()) as Arc<dyn Store>)
    };
    let stage = stage(Backends::none().store_factory(factory));
    let report = stage.call("own", json!(1)).await;
    assert_eq!(code(&report), "NOT_AVAILABLE");
    assert!(report.outcome.error().unwrap().contains("the storage of tool `own` cannot be opened"));
    assert!(stage.call("own", json!(1)).await.outcome.is_done());
}

#[tokio::test]
async fn runs_of_several_registries_do_not_share_stores() {
    let (one, two) = (Opened::default(), Opened::default());
    let first = stage(Backends::none().store_factory(one.factory()));
    let mut second = stage(Backends::none().store_factory(two.factory()));
    second.run = first.run.clone();
    first.call("own", json!(1)).await;
    let report = second.call("own", json!(2)).await;
    assert_eq!((one.taken().len(), two.taken().len()), (1, 1));
    assert_eq!(report.outcome.value(), Some("null"), "{report:?}");
}

#[tokio::test]
async fn what_belongs_to_a_session_ends_with_it() {
    let opened = Opened::default();
    let stage = stage(Backends::none().store_factory(opened.factory()));
    stage.call("own", json!(1)).await;
    stage.call("session", json!(2)).await;
    stage.registry.end_session("session-1").await.unwrap();
    let stores = opened.stores.lock().unwrap().clone();
    assert_eq!(stores["session:session-1"].get("session:session-1", "k").await.unwrap(), None);
    assert_eq!(stores["tool:own"].get("tool:own", "k").await.unwrap().as_deref(), Some("1"));
}
