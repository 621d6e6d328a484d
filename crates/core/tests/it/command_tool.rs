//! Tools that start a program: what they are given, and where they work.

use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{Constraints, Declaration, Idempotency, Limits, Risk, Runtime, validate_declaration};
use ringfence::{
    Backends, Environment, HostFiles, Launch, Launcher, ProcessOutput, Registry, Run, SpawnOptions,
    ToolError, declared_tool, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, Vault, code, envelope, personality};

/// Keeps what was to be started.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<Launch>>>);

impl Witness {
    fn last(&self) -> Launch {
        self.0.lock().unwrap().pop().unwrap()
    }
}

impl Launcher for Witness {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        self.0.lock().unwrap().push(launch);
        ready(Ok(ProcessOutput::default())).boxed()
    }
}

fn declaration(capabilities: &Value) -> Declaration {
    let mut capabilities = capabilities.clone();
    capabilities["process"] = json!({"allowedBinaries": ["show"]});
    Declaration {
        name: "show".parse().unwrap(),
        title: None,
        description: "Shows it".into(),
        input: json!({"type": "object", "properties": {"path": {"type": "string", "format": "path"}}}),
        output: json!({"type": "string"}),
        capabilities: Some(serde_json::from_value(capabilities).unwrap()),
        class: None,
        risk: Risk::Low,
        idempotency: Idempotency::default(),
        constraints: Constraints::default(),
        limits: Limits::default(),
        assurance: None,
        runtime: Runtime::Command(vec!["show".into(), "{path}".into()]),
    }
}

fn stage(capabilities: &Value, ceiling: Value) -> (Stage, Witness) {
    let witness = Witness::default();
    let backends = Backends::none()
        .files(HostFiles::new())
        .launcher(Arc::new(witness.clone()))
        .secrets(Arc::new(Vault([("API_KEY", "hunter2"), ("prod/db", "s3cret")].into())))
        .environment(Environment::new([("LANG", "C"), ("HOME", "/root")].map(|(n, v)| (n.into(), v.into()))));
    let stage = Stage::of(Registry::builder().personality(personality(ceiling)).backends(backends));
    stage.registry.register_shared(&declared_tool(declaration(capabilities)).unwrap()).unwrap();
    (stage, witness)
}

#[tokio::test]
async fn a_command_gets_the_variables_and_secrets_that_are_granted() {
    let own = json!({"environment": ["LANG", "UNSET"], "secrets": ["API_KEY", "prod/db"]});
    let (stage, witness) = stage(&own, json!({}));
    let report = stage.call("show", json!({})).await;
    assert!(report.outcome.is_done(), "{report:?}");
    let launch = witness.last();
    let given: Vec<(&str, &str)> =
        launch.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(given, [("API_KEY", "hunter2"), ("LANG", "C"), ("PROD_DB", "s3cret")]);
    assert!(!launch.arguments.iter().any(|argument| argument.contains("hunter2")));
    assert!(!format!("{launch:?}").contains("hunter2"), "{launch:?}");
    let record = serde_json::to_string(&stage.last()).unwrap();
    assert!(record.contains("API_KEY") && record.contains("LANG") && !record.contains("hunter2"), "{record}");
}

#[tokio::test]
async fn a_command_gets_no_more_than_the_personality_permits() {
    let own = json!({"environment": ["LANG"], "secrets": ["API_KEY"]});
    let (stage, witness) = stage(&own, json!({}));
    let narrowed = json!({"environment": {"allow": ["TZ"]}, "secrets": {"allow": ["OTHER"]}});
    stage.registry.set_personality(&personality(narrowed));
    assert_eq!(code(&stage.call("show", json!({})).await), "TOOL_NOT_PERMITTED");
    assert!(witness.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_secret_without_a_value_starts_nothing() {
    let (stage, witness) = stage(&json!({"secrets": ["MISSING"]}), json!({}));
    let report = stage.call("show", json!({})).await;
    assert_eq!(code(&report), "NOT_AVAILABLE");
    assert!(envelope(&report).to_string().contains("secret `MISSING` has no value"), "{report:?}");
    assert!(witness.0.lock().unwrap().is_empty());
}

#[test]
fn what_a_command_cannot_be_given_is_refused() {
    #[rustfmt::skip]
    let cases = [
        (json!({"storage": {"scope": "session"}}),                        "a command has no way to use storage"),
        (json!({"secrets": ["prod/*"]}),                                  "`prod/*` is not one secret"),
        (json!({"secrets": ["prod/db", "PROD_DB"]}),                      "the variable `PROD_DB` would hold"),
        (json!({"secrets": ["LANG"], "environment": ["LANG"]}),           "the variable `LANG` would hold"),
    ];
    for (capabilities, expected) in cases {
        let gaps = validate_declaration(&declaration(&capabilities));
        assert!(gaps.iter().any(|gap| gap.message.contains(expected)), "{capabilities}: {gaps:?}");
    }
    let fine = json!({"secrets": ["prod/db", "API_KEY"], "environment": ["LANG"]});
    assert_eq!(validate_declaration(&declaration(&fine)), []);
}

#[tokio::test]
async fn a_jail_is_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let reach = json!({"fs_reach": {"read": [&root], "jail": true}});
    let (mut stage, witness) = stage(&reach, json!({"fs_reach": {"read": [&root]}}));
    stage.run = Run::builder("run-1", "session-1").in_directory("/srv/elsewhere").start();
    let report = stage.call("show", json!({"path": "a.txt"})).await;
    assert!(report.outcome.is_done(), "{report:?}");
    assert_eq!(witness.last().cwd.as_deref(), Some(&*root));
}

#[tokio::test]
async fn without_a_jail_the_run_says_where_a_command_works() {
    let (mut stage, witness) =
        stage(&json!({"fs_reach": {"read": ["/srv"]}}), json!({"fs_reach": {"read": ["/srv"]}}));
    stage.run = Run::builder("run-1", "session-1").in_directory("/srv/elsewhere").start();
    assert!(stage.call("show", json!({"path": "a.txt"})).await.outcome.is_done());
    assert_eq!(witness.last().cwd.as_deref(), Some("/srv/elsewhere".as_ref()));
}

#[tokio::test]
async fn a_process_of_a_jailed_tool_works_nowhere_else() {
    let witness = Witness::default();
    let backends = Backends::none().files(HostFiles::new()).launcher(Arc::new(witness.clone()));
    let ceiling = personality(json!({"fs_reach": {"read": ["/srv/in"]}}));
    let stage = Stage::of(Registry::builder().personality(ceiling).backends(backends)).with(
        tool("spawner")
            .capabilities(
                serde_json::from_value(json!({
                    "fs_reach": {"read": ["/srv/in"], "jail": true},
                    "process": {"allowedBinaries": ["show"]},
                }))
                .unwrap(),
            )
            .input_schema(json!({"type": "array"}))
            .output_schema(json!(true))
            .run(|cwd: Value, context| async move {
                let cwd = cwd[0].as_str().map(Into::into);
                let options = SpawnOptions { cwd, ..SpawnOptions::default() };
                context.process()?.spawn("show", &[], options).await?;
                Ok(json!("ran"))
            })
            .unwrap(),
    );
    for (asked, works_in) in [(json!([]), Some("/srv/in")), (json!(["sub"]), Some("/srv/in/sub"))] {
        assert!(stage.call("spawner", asked).await.outcome.is_done());
        assert_eq!(witness.last().cwd.as_deref(), works_in.map(std::path::Path::new));
    }
}
