//! One budget of characters for a whole batch: exact, shared by need, structures kept.

use std::sync::Arc;

use proptest::prelude::*;
use ringfence::policy::SafetyClass;
use ringfence::{Batch, Call, Registry, Report, ToolError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, echo_of, personality};

fn stage() -> Stage {
    Stage::of(Registry::builder().personality(personality(json!({"approvals": {"write": "human"}}))))
        .with(
            tool("say")
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run(|said: Value, _| async { Ok(said) })
                .unwrap(),
        )
        .with(
            tool("fail")
                .input_schema(json!({"type": "string"}))
                .output_schema(json!(true))
                .run(|said: Value, _| async move {
                    Err::<Value, _>(ToolError::new(said.as_str().unwrap_or_default()))
                })
                .unwrap(),
        )
        .with(echo_of(SafetyClass::Write))
}

async fn together(stage: &Stage, calls: Vec<Call>, characters: usize) -> Vec<Report> {
    let batch = Batch { output_characters: Some(characters), ..Batch::default() };
    Arc::clone(&stage.registry).execute_parallel(&stage.run, calls, batch).await
}

/// What the model sees of a report.
fn text(report: &Report) -> String {
    let envelope = serde_json::to_value(&report.outcome).unwrap();
    envelope.get("value").or(envelope.get("error")).unwrap().as_str().unwrap().to_owned()
}

fn length(reports: &[Report]) -> usize {
    reports.iter().map(|report| text(report).chars().count()).sum()
}

#[tokio::test]
async fn short_texts_stay_whole_and_long_ones_share_the_rest() {
    let calls = vec![
        Call::new("say", json!("é".repeat(500))),
        Call::new("say", json!("short")),
        Call::new("fail", json!("ü".repeat(500))),
    ];
    let reports = together(&stage(), calls, 205).await;
    assert_eq!(length(&reports), 205);
    assert_eq!(text(&reports[1]), "short");
    for cut in [&reports[0], &reports[2]] {
        assert_eq!(text(cut).chars().count(), 100);
        assert!(text(cut).ends_with("… [cut, 500 characters in all]"), "{}", text(cut));
    }
}

#[tokio::test]
async fn nothing_is_cut_that_fits_exactly() {
    let calls = || vec![Call::new("say", json!("a".repeat(50))), Call::new("fail", json!("b".repeat(50)))];
    let reports = together(&stage(), calls(), 100).await;
    assert!(reports.iter().all(|report| !text(report).contains("cut")), "{reports:?}");
    let reports = together(&stage(), calls(), 99).await;
    assert_eq!(length(&reports), 99);
}

#[tokio::test]
async fn structures_are_kept_while_their_text_is_cut() {
    let structure = json!({"rows": vec!["row"; 100]});
    let reports = together(&stage(), vec![Call::new("say", structure.clone())], 40).await;
    assert_eq!(text(&reports[0]).chars().count(), 40);
    assert_eq!(reports[0].outcome.structured(), Some(&structure));
}

#[tokio::test]
async fn refusals_are_counted_with_their_code() {
    let refused = || Call::new("echo", json!("x"));
    let whole = together(&stage(), vec![refused()], 10_000).await;
    let whole = text(&whole[0]);
    assert_eq!(whole, "APPROVAL_REQUIRED: a person must agree to this call of `echo`");
    for budget in 0..=whole.chars().count() {
        let reports = together(&stage(), vec![refused()], budget).await;
        assert!(length(&reports) <= budget, "{budget}: {}", text(&reports[0]));
        let envelope = serde_json::to_value(&reports[0].outcome).unwrap();
        assert_eq!(envelope["refusal"], "APPROVAL_REQUIRED", "the code is kept whatever the budget");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_batch_never_says_more_than_its_budget(
        texts in prop::collection::vec(("\\PC{0,60}", 0_u8..4), 0..6),
        budget in 0_usize..300,
    ) {
        let calls = texts.iter().map(|(text, kind)| match kind {
            0 => Call::new("say", json!(text)),
            1 => Call::new("fail", json!(text)),
            2 => Call::new("echo", json!(text)),
            _ => Call::new("say", json!({"text": text})),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let stage = stage();
        let whole = runtime.block_on(together(&stage, calls.clone().collect(), usize::MAX));
        let cut = runtime.block_on(together(&stage, calls.collect(), budget));
        prop_assert!(length(&cut) <= budget, "{} characters in {budget}", length(&cut));
        if length(&whole) <= budget {
            prop_assert_eq!(cut.iter().map(text).collect::<Vec<_>>(), whole.iter().map(text).collect::<Vec<_>>());
        }
    }
}
