//! What a record says of what its call touched, was refused, and how long each stage took.

use std::sync::Arc;

use ringfence::policy::{IdempotencyMode, SafetyClass, StorageScope};
use ringfence::{
    AuditEntry, Call, Code, Context, MemoryApprover, Registry, SpawnOptions, Tool, ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, backends, code, echo, echo_of, personality};

/// Touches one thing of each surface, and then one that is not granted.
async fn touch(granted: &str, context: &Context) -> Result<(), ToolError> {
    let (fs, secrets) = (context.fs()?, context.secrets()?);
    let (store, environment, process) = (context.store()?, context.environment()?, context.process()?);
    for _ in 0..2 {
        fs.read(format!("{granted}/in.txt"))?;
        fs.write(format!("{granted}/out.txt"), "x")?;
        secrets.get("API_KEY").await?;
        store.set("cursor", "hunter2").await?;
        store.list("cur").await?;
        environment.get("LANG")?;
        process.spawn("git", &["status".to_owned()], SpawnOptions::default()).await?;
    }
    let mut refused = vec![
        fs.read("/etc/shadow").is_err(),
        fs.write("/etc/../etc/x", "x").is_err(),
        fs.read("relative").is_err(),
        secrets.get("FORBIDDEN").await.is_err(),
        environment.get("HOME").is_err(),
        process.spawn("bash", &[], SpawnOptions::default()).await.is_err(),
        context.fetch()?.get("https://evil.example/x").await.is_err(),
    ];
    let env = [("PATH".to_owned(), "x".to_owned())].into();
    let options = SpawnOptions { env, ..SpawnOptions::default() };
    refused.push(process.spawn("git", &[], options).await.is_err());
    assert!(refused.iter().all(|refused| *refused), "{refused:?}");
    // What is granted and not there was touched all the same.
    assert!(fs.read(format!("{granted}/none.txt")).is_err());
    Ok(())
}

fn toucher(granted: &str) -> impl Tool + use<> {
    let granted = granted.to_owned();
    tool("toucher")
        .network(["api.github.com"])
        .secrets(["API_KEY"])
        .storage(StorageScope::Session)
        .read([granted.as_str()])
        .write([granted.as_str()])
        .binaries(["git"])
        .environment(["LANG"])
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(move |_: Value, context| {
            let granted = granted.clone();
            async move { touch(&granted, &context).await.map(|()| json!("done")) }
        })
        .unwrap()
}

fn stage(granted: &str) -> Stage {
    Stage::of(
        Registry::builder()
            .personality(personality(json!({
                "network": {"allow": ["api.github.com"]},
                "secrets": ["API_KEY"],
                "process": {"allow": ["git"]},
                "fs_reach": {"read": [granted], "write": [granted]},
            })))
            .backends(backends(&Arc::default())),
    )
    .with(toucher(granted))
}

#[tokio::test]
async fn a_record_lists_each_thing_that_was_touched_or_refused_once() {
    let directory = tempfile::tempdir().unwrap();
    let granted = directory.path().canonicalize().unwrap();
    let granted = granted.to_str().unwrap();
    std::fs::write(directory.path().join("in.txt"), "x").unwrap();
    let stage = stage(granted);
    let report = stage.call("toucher", json!({})).await;
    assert!(report.outcome.is_done(), "{:?}", report.outcome);
    let record = serde_json::to_value(stage.last()).unwrap();
    assert_eq!(
        record["touched"],
        json!([
            {"surface": "read", "what": format!("{granted}/in.txt")},
            {"surface": "write", "what": format!("{granted}/out.txt")},
            {"surface": "secret", "what": "API_KEY"},
            {"surface": "storage", "what": "cursor"},
            {"surface": "storage", "what": "cur*"},
            {"surface": "environment", "what": "LANG"},
            {"surface": "binary", "what": "git"},
            {"surface": "read", "what": granted, "granted": true},
            {"surface": "write", "what": granted, "granted": true},
            {"surface": "read", "what": "/etc/shadow", "refused": "PATH_NOT_REACHABLE"},
            {"surface": "write", "what": "/etc/x", "refused": "PATH_NOT_REACHABLE"},
            {"surface": "read", "what": "relative", "refused": "PATH_NOT_REACHABLE"},
            {"surface": "secret", "what": "FORBIDDEN", "refused": "SECRET_NOT_DECLARED"},
            {"surface": "environment", "what": "HOME", "refused": "ENVIRONMENT_NOT_DECLARED"},
            {"surface": "binary", "what": "bash", "refused": "BINARY_NOT_ALLOWED"},
            {"surface": "environment", "what": "PATH", "refused": "ENVIRONMENT_NOT_DECLARED"},
            {"surface": "read", "what": format!("{granted}/none.txt")},
            {"surface": "host", "what": "evil.example", "refused": "HOST_NOT_ALLOWED"},
        ])
    );
    assert_eq!(record.get("touched_left_out"), None);
    let whole = record.to_string();
    assert!(!whole.contains("hunter2"), "neither a secret nor what was stored: {whole}");
}

#[tokio::test]
async fn the_argument_gate_tells_what_it_refused() {
    let stage = stage("/srv");
    let report = stage.call("toucher", json!({"path": "/etc/passwd"})).await;
    assert_eq!(code(&report), "PATH_NOT_REACHABLE");
    let record = serde_json::to_value(stage.last()).unwrap();
    let refused = json!([{"surface": "read", "what": "/etc/passwd", "refused": "PATH_NOT_REACHABLE"}]);
    assert_eq!(record["touched"], refused);
}

