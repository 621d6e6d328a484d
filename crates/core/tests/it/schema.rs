//! Both schemas of a tool are checked: arguments before it runs, its output after.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence::tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, envelope};

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
    days: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    celsius: f64,
}

#[tokio::test]
async fn typed_tools_take_and_return_rust_types() {
    let stage = Stage::bare().with(
        tool("weather")
            .input::<Place>()
            .output::<Weather>()
            .run(|place: Place, _context| async move {
                assert_eq!((place.city.as_str(), place.days), ("Oslo", Some(2)));
                Ok(Weather { celsius: -4.5 })
            })
            .unwrap(),
    );
    let report = stage.call("weather", json!({"city": "Oslo", "days": 2})).await;
    assert_eq!(
        envelope(&report),
        json!({"ok": true, "value": "{\"celsius\":-4.5}", "structured": {"celsius": -4.5}})
    );
    for arguments in
        [json!({}), json!({"city": 7}), json!({"city": "Oslo", "days": 256}), json!(null), json!([])]
    {
        let report = stage.call("weather", arguments.clone()).await;
        assert_eq!(report.outcome.envelope_code(), Some("input_invalid"), "{arguments}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_tool() {
    let ran = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ran);
    let stage = Stage::bare().with(
        tool("count")
            .input_schema(json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}))
            .output_schema(json!({"type": "integer"}))
            .run(move |arguments: Value, _context| {
                seen.fetch_add(1, Ordering::SeqCst);
                async move { Ok(arguments["n"].clone()) }
            })
            .unwrap(),
    );
    for bad in [json!({"n": 0}), json!({"n": "1"}), json!({}), json!("n"), json!({"n": 1.5})] {
        assert_eq!(code(&stage.call("count", bad.clone()).await), "INPUT_INVALID", "{bad}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert!(stage.call("count", json!({"n": 3})).await.outcome.is_done());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_output_that_does_not_fit_is_withheld() {
    let stage = Stage::bare().with(
        tool("liar")
            .input_schema(json!(true))
            .output_schema(
                json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            )
            .run(|arguments, _context| async move { Ok(arguments) })
            .unwrap(),
    );
    let report = stage.call("liar", json!({"n": "top secret"})).await;
    assert_eq!(
        envelope(&report),
        json!({
            "ok": false,
            "code": "execution_failed",
            "error": "OUTPUT_INVALID: `/n`: value is not of type \"integer\"",
            "refusal": "OUTPUT_INVALID",
        })
    );
    assert!(stage.call("liar", json!({"n": 1})).await.outcome.is_done());
}

#[tokio::test]
async fn messages_about_arguments_drive_no_terminal_and_echo_no_value() {
    let stage = Stage::bare().with(
        tool("strict")
            .input_schema(json!({"additionalProperties": {"type": "integer"}}))
            .output_schema(json!(true))
            .run(|arguments, _context| async move { Ok(arguments) })
            .unwrap(),
    );
    let report = stage.call("strict", json!({"\u{1b}[31m\n": "hunter2"})).await;
    let error = report.outcome.error().unwrap();
    assert_eq!(code(&report), "INPUT_INVALID");
    assert!(!error.contains("hunter2"), "{error:?}");
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[tokio::test]
async fn arguments_have_limits_of_their_own() {
    let stage = Stage::bare().with(
        tool("any")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_arguments, _context| async move { Ok(json!("taken")) })
            .unwrap(),
    );
    let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));
    #[rustfmt::skip]
    let cases = [
        (nested(128),                        None),
        (nested(129),                        Some("INPUT_INVALID: the arguments are nested deeper than 128 levels")),
        (json!(vec![0; 99_999]),             None),
        (json!(vec![0; 100_000]),            Some("INPUT_INVALID: the arguments are more than 100000 values")),
        (json!("x".repeat((4 << 20) - 1)),   None),
        (json!("x".repeat(4 << 20)),         Some("INPUT_INVALID: the arguments are larger than 4194304 bytes")),
        (json!({"x".repeat(4 << 20): 1}),    Some("INPUT_INVALID: the arguments are larger than 4194304 bytes")),
        (json!("x".repeat(10 << 20)),        Some("INPUT_INVALID: the arguments are larger than 4194304 bytes")),
    ];
    for (index, (arguments, error)) in cases.into_iter().enumerate() {
        let report = stage.call("any", arguments).await;
        assert_eq!(report.outcome.error().as_deref(), error, "case {index}");
    }
}
