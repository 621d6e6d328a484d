//! What would be decided about a call of the past.

use ringfence::policy::{Decision, SafetyClass};
use ringfence::{Asker, Call, Registry, Run, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, personality};

fn stage(document: Value) -> Stage {
    let second = tool("second")
        .only_after(["echo"])
        .max_invocations(1)
        .forbidden_to_models()
        .input_schema(json!({"type": "object"}))
        .output_schema(json!(true))
        .run(|input: Value, _| async move { Ok(input) })
        .unwrap();
    Stage::of(Registry::builder().personality(personality(document)))
        .with(crate::it::stage::echo_of(SafetyClass::Financial))
        .with(second)
}

#[tokio::test]
async fn says_what_would_happen_and_does_nothing() {
    type Past<'a> = &'a [(&'a str, bool)];
    let code = Asker::Code;
    #[rustfmt::skip]
    let cases: [(Value, Past<'_>, Call, Result<Decision, &str>); 10] = [
        (json!({}),                                    &[],                                  Call::new("echo", json!("x")),                    Ok(Decision::Ask)),
        (json!({"approvals": {"financial": "auto"}}),  &[],                                  Call::new("echo", json!("x")),                    Ok(Decision::Allow)),
        (json!({"approvals": {"financial": "deny"}}),  &[],                                  Call::new("echo", json!("x")),                    Err("FORBIDDEN")),
        (json!({"tools": ["second"]}),                 &[],                                  Call::new("echo", json!("x")),                    Err("TOOL_NOT_PERMITTED")),
        (json!({}),                                    &[],                                  Call::new("echo", json!(7)),                      Err("INPUT_INVALID")),
        (json!({}),                                    &[],                                  Call::new("gone", json!({})),                     Err("TOOL_UNKNOWN")),
        (json!({}),                                    &[("echo", true)],                    Call::new("second", json!({})),                   Err("CONSTRAINT_VIOLATED")),
        (json!({}),                                    &[("echo", false)],                   Call::new("second", json!({})).asked_by(code),    Err("CONSTRAINT_VIOLATED")),
        (json!({}),                                    &[("echo", true)],                    Call::new("second", json!({})).asked_by(code),    Ok(Decision::Allow)),
        (json!({}),                                    &[("echo", true), ("second", true)],  Call::new("second", json!({})).asked_by(code),    Err("CONSTRAINT_VIOLATED")),
    ];
    for (index, (document, past, call, expected)) in cases.into_iter().enumerate() {
        let stage = stage(document);
        let run = Run::new("past", "session");
        for (tool, completed) in past {
            run.recall(&tool.parse().unwrap(), *completed);
        }
        for _ in 0..2 {
            let review = stage.registry.review(&run, &call);
            let decision = review.decision.as_ref().map(|decision| *decision);
            assert_eq!(decision.map_err(|refusal| refusal.code.as_str()), expected, "case {index}");
        }
        assert!(stage.audit.records().is_empty() && stage.log.lines().is_empty());
    }
}
