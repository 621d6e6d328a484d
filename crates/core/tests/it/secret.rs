//! Secrets by exact ref, and nothing about the others.

use std::sync::Arc;

use ringfence::{Registry, Secret, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, backends, code, envelope, personality};

fn stage() -> Stage {
    Stage::of(
        Registry::builder()
            .personality(personality(json!({"secrets": ["API_KEY", "MISSING", "BROKEN", "prod/*"]})))
            .backends(backends(&Arc::default())),
    )
    .with(
        tool("asks")
            .secrets(["API_KEY", "MISSING", "BROKEN", "prod/*"])
            .input_schema(json!({"type": "string"}))
            .output_schema(json!(true))
            .run(|name: Value, context| async move {
                let secrets = context.secrets()?;
                let secret = secrets.get(name.as_str().unwrap_or_default()).await?;
                let shown = format!("{secret:?} {secrets:?} {context:?}");
                Ok(json!({"length": secret.expose().len(), "shown": shown}))
            })
            .unwrap(),
    )
}

#[tokio::test]
async fn a_granted_secret_is_handed_out_and_never_shown() {
    let report = stage().call("asks", json!("API_KEY")).await;
    assert_eq!(report.outcome.structured().unwrap()["length"], 7);
    let shown = envelope(&report).to_string();
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(stage().call("asks", json!("prod/db")).await.outcome.structured().unwrap()["length"], 6);
    assert_eq!(format!("{:?}", Secret::new("hunter2".into())), "Secret");
}

#[tokio::test]
async fn a_refused_ref_tells_nothing_of_what_exists() {
    let stage = stage();
    // The vault panics when it is asked for FORBIDDEN, so this also shows that it is not asked.
    for name in ["FORBIDDEN", "NO_SUCH", "api_key", "prod", "prod/", "prod/*", "prod/../API_KEY", "", "*"] {
        let report = stage.call("asks", json!(name)).await;
        assert_eq!(
            envelope(&report),
            json!({
                "ok": false,
                "code": "execution_failed",
                "error": format!("SECRET_NOT_DECLARED: {name} is not in the tool's declared secrets"),
                "refusal": "SECRET_NOT_DECLARED",
            })
        );
    }
    for (name, error) in [
        ("MISSING", "NOT_AVAILABLE: secret `MISSING` has no value"),
        ("BROKEN", "NOT_AVAILABLE: secret `BROKEN` could not be read: the vault is shut"),
    ] {
        let report = stage.call("asks", json!(name)).await;
        assert_eq!((code(&report), report.outcome.error().as_deref()), ("NOT_AVAILABLE", Some(error)));
    }
}

#[tokio::test]
async fn a_function_is_a_source() {
    let source = |name: &str| Ok((name == "API_KEY").then(|| Secret::new("hunter2".to_owned())));
    let stage =
        Stage::of(Registry::builder().backends(ringfence::Backends::system().secrets(Arc::new(source))))
            .with(
                tool("asks")
                    .secrets(["API_KEY", "OTHER"])
                    .input_schema(json!({"type": "string"}))
                    .output_schema(json!(true))
                    .run(|name: Value, context| async move {
                        let secret = context.secrets()?.get(name.as_str().unwrap_or_default()).await?;
                        Ok(json!({"length": secret.expose().len()}))
                    })
                    .unwrap(),
            );
    let report = stage.call("asks", json!("API_KEY")).await;
    assert_eq!(report.outcome.structured().unwrap()["length"], 7);
    assert_eq!(code(&stage.call("asks", json!("OTHER")).await), "NOT_AVAILABLE");
}
