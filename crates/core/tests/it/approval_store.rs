//! Approvals that people give through a store, and calls that wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringfence::policy::{IdempotencyMode, SafetyClass};
use ringfence::{
    ApprovalError, ApprovalStore as _, ApproverToken, Call, FiledRequest, ManualClock, MemoryApprovals,
    PersonDecision, Proof, Registry, RequestFilter, RequestState, Role, StoreApprover, Word, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, echo_of, personality};
use crate::it::wait::{PATIENCE, wait_until};

struct Office {
    approvals: Arc<MemoryApprovals>,
    clock: Arc<ManualClock>,
    ada: ApproverToken,
    grace: ApproverToken,
}

impl Office {
    async fn open() -> Self {
        let clock = Arc::new(ManualClock::default());
        let approvals = Arc::new(MemoryApprovals::new(Arc::clone(&clock) as Arc<_>));
        let (ada, grace) = (ApproverToken::generate().unwrap(), ApproverToken::generate().unwrap());
        approvals.add_approver(&"ada".parse().unwrap(), ada.hash(), Role::Approver).await.unwrap();
        approvals.add_approver(&"grace".parse().unwrap(), grace.hash(), Role::Approver).await.unwrap();
        Self { approvals, clock, ada, grace }
    }

    fn stage(&self, class: SafetyClass, wait: Duration) -> Stage {
        let approver = StoreApprover::new(Arc::clone(&self.approvals) as Arc<_>).wait(wait);
        Stage::of(Registry::builder().approver(Arc::new(approver))).with(echo_of(class))
    }

    async fn open_request(&self) -> FiledRequest {
        let filter = RequestFilter { state: Some(RequestState::Open), ..RequestFilter::default() };
        loop {
            if let Some(filed) = self.approvals.requests(&filter).await.unwrap().pop() {
                return filed;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn decide(&self, who: &ApproverToken, word: Word) -> Result<FiledRequest, ApprovalError> {
        let filed = self.open_request().await;
        let decision = PersonDecision {
            id: filed.id,
            by: Proof::Token(who.hash()),
            word,
            changed: None,
            reason: "because".into(),
        };
        self.approvals.decide(&decision).await
    }

    async fn change(&self, who: &ApproverToken, arguments: Value) -> Result<FiledRequest, ApprovalError> {
        let filed = self.open_request().await;
        let changed = Some(filed.request.with_arguments(arguments).unwrap());
        let decision = PersonDecision {
            id: filed.id,
            by: Proof::Token(who.hash()),
            word: Word::Change,
            changed,
            reason: "less".into(),
        };
        self.approvals.decide(&decision).await
    }
}

#[tokio::test]
async fn a_call_that_does_not_wait_runs_when_it_comes_again() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Financial, Duration::ZERO);
    let report = stage.call("echo", json!("pay 5")).await;
    assert_eq!(code(&report), "APPROVAL_REQUIRED");
    let ringfence::Outcome::Refused(refusal) = &report.outcome else { panic!("{report:?}") };
    let digest = office.open_request().await.request.digest;
    let hint = format!("`ringfence approvals approve {digest}`, and call again");
    assert_eq!(refusal.hint.as_deref(), Some(hint.as_str()));
    office.decide(&office.ada, Word::Approve).await.unwrap();
    assert!(stage.call("echo", json!("pay 5")).await.outcome.is_done());
    assert_eq!(
        code(&stage.call("echo", json!("pay 5")).await),
        "APPROVAL_REQUIRED",
        "one agreement, one call"
    );
}

#[tokio::test]
async fn an_approval_of_one_is_none_of_one_point_zero() {
    let office = Office::open().await;
    let approver = StoreApprover::new(Arc::clone(&office.approvals) as Arc<_>).wait(Duration::ZERO);
    let pay = tool("pay")
        .description("Pays")
        .class(SafetyClass::Financial)
        .input_schema(json!({"type": "object"}))
        .output_schema(json!({"type": "string"}))
        .run(|paid: Value, _| async move { Ok(json!(paid.to_string())) })
        .unwrap();
    let stage = Stage::of(Registry::builder().approver(Arc::new(approver))).with(pay);
    for (shown, other) in [(json!({"amount": 1}), json!({"amount": 1.0})), (json!([100]), json!([100.0]))] {
        let arguments = |value: &Value| json!({ "order": value });
        assert_eq!(code(&stage.call("pay", arguments(&shown)).await), "APPROVAL_REQUIRED");
        let filed = office.open_request().await;
        assert_eq!(*filed.request.arguments, arguments(&shown));
        office.decide(&office.ada, Word::Approve).await.unwrap();
        let report = stage.call("pay", arguments(&other)).await;
        assert_eq!(code(&report), "APPROVAL_REQUIRED", "{other} was not shown");
        office.decide(&office.ada, Word::Deny).await.unwrap();
        let report = stage.call("pay", arguments(&shown)).await;
        assert_eq!(report.outcome.value(), Some(arguments(&shown).to_string().as_str()));
    }
}

#[tokio::test]
async fn a_withdrawn_approval_lets_nothing_run() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Financial, Duration::ZERO);
    stage.call("echo", json!("pay 5")).await;
    let filed = office.decide(&office.ada, Word::Approve).await.unwrap();
    let withdraw = |who: &ApproverToken| PersonDecision {
        id: filed.id.clone(),
        by: Proof::Token(who.hash()),
        word: Word::Withdraw,
        changed: None,
        reason: "wrong account".into(),
    };
    let nothing = office.approvals.decide(&withdraw(&office.grace)).await.unwrap_err();
    assert_eq!(nothing.to_string(), "`grace` has not approved this request");
    let open = office.approvals.decide(&withdraw(&office.ada)).await.unwrap();
    assert_eq!((open.state, open.decided.len()), (RequestState::Open, 0));
    assert_eq!(code(&stage.call("echo", json!("pay 5")).await), "APPROVAL_REQUIRED");
    office.decide(&office.ada, Word::Approve).await.unwrap();
    assert!(stage.call("echo", json!("pay 5")).await.outcome.is_done(), "the vote can be given again");
    let late = office.approvals.decide(&withdraw(&office.ada)).await.unwrap_err();
    assert_eq!(late, ApprovalError::NotOpen { state: RequestState::Taken });
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_two_people_and_the_audit_has_each_step() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Privileged, Duration::from_secs(10));
    let people = async {
        office.decide(&office.ada, Word::Approve).await.unwrap();
        assert!(matches!(
            office.decide(&office.ada, Word::Approve).await,
            Err(ApprovalError::Already { .. })
        ));
        assert_eq!(office.decide(&office.grace, Word::Approve).await.unwrap().state, RequestState::Approved);
    };
    let (report, ()) = tokio::join!(stage.call("echo", json!("x")), people);
    assert_eq!(report.outcome.value(), Some("x"));
    let steps: Vec<Value> =
        stage.audit.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<_> = steps.iter().filter_map(|line| line["step"].as_str()).collect();
    assert_eq!(steps, ["asked", "approved"]);
}

