//! Who must agree before a call runs, and what an agreement is worth.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use ringfence::policy::SafetyClass;
use ringfence::{
    Approval, ApprovalRequest, Approver, Batch, Call, Intercept, Interceptor, MemoryApprover, PendingCall,
    Registry, Run, Verdict,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, echo_of, personality};

fn asking(approver: &Arc<MemoryApprover>, class: SafetyClass) -> Stage {
    Stage::of(Registry::builder().approver(Arc::clone(approver) as Arc<_>)).with(echo_of(class))
}

/// The digest of the one request that waits.
fn waiting(approver: &MemoryApprover) -> String {
    let waiting = approver.waiting();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    waiting[0].digest.clone()
}

/// Answers every request the same way.
struct Answers<F>(F);

impl<F: Fn(&ApprovalRequest) -> Verdict + Send + Sync> Approver for Answers<F> {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        ready((self.0)(request)).boxed()
    }
}

fn answering(
    class: SafetyClass,
    answer: impl Fn(&ApprovalRequest) -> Verdict + Send + Sync + 'static,
) -> Stage {
    Stage::of(Registry::builder().approver(Arc::new(Answers(answer)))).with(echo_of(class))
}

fn by(people: &[&str], digest: &str) -> Verdict {
    let approval = |by: &&str| Approval { by: (*by).to_owned(), digest: digest.to_owned() };
    Verdict::Approved(people.iter().map(approval).collect())
}

#[tokio::test]
async fn each_class_has_its_route_and_an_operator_may_change_it() {
    #[rustfmt::skip]
    let cases = [
        (SafetyClass::Read,       json!({}),                        ""),
        (SafetyClass::Write,      json!({}),                        ""),
        (SafetyClass::Network,    json!({}),                        ""),
        (SafetyClass::Financial,  json!({}),                        "APPROVAL_REQUIRED"),
        (SafetyClass::Privileged, json!({}),                        "APPROVAL_REQUIRED"),
        (SafetyClass::Read,       json!({"read": "human"}),         "APPROVAL_REQUIRED"),
        (SafetyClass::Financial,  json!({"financial": "auto"}),     ""),
        (SafetyClass::Write,      json!({"write": "deny"}),         "FORBIDDEN"),
    ];
    for (class, approvals, expected) in cases {
        let stage = Stage::of(Registry::builder().personality(personality(json!({"approvals": approvals}))))
            .with(echo_of(class));
        assert_eq!(code(&stage.call("echo", json!("x")).await), expected, "{class:?} {approvals}");
    }
}

#[tokio::test]
async fn without_an_approver_the_call_is_refused_with_the_digest_to_approve() {
    let stage = Stage::bare().with(echo_of(SafetyClass::Financial));
    let report = stage.call("echo", json!("x")).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("APPROVAL_REQUIRED: a person must agree to this call of `echo`")
    );
    assert_eq!(stage.log.lines(), ["refused echo APPROVAL_REQUIRED"], "nobody was asked");
}

