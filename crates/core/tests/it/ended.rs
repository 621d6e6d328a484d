//! Handles end with their call, and a tool cannot act on its own run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::{Code, StorageScope};
use ringfence::{
    Backends, Capabilities, Context, Launch, Launcher, MemoryStore, Personality, ProcessOutput, Registry,
    SpawnOptions, ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, backends, code, personality};
use crate::it::wait::wait_until;

/// What a tool has put aside for later.
type Kept = Arc<Mutex<Option<Context>>>;

/// Declares a surface of each kind.
fn every_surface(root: &str) -> Capabilities {
    serde_json::from_value(json!({
        "network": {"allowedHosts": ["one.acme.io"]},
        "secrets": ["API_KEY"],
        "storage": {"scope": "session"},
        "fs_reach": {"read": [root], "write": [root]},
        "process": {"allowedBinaries": ["git"]},
        "environment": ["LANG"],
    }))
    .unwrap()
}

fn ceiling(root: &str) -> Personality {
    personality(json!({
        "network": {"allow": ["one.acme.io"]},
        "fs_reach": {"read": [root], "write": [root]},
    }))
}

/// A tool that declares everything and keeps its context.
fn keeper(root: &str, kept: &Kept) -> impl ringfence::Tool + use<> {
    let kept = Arc::clone(kept);
    tool("keeper")
        .capabilities(every_surface(root))
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(move |_: Value, context| {
            *kept.lock().unwrap() = Some(context);
            async { Ok(json!("done")) }
        })
        .unwrap()
}

fn stage(root: &str, backends: Backends) -> (Stage, Kept) {
    let kept = Kept::default();
    let stage = Stage::of(Registry::builder().personality(ceiling(root)).backends(backends));
    (stage.with(keeper(root, &kept)), kept)
}

#[tokio::test]
async fn a_context_that_was_kept_is_refused_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("late.txt");
    let (stage, kept) = stage(root.to_str().unwrap(), backends(&Arc::default()));
    assert!(stage.call("keeper", json!({})).await.outcome.is_done());
    let context = kept.lock().unwrap().take().unwrap();
    stage.registry.set_personality(&personality(json!({})));

    // Asking for a handle.
    let refusals = [
        context.fs().err(),
        context.fetch().err(),
        context.process().err(),
        context.secrets().err(),
        context.store().err(),
        context.environment().err(),
    ];
    for refusal in refusals {
        assert_eq!(refusal.map(|refusal| refusal.code), Some(Code::CallEnded));
    }
    let late = |lines: &[String]| lines.iter().filter(|line| line.contains("\"kind\":\"late\"")).count();
    assert_eq!(late(&stage.audit.lines()), 6, "{:?}", stage.audit.lines());
    assert!(!file.exists());
    assert_eq!(stage.audit.records().len(), 1, "the record of the call stands");
}

#[tokio::test]
async fn handles_that_were_kept_are_refused_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = root.join("late.txt");
    std::fs::write(root.join("there.txt"), "there").unwrap();
    let handles = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&handles);
    let ceiling = ceiling(root.to_str().unwrap());
    let stage = Stage::of(Registry::builder().personality(ceiling).backends(backends(&Arc::default()))).with(
        tool("keeper")
            .capabilities(every_surface(root.to_str().unwrap()))
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(move |_: Value, context| {
                let kept = Arc::clone(&kept);
                async move {
                    let all = (
                        context.fs()?,
                        context.fetch()?,
                        context.process()?,
                        context.secrets()?,
                        context.store()?,
                        context.environment()?,
                    );
                    *kept.lock().unwrap() = Some(all);
                    Ok(json!("done"))
                }
            })
            .unwrap(),
    );
    assert!(stage.call("keeper", json!({})).await.outcome.is_done());
    let (fs, fetch, process, secrets, store, environment) = handles.lock().unwrap().take().unwrap();

    let ended = Some(Code::CallEnded);
    assert_eq!(fs.write(&path, "late").err().map(|error| error.code()), ended);
    assert_eq!(fs.read(root.join("there.txt")).err().map(|error| error.code()), ended);
    assert_eq!(fs.remove(root.join("there.txt")).err().map(|error| error.code()), ended);
    assert_eq!(fetch.get("https://one.acme.io/").await.err().map(|error| error.code()), ended);
    let spawned = process.spawn("git", &[], SpawnOptions::default()).await;
    assert_eq!(spawned.err().and_then(|error| error.code()), ended);
    assert_eq!(secrets.get("API_KEY").await.err().map(|refusal| refusal.code), ended);
    let stored = store.set("k", "v").await.map_err(ToolError::from);
    assert_eq!(stored.err().and_then(|error| error.code()), ended);
    assert_eq!(environment.get("LANG").err().map(|refusal| refusal.code), ended);
    assert!(!path.exists() && root.join("there.txt").exists());

    let surfaces: Vec<String> =
        stage.log.lines().into_iter().filter(|line| line.starts_with("late")).collect();
    let root = root.display();
    assert_eq!(
        surfaces,
        [
            format!("late keeper write {root}/late.txt"),
            format!("late keeper read {root}/there.txt"),
            format!("late keeper write {root}/there.txt"),
            "late keeper host one.acme.io".to_owned(),
            "late keeper binary git".to_owned(),
            "late keeper secret API_KEY".to_owned(),
            "late keeper storage k".to_owned(),
            "late keeper environment LANG".to_owned(),
        ]
    );
    let line = stage.audit.lines().into_iter().find(|line| line.contains("\"kind\":\"late\"")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["code"], &line["tool"], &line["call"]),
        (&json!("CALL_ENDED"), &json!("keeper"), &json!(1))
    );
}