#[tokio::test]
async fn waiting_for_people_is_told_apart() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Financial, Duration::from_secs(10));
    let people = async {
        office.open_request().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        office.decide(&office.ada, Word::Approve).await.unwrap();
    };
    let (report, ()) = tokio::join!(stage.call("echo", json!("x")), people);
    assert!(report.outcome.is_done());
    let record = stage.last();
    let waited = record.waited().unwrap();
    assert!(waited >= Duration::from_millis(300), "{waited:?}");
    assert!(record.duration() - waited < Duration::from_millis(250), "{:?} {waited:?}", record.duration());
    let free = Stage::of(Registry::builder()).with(echo_of(SafetyClass::Read));
    free.call("echo", json!("x")).await;
    assert_eq!(free.last().waited(), None);
}

#[tokio::test]
async fn a_refusal_holds_until_the_request_expires() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Financial, Duration::ZERO);
    stage.call("echo", json!("x")).await;
    office.decide(&office.grace, Word::Deny).await.unwrap();
    for _ in 0..2 {
        let report = stage.call("echo", json!("x")).await;
        let expected = "APPROVAL_DENIED: grace refused this call of `echo`: because";
        assert_eq!(report.outcome.error().as_deref(), Some(expected));
    }
    office.clock.advance(Duration::from_secs(3_600));
    assert_eq!(code(&stage.call("echo", json!("x")).await), "APPROVAL_REQUIRED", "a new request");
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_are_judged_and_need_their_own_people() {
    let office = Office::open().await;
    let stage = office.stage(SafetyClass::Privileged, Duration::from_secs(10));
    let people = async {
        let changed = office.change(&office.ada, json!("pay 5")).await.unwrap();
        assert_eq!((changed.state, changed.decided.len()), (RequestState::Open, 1));
        office.decide(&office.grace, Word::Approve).await.unwrap();
    };
    let (report, ()) = tokio::join!(stage.call("echo", json!("pay 500")), people);
    assert_eq!(report.outcome.value(), Some("pay 5"));
    assert_eq!(stage.last().arguments(), &json!("pay 5"));

    let stage = office.stage(SafetyClass::Financial, Duration::from_secs(10));
    let invalid = async { office.change(&office.ada, json!(7)).await.unwrap() };
    let (report, _) = tokio::join!(stage.call("echo", json!("pay 500")), invalid);
    assert_eq!(code(&report), "INPUT_INVALID", "the schema holds for people too");
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_done_already() {
    let office = Office::open().await;
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let pay = tool("pay")
        .class(SafetyClass::Financial)
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!(true))
        .output::<usize>()
        .run(move |_: Value, _| {
            let times = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok(times) }
        })
        .unwrap();
    let stage = office.stage(SafetyClass::Read, Duration::ZERO).with(pay);
    let call = || Call::new("pay", json!({"n": 1})).idempotency_key("k");
    assert_eq!(code(&stage.make(call()).await), "APPROVAL_REQUIRED");
    office.decide(&office.ada, Word::Approve).await.unwrap();
    for _ in 0..3 {
        assert_eq!(stage.make(call()).await.outcome.value(), Some("1"));
    }
    let other = Call::new("pay", json!({"n": 2})).idempotency_key("k");
    assert_eq!(code(&stage.make(other).await), "IDEMPOTENCY_CONFLICT");
    let filed = office.approvals.requests(&RequestFilter::default()).await.unwrap();
    assert_eq!(filed.len(), 1, "{filed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_arguments_people_changed_is_the_same_call_when_it_comes_again() {
    let office = Office::open().await;
    let pay = tool("pay")
        .class(SafetyClass::Financial)
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!({"type": "string"}))
        .output_schema(json!({"type": "string"}))
        .run(|input: Value, _| async move { Ok(input) })
        .unwrap();
    let stage = office.stage(SafetyClass::Read, Duration::from_secs(10)).with(pay);
    let call = || Call::new("pay", json!("pay 500")).idempotency_key("k");
    let (report, _) = tokio::join!(stage.make(call()), office.change(&office.ada, json!("pay 5")));
    assert_eq!(report.outcome.value(), Some("pay 5"));
    assert_eq!(stage.make(call()).await.outcome.value(), Some("pay 5"), "replayed, and nobody is asked");
}