#[tokio::test]
async fn one_human_agrees_once_to_one_call() {
    let approver = Arc::new(MemoryApprover::default());
    let stage = asking(&approver, SafetyClass::Financial);
    assert_eq!(code(&stage.call("echo", json!("pay 5")).await), "APPROVAL_REQUIRED");
    let digest = waiting(&approver);
    approver.approve(&digest, "ada");
    assert_eq!(code(&stage.call("echo", json!("pay 500")).await), "APPROVAL_REQUIRED", "changed arguments");
    assert!(stage.call("echo", json!("pay 5")).await.outcome.is_done());
    assert_eq!(code(&stage.call("echo", json!("pay 5")).await), "APPROVAL_REQUIRED", "replayed");

    approver.approve(&digest, "ada");
    for run in [Run::new("run-2", "session-1"), Run::builder("run-1", "session-1").proposed_by("bob").start()]
    {
        let report = stage.registry.call(&run, Call::new("echo", json!("pay 5"))).await;
        assert_eq!(code(&report), "APPROVAL_REQUIRED", "another run or proposer is another digest");
    }
    assert_eq!(stage.log.lines()[..2], ["asked echo", "refused echo APPROVAL_REQUIRED"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_approval_is_worth_one_call_even_when_calls_race() {
    let approver = Arc::new(MemoryApprover::default());
    let stage = asking(&approver, SafetyClass::Financial);
    stage.call("echo", json!("x")).await;
    approver.approve(&waiting(&approver), "ada");
    let calls = (0..32).map(|_| Call::new("echo", json!("x"))).collect();
    let batch = Batch { concurrency: 32.try_into().unwrap(), output_characters: None };
    let reports = stage.registry.execute_parallel(&stage.run, calls, batch).await;
    assert_eq!(reports.iter().filter(|report| report.outcome.is_done()).count(), 1);
}

#[tokio::test]
async fn two_different_people_agree_and_the_proposer_is_neither() {
    let approver = Arc::new(MemoryApprover::default());
    let mut stage = asking(&approver, SafetyClass::Privileged);
    stage.run = Run::builder("run-1", "session-1").proposed_by("mallory").start();
    let report = stage.call("echo", json!("x")).await;
    assert!(report.outcome.error().unwrap().contains("two people must agree"));
    let digest = waiting(&approver);
    for person in ["ada", "ada", "mallory"] {
        approver.approve(&digest, person);
        assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED", "{person}");
    }
    approver.approve(&digest, "grace");
    assert!(stage.call("echo", json!("x")).await.outcome.is_done());
    assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED");
}

#[tokio::test]
async fn the_core_counts_for_itself_whatever_an_approver_says() {
    type Case = (SafetyClass, fn(&ApprovalRequest) -> Verdict, &'static str);
    #[rustfmt::skip]
    let cases: [Case; 8] = [
        (SafetyClass::Financial,  |asked| by(&["ada"], &asked.digest),               ""),
        (SafetyClass::Financial,  |_| by(&[], ""),                                   "APPROVAL_REQUIRED"),
        (SafetyClass::Financial,  |_| by(&["ada"], &"0".repeat(64)),                 "APPROVAL_REQUIRED"),
        (SafetyClass::Financial,  |asked| by(&["agent"], &asked.digest),             "APPROVAL_REQUIRED"),
        (SafetyClass::Privileged, |asked| by(&["ada", "ada"], &asked.digest),        "APPROVAL_REQUIRED"),
        (SafetyClass::Privileged, |asked| by(&["ada", "agent"], &asked.digest),      "APPROVAL_REQUIRED"),
        (SafetyClass::Privileged, |asked| by(&["ada", "grace"], &asked.digest),      ""),
        (SafetyClass::Financial,  |_| panic!("the phone is dead"),                   "APPROVAL_REQUIRED"),
    ];
    for (index, (class, answer, expected)) in cases.into_iter().enumerate() {
        let report = answering(class, answer).call("echo", json!("x")).await;
        assert_eq!(code(&report), expected, "case {index}");
    }
    let stage =
        answering(SafetyClass::Financial, |_| Verdict::Denied { by: "ada".into(), reason: "no".into() });
    let report = stage.call("echo", json!("x")).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("APPROVAL_DENIED: ada refused this call of `echo`: no")
    );
    assert!(
        stage.call("echo", json!(7)).await.outcome.error().unwrap().contains("INPUT_INVALID"),
        "asked last"
    );
}

#[tokio::test]
async fn a_denial_is_answered_once_too() {
    let approver = Arc::new(MemoryApprover::default());
    let stage = asking(&approver, SafetyClass::Financial);
    stage.call("echo", json!("x")).await;
    approver.deny(&waiting(&approver), "ada", "too \u{1b}[31mmuch");
    let report = stage.call("echo", json!("x")).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("APPROVAL_DENIED: ada refused this call of `echo`: too much")
    );
    assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED");
}

#[tokio::test]
async fn a_cancelled_run_does_not_wait_for_people() {
    struct Never;
    impl Approver for Never {
        fn decide<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
            pending().boxed()
        }
    }
    let stage =
        Stage::of(Registry::builder().approver(Arc::new(Never))).with(echo_of(SafetyClass::Financial));
    let (report, ()) = tokio::join!(
        tokio::time::timeout(crate::it::wait::PATIENCE, stage.call("echo", json!("x"))),
        async { stage.run.cancel() },
    );
    assert_eq!(code(&report.unwrap()), "CANCELLED");
}

struct Raises;

impl Interceptor for Raises {
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
        let raised = json!(format!("{}0", call.arguments.as_str().unwrap_or_default()));
        ready(Ok(Intercept::Replace(raised))).boxed()
    }
}

#[tokio::test]
async fn replaced_arguments_need_an_approval_of_their_own() {
    let approver = Arc::new(MemoryApprover::default());
    let stage = Stage::of(
        Registry::builder().approver(Arc::clone(&approver) as Arc<_>).interceptor(Arc::new(Raises)),
    )
    .with(echo_of(SafetyClass::Financial));
    stage.call("echo", json!("5")).await;
    let original = waiting(&approver);
    approver.approve(&original, "ada");
    let report = stage.call("echo", json!("5")).await;
    assert_eq!(code(&report), "APPROVAL_REQUIRED", "the agreement was to 5, not to 50");
    let raised: Vec<Value> = approver.waiting().iter().map(|asked| (*asked.arguments).clone()).collect();
    assert_eq!(raised, [json!("50")]);
    approver.approve(&original, "ada");
    approver.approve(&waiting(&approver), "ada");
    assert_eq!(stage.call("echo", json!("5")).await.outcome.value(), Some("50"));
    assert_eq!(stage.last().arguments(), &json!("50"), "the record shows what ran");
}