#[tokio::test]
async fn a_flood_of_late_uses_is_refused_and_recorded_up_to_a_limit() {
    let (stage, kept) = stage("/srv", backends(&Arc::default()));
    stage.call("keeper", json!({})).await;
    let context = kept.lock().unwrap().take().unwrap();
    for _ in 0..1_000 {
        assert!(context.fs().is_err());
    }
    assert_eq!(stage.audit.lines().iter().filter(|line| line.contains("\"kind\":\"late\"")).count(), 64);
}

/// Starts something that ends only when it is given up.
#[derive(Default)]
struct Endless(Arc<Mutex<Vec<&'static str>>>);

struct Ends(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("ended");
    }
}

impl Launcher for Endless {
    fn launch(&self, _: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        let ends = Ends(Arc::clone(&self.0));
        async move {
            ends.0.lock().unwrap().push("started");
            std::future::pending::<()>().await;
            drop(ends);
            Ok(ProcessOutput::default())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_process_that_outlives_its_call_is_ended() {
    let launcher = Endless::default();
    let seen = Arc::clone(&launcher.0);
    let stage = Stage::of(Registry::builder().backends(Backends::none().launcher(Arc::new(launcher)))).with(
        tool("leaver")
            .capabilities(serde_json::from_value(json!({"process": {"allowedBinaries": ["git"]}})).unwrap())
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, context| async move {
                let process = context.process()?;
                tokio::spawn(async move { process.spawn("git", &[], SpawnOptions::default()).await });
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok(json!("done"))
            })
            .unwrap(),
    );
    assert!(stage.call("leaver", json!({})).await.outcome.is_done());
    wait_until("the process to end", || seen.lock().unwrap().len() == 2).await;
    assert_eq!(*seen.lock().unwrap(), ["started", "ended"]);
    wait_until("the record", || stage.log.lines().contains(&"late leaver binary git".to_owned())).await;
}

#[tokio::test]
async fn a_tool_cannot_cancel_its_run() {
    let stage = Stage::bare().with(
        tool("quitter")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, context| async move {
                context.cancellation().cancel();
                Ok(json!([
                    &**context.run().id(),
                    &**context.run().session(),
                    context.run().is_cancelled().to_string()
                ]))
            })
            .unwrap(),
    );
    let report = stage.call("quitter", json!({})).await;
    assert_eq!(report.outcome.structured(), Some(&json!(["run-1", "session-1", "false"])));
    assert!(!stage.run.cancellation().is_cancelled());
    assert!(stage.call("quitter", json!({})).await.outcome.is_done(), "the run goes on");
}

#[tokio::test]
async fn a_cancelled_run_is_seen_by_its_tools() {
    let stage = Stage::bare().with(
        tool("waiter")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, context| async move {
                context.cancellation().cancelled().await;
                Ok(json!("stopped early"))
            })
            .unwrap(),
    );
    let run = stage.run.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        run.cancel();
    });
    let report = stage.call("waiter", json!({})).await;
    assert!(matches!(code(&report), "" | "CANCELLED"), "{report:?}");
}

/// A tool that keeps what it was told and then fails.
fn noting(name: &str) -> impl ringfence::Tool + use<> {
    tool(name)
        .storage(StorageScope::ToolPrivate)
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(|_: Value, context| async move {
            let store = context.store()?;
            let number = store.list("").await?.len();
            store.set(&number.to_string(), "noted").await?;
            if number < 1 { Err(ToolError::new("the line broke")) } else { Ok(json!(number)) }
        })
        .unwrap()
}

#[tokio::test]
async fn a_failed_call_that_keeps_storage_is_not_made_again() {
    let kept = Arc::new(MemoryStore::default());
    let stage = Stage::of(Registry::builder().backends(Backends::none().store(Arc::clone(&kept) as Arc<_>)))
        .with(noting("note"));
    assert_eq!(code(&stage.call("note", json!({})).await), "EXECUTION_FAILED");
    assert_eq!(stage.last().attempts(), 1);
    assert_eq!(ringfence::Store::list(&*kept, "tool:note", "").await.unwrap().len(), 1);
    assert_eq!(stage.last().class(), Some(ringfence::policy::SafetyClass::Write));
}

#[tokio::test]
async fn a_route_for_write_holds_for_storage_and_for_what_talks_too() {
    let denied = json!({"approvals": {"write": "deny"}, "network": {"allow": ["one.acme.io"]}});
    let stage = Stage::of(
        Registry::builder().personality(personality(denied)).backends(backends(&Arc::default())),
    )
    .with(noting("note"))
    .with(
        tool("both")
            .capabilities(
                serde_json::from_value(
                    json!({"network": {"allowedHosts": ["one.acme.io"]}, "storage": {"scope": "session"}}),
                )
                .unwrap(),
            )
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, _| async { Ok(json!("ran")) })
            .unwrap(),
    );
    assert_eq!(code(&stage.call("note", json!({})).await), "FORBIDDEN");
    assert_eq!(code(&stage.call("both", json!({})).await), "FORBIDDEN");
}