#[tokio::test]
async fn the_list_is_bounded_and_the_rest_is_counted() {
    let stage = Stage::of(Registry::builder().backends(backends(&Arc::default()))).with(
        tool("hoarder")
            .storage(StorageScope::Session)
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, context| async move {
                let store = context.store()?;
                for number in 0..100 {
                    store.set(&format!("key-{number}"), "x").await?;
                }
                Ok(json!(null))
            })
            .unwrap(),
    );
    stage.call("hoarder", json!({})).await;
    let record = serde_json::to_value(stage.last()).unwrap();
    assert_eq!(record["touched"].as_array().unwrap().len(), 64);
    assert_eq!(record["touched_left_out"], 36);
    let stage = Stage::bare().with(echo());
    stage.call("echo", json!("x")).await;
    let record = serde_json::to_value(stage.last()).unwrap();
    assert_eq!((record.get("touched"), record.get("touched_left_out")), (None, None));
}

#[tokio::test]
async fn a_record_has_the_stages_that_were_reached_in_their_order() {
    let stages = |stage: &Stage| -> Vec<String> {
        let record = serde_json::to_value(stage.last()).unwrap();
        let stages = record["stages"].as_object().unwrap();
        let sum: u64 = stages.values().map(|taken| taken.as_u64().unwrap()).sum();
        assert!(sum <= record["duration_us"].as_u64().unwrap(), "{record}");
        stages.keys().cloned().collect()
    };
    let plain = Stage::bare().with(echo());
    plain.call("nobody", json!("x")).await;
    assert_eq!(stages(&plain), ["lookup"]);
    plain.call("echo", json!(7)).await;
    assert_eq!(stages(&plain), ["schema"]);
    plain.call("echo", json!("x")).await;
    assert_eq!(stages(&plain), ["arguments", "grant", "run", "clean"]);

    let gated = stage("/srv");
    gated.call("toucher", json!("/etc/passwd")).await;
    assert_eq!(stages(&gated), ["arguments"]);

    let approver = Arc::new(MemoryApprover::default());
    let asked = Stage::of(Registry::builder().approver(approver)).with(echo_of(SafetyClass::Financial));
    asked.call("echo", json!("x")).await;
    assert_eq!(stages(&asked), ["arguments", "approval"]);

    let keyed = Stage::bare().with(
        tool("keyed")
            .class(SafetyClass::Write)
            .idempotency(IdempotencyMode::Optional)
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, _| async { Ok(json!(null)) })
            .unwrap(),
    );
    keyed.make(Call::new("keyed", json!(1)).idempotency_key("one")).await;
    assert_eq!(stages(&keyed), ["arguments", "grant", "claim", "run", "clean", "settle"]);
    keyed.make(Call::new("keyed", json!(1)).idempotency_key("one")).await;
    assert_eq!(stages(&keyed), ["arguments", "grant", "claim"]);
}

#[tokio::test]
async fn a_tool_that_fails_after_the_fence_refused_it_counts_as_refused() {
    let tool = |name: &'static str| {
        tool(name)
            .secrets(["API_KEY"])
            .input_schema(json!({"type": "object"}))
            .output_schema(json!(true))
            .run(move |_: Value, context| async move {
                let refused = context.secrets()?.get("FORBIDDEN").await.map(drop);
                match name {
                    // As a program does that knows no codes.
                    "own_words" => Err(ToolError::new("exit 6")),
                    "copes" => Ok(json!("done without it")),
                    _ => Err(refused.unwrap_err().into()),
                }
            })
            .unwrap()
    };
    let stage = Stage::of(
        Registry::builder()
            .personality(personality(json!({"secrets": ["API_KEY"]})))
            .backends(backends(&Arc::default())),
    );
    let stage = stage.with(tool("passes_on")).with(tool("own_words")).with(tool("copes")).with(failing());
    #[rustfmt::skip]
    let cases = [
        // tool        outcome    refused                           code of its line in the audit
        ("passes_on",  "failed",  Some("SECRET_NOT_DECLARED"),      Some("SECRET_NOT_DECLARED")),
        ("own_words",  "failed",  Some("SECRET_NOT_DECLARED"),      Some("SECRET_NOT_DECLARED")),
        ("copes",      "done",    None,                             None),
        ("fails",      "failed",  None,                             Some("EXECUTION_FAILED")),
    ];
    for (name, outcome, refused, code) in cases {
        stage.call(name, json!({})).await;
        let record = stage.last();
        let written = serde_json::to_value(&record).unwrap();
        assert_eq!(written["outcome"], outcome, "{name}");
        assert_eq!(written.get("refused").and_then(Value::as_str), refused, "{name}");
        assert_eq!(record.refusal_code().map(Code::as_str), refused, "{name}");
        let line = AuditEntry::Call { record: &record, raw: None }.line().unwrap();
        assert_eq!(line.code.map(Code::as_str), code, "{name}");
    }
}

fn failing() -> impl ringfence::Tool {
    tool("fails")
        .input_schema(json!({"type": "object"}))
        .output_schema(json!(true))
        .run(|_: Value, _| async { Err::<Value, _>(ToolError::new("no")) })
        .unwrap()
}