#[tokio::test]
async fn an_agreement_is_to_one_role_one_directory_and_one_route() {
    let office = Office::open().await;
    let stage = |role: &str, route: &str| {
        let approver = StoreApprover::new(Arc::clone(&office.approvals) as Arc<_>);
        let document = json!({"id": role, "approvals": {"financial": route}});
        Stage::of(Registry::builder().personality(personality(document)).approver(Arc::new(approver)))
            .with(echo_of(SafetyClass::Financial))
    };
    let run = |directory: &str| ringfence::Run::builder("run", "session").in_directory(directory).start();
    let call = || Call::new("echo", json!("delete notes"));
    let asked = stage("clerk", "human");
    assert_eq!(code(&asked.registry.call(&run("/a"), call()).await), "APPROVAL_REQUIRED");
    office.decide(&office.ada, Word::Approve).await.unwrap();
    let others =
        [(stage("chief", "human"), "/a"), (stage("clerk", "human"), "/b"), (stage("clerk", "dual"), "/a")];
    for (other, directory) in others {
        assert_eq!(
            code(&other.registry.call(&run(directory), call()).await),
            "APPROVAL_REQUIRED",
            "{directory}"
        );
    }
    assert!(asked.registry.call(&run("/a"), call()).await.outcome.is_done(), "and none of them used it up");
}

#[tokio::test]
async fn people_are_not_asked_about_more_than_they_can_read() {
    let office = Office::open().await;
    let write = tool("write")
        .class(SafetyClass::Financial)
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(|input: Value, _| async move { Ok(input) })
        .unwrap();
    let stage = office.stage(SafetyClass::Read, Duration::ZERO).with(write);
    let report = stage.call("write", json!("x".repeat(300 << 10))).await;
    assert_eq!(code(&report), "LIMIT_EXCEEDED");
    assert!(office.approvals.requests(&RequestFilter::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_another_is_making() {
    let office = Office::open().await;
    let hangs = Arc::new(AtomicUsize::new(0));
    let hanging = Arc::clone(&hangs);
    let hang = tool("hang")
        .class(SafetyClass::Financial)
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(move |_: Value, _| {
            hanging.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<Result<Value, ringfence::ToolError>>()
        })
        .unwrap();
    let stage = office.stage(SafetyClass::Read, PATIENCE).with(hang);
    let call = || Call::new("hang", json!({})).idempotency_key("k");
    let other = async {
        office.decide(&office.ada, Word::Approve).await.unwrap();
        // The first call has taken the approval and its key before it hangs.
        wait_until("the first call hangs", || hangs.load(Ordering::SeqCst) == 1).await;
        let report = stage.registry.call(&ringfence::Run::new("other", "s"), call()).await;
        stage.run.cancel();
        report
    };
    let (_, report) = tokio::join!(stage.registry.call(&stage.run, call()), other);
    assert_eq!(code(&report), "IDEMPOTENCY_CONFLICT");
    let filed = office.approvals.requests(&RequestFilter::default()).await.unwrap();
    assert_eq!(filed.len(), 1, "{filed:?}");
}

#[tokio::test]
async fn single_tools_have_routes_and_the_stricter_one_holds() {
    #[rustfmt::skip]
    let cases = [
        (json!({"tools": {"echo": "human"}}),                    "APPROVAL_REQUIRED"),
        (json!({"tools": {"echo": "deny"}}),                     "FORBIDDEN"),
        (json!({"read": "human", "tools": {"echo": "auto"}}),    "APPROVAL_REQUIRED"),
        (json!({"tools": {"other": "deny"}}),                    ""),
    ];
    for (approvals, expected) in cases {
        let stage = Stage::of(Registry::builder().personality(personality(json!({"approvals": approvals}))))
            .with(echo_of(SafetyClass::Read));
        assert_eq!(code(&stage.call("echo", json!("x")).await), expected, "{approvals}");
    }
}
