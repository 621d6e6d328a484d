//! Enforcement point 3, surface by surface, and the handles that exist only for what was declared.

use std::sync::Arc;

use ringfence::policy::StorageScope;
use ringfence::{
    Backends, Capabilities, Context, Environment, HostFiles, ManualClock, MemoryStore, Refusal, Registry,
    SpawnOptions, Tool, needs_backends, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Pretender, Stage, Vault, backends, code, envelope, personality};

const SURFACES: [(&str, &str); 6] = [
    ("network", r#"{"allowedHosts": ["api.github.com"]}"#),
    ("secrets", r#"["API_KEY"]"#),
    ("storage", r#"{"scope": "session", "kind": "kv"}"#),
    ("fs_reach", r#"{"read": ["/srv"]}"#),
    ("process", r#"{"allowedBinaries": ["git"]}"#),
    ("environment", r#"["LANG"]"#),
];

fn declaring(surfaces: &[(&str, &str)]) -> Capabilities {
    let fields: Vec<String> = surfaces.iter().map(|(name, shape)| format!("\"{name}\": {shape}")).collect();
    serde_json::from_str(&format!("{{{}}}", fields.join(","))).unwrap()
}

fn idle(capabilities: Capabilities) -> impl Tool {
    tool("idle")
        .capabilities(capabilities)
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(|_: Value, _| async { Ok(json!("ran")) })
        .unwrap()
}

fn ceiling() -> ringfence::Personality {
    personality(json!({"network": {"allow": ["api.github.com"]}, "fs_reach": {"read": ["/srv"]}}))
}

#[tokio::test]
async fn without_any_backend_the_guard_speaks_the_seeds_sentence() {
    for surface in SURFACES {
        let capabilities = declaring(&[surface]);
        assert!(needs_backends(&capabilities));
        let stage = Stage::of(Registry::builder().personality(ceiling())).with(idle(capabilities));
        assert_eq!(
            envelope(&stage.call("idle", json!({})).await),
            json!({
                "ok": false,
                "code": "not_available",
                "error": "Tool idle declares capabilities but no capability backends are configured",
                "refusal": "NOT_AVAILABLE",
            }),
            "{surface:?}"
        );
    }
    assert!(!needs_backends(&Capabilities::default()));
    let stage = Stage::bare().with(idle(Capabilities::default()));
    assert!(stage.call("idle", json!({})).await.outcome.is_done(), "`{{}}` needs no backend");
}

#[tokio::test]
async fn one_missing_backend_is_named_and_the_others_do_not_stand_in() {
    let vault = || Arc::new(Vault([("API_KEY", "x")].into()));
    #[rustfmt::skip]
    let cases = [
        ("network",     Backends::none().secrets(vault()),                              "an HTTP client"),
        ("secrets",     Backends::none().files(HostFiles::new()),                       "a secret source"),
        ("storage",     Backends::none().secrets(vault()),                              "a key-value store"),
        ("fs_reach",    Backends::none().store(Arc::new(MemoryStore::default())),       "host files"),
        ("process",     Backends::none().environment(Environment::default()),           "a sandbox that starts processes"),
        ("environment", Backends::none().launcher(Arc::new(Pretender)),                 "an environment snapshot"),
    ];
    for (surface, backends, needs) in cases {
        let declared = SURFACES.into_iter().find(|(name, _)| *name == surface).unwrap();
        let stage = Stage::of(Registry::builder().personality(ceiling()).backends(backends))
            .with(idle(declaring(&[declared])));
        let report = stage.call("idle", json!({})).await;
        assert_eq!(report.outcome.envelope_code(), Some("not_available"));
        let expected = format!("Tool idle declares `{surface}` but no backend for it is configured: {needs}");
        assert_eq!(report.outcome.error(), Some(expected));
    }
}

#[tokio::test]
async fn all_six_surfaces_run_with_all_six_backends() {
    let stage = Stage::of(Registry::builder().personality(ceiling()).backends(backends(&Arc::default())))
        .with(idle(declaring(&SURFACES)));
    assert!(stage.call("idle", json!({})).await.outcome.is_done());
}

#[tokio::test]
async fn a_handle_that_was_not_declared_is_refused_although_its_backend_is_there() {
    type Ask = fn(&Context) -> Option<Refusal>;
    let asks: [(&str, Ask); 6] = [
        ("network", |context| context.fetch().err()),
        ("secrets", |context| context.secrets().err()),
        ("storage", |context| context.store().err()),
        ("fs_reach", |context| context.fs().err()),
        ("process", |context| context.process().err()),
        ("environment", |context| context.environment().err()),
    ];
    for (surface, ask) in asks {
        let others: Vec<_> = SURFACES.into_iter().filter(|(name, _)| *name != surface).collect();
        let stage = Stage::of(Registry::builder().personality(ceiling()).backends(backends(&Arc::default())))
            .with(
                tool("sly")
                    .capabilities(declaring(&others))
                    .input_schema(json!(true))
                    .output_schema(json!(true))
                    .run(move |_: Value, context| async move {
                        match ask(&context) {
                            Some(refusal) => Err(refusal.into()),
                            None => Ok(json!("got it")),
                        }
                    })
                    .unwrap(),
            );
        let report = stage.call("sly", json!({})).await;
        assert_eq!(
            envelope(&report),
            json!({
                "ok": false,
                "code": "execution_failed",
                "error": format!("NOT_AVAILABLE: Tool sly did not declare `{surface}`"),
                "refusal": "NOT_AVAILABLE",
            })
        );
    }
}

#[tokio::test]
async fn narrowing_grants_the_intersection() {
    let made = || {
        tool("octo")
            .network(["api.github.com", "api.stripe.com"])
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|url: Value, context| async move {
                let hosts = context.grant().network.as_ref().unwrap().hosts().iter();
                let hosts: Vec<String> = hosts.map(ToString::to_string).collect();
                match url.as_str() {
                    Some(url) => {
                        context.fetch()?.get(url).await.map(|_| json!("fetched")).map_err(Into::into)
                    }
                    None => Ok(json!(hosts)),
                }
            })
            .unwrap()
    };
    let builder = || {
        Registry::builder()
            .personality(personality(json!({"network": {"allow": ["*.github.com"]}})))
            .backends(backends(&Arc::new(ManualClock::default())))
    };
    let refused = builder().build().register(made()).unwrap_err().to_string();
    assert!(refused.contains("host `api.stripe.com` is not covered by the personality"), "{refused}");

    let stage = Stage::of(builder().on_gaps(ringfence::OnGaps::Narrow)).with(made());
    let granted = stage.call("octo", json!(null)).await;
    assert_eq!(granted.outcome.structured(), Some(&json!(["api.github.com"])));
    let refused = stage.call("octo", json!("https://api.stripe.com/v1/charges")).await;
    assert_eq!(
        envelope(&refused),
        json!({
            "ok": false,
            "code": "execution_failed",
            "error": "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts",
            "refusal": "HOST_NOT_ALLOWED",
        })
    );
}

#[tokio::test]
async fn processes_are_judged_by_name_and_variable_before_the_sandbox_is_asked() {
    let stage = Stage::of(Registry::builder().backends(backends(&Arc::default()))).with(
        tool("git")
            .binaries(["git", "*"])
            .environment(["LANG"])
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|asked: Value, context| async move {
                let binary = asked["binary"].as_str().unwrap_or("git");
                let mut options = SpawnOptions::default();
                if let Some(name) = asked["variable"].as_str() {
                    options.env.insert(name.to_owned(), "x".to_owned());
                }
                let arguments: Vec<String> =
                    serde_json::from_value(asked["arguments"].clone()).unwrap_or_default();
                Ok(json!(context.process()?.spawn(binary, &arguments, options).await?.stdout))
            })
            .unwrap(),
    );
    #[rustfmt::skip]
    let cases = [
        (json!({"arguments": ["status"]}),      "",                          "git [\"status\"]"),
        (json!({"variable": "LANG"}),           "",                          "git []"),
        (json!({"binary": "rm"}),               "BINARY_NOT_ALLOWED",        "BINARY_NOT_ALLOWED: rm is not in the declared allowedBinaries"),
        (json!({"binary": "/usr/bin/git"}),     "BINARY_NOT_ALLOWED",        "BINARY_NOT_ALLOWED: /usr/bin/git is not in the declared allowedBinaries"),
        (json!({"binary": "*"}),                "BINARY_NOT_ALLOWED",        "BINARY_NOT_ALLOWED: * is not in the declared allowedBinaries"),
        (json!({"variable": "LD_PRELOAD"}),     "ENVIRONMENT_NOT_DECLARED",  "ENVIRONMENT_NOT_DECLARED: LD_PRELOAD is not in the tool's declared environment"),
        (json!({"arguments": ["a\0b"]}),        "EXECUTION_FAILED",          "argument `a\u{fffd}b` contains a NUL character"),
    ];
    for (asked, expected, text) in cases {
        let report = stage.call("git", asked.clone()).await;
        assert_eq!(code(&report), expected, "{asked}");
        let said = report.outcome.value().map(str::to_owned).or(report.outcome.error());
        assert_eq!(said.as_deref(), Some(text), "{asked}");
    }
}

#[tokio::test]
async fn storage_scopes_are_declared_with_the_builder_too() {
    let stage = Stage::of(Registry::builder().backends(backends(&Arc::default()))).with(
        tool("keeper")
            .storage(StorageScope::Session)
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, context| async move { Ok(json!(format!("{:?}", context.store()?))) })
            .unwrap(),
    );
    let report = stage.call("keeper", json!({})).await;
    assert_eq!(report.outcome.value(), Some("KeyValueStore { namespace: \"session:session-1\", .. }"));
}
