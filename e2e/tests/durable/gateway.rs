//! Three gateways share one PostgreSQL: the same keys and the same approvals. One is killed under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringfence::{
    ApprovalStore as _, ApproverToken, PersonDecision, Proof, RequestFilter, RequestState, Role, Word,
};
use ringfence_store::{Database, PostgresStore};

use crate::durable::payer::{Kind, Office, Said};

/// Waiting ends by an answer here, however slow the machine is.
const FINANCIAL: &[&str] = &["class=financial", "wait=600000", "tasks=4", "resume=1"];

/// Agrees to everything that waits in this office, until it is told to stop.
async fn agree(
    store: Arc<PostgresStore>,
    session: &'static str,
    scope: String,
    token: ApproverToken,
    stop: Arc<AtomicBool>,
) -> usize {
    let mut agreed = 0;
    while !stop.load(Ordering::SeqCst) {
        for filed in open(&*store, &scope).await {
            assert_eq!(&*filed.request.session, session);
            let decision = PersonDecision {
                id: filed.id,
                by: Proof::Token(token.hash()),
                word: Word::Approve,
                changed: None,
                reason: "the invoice is ours".into(),
            };
            // Another may have been faster to end it.
            agreed += usize::from(store.decide(&decision).await.is_ok());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    agreed
}

async fn open(store: &dyn Database, scope: &str) -> Vec<ringfence::FiledRequest> {
    let filter = RequestFilter { state: Some(RequestState::Open), ..RequestFilter::default() };
    let mut open = store.requests(&filter).await.unwrap();
    open.retain(|filed| filed.request.run.starts_with(scope));
    open
}

/// Waits for something that comes soon, or not at all.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !is_so() {
        assert!(Instant::now() < end, "not seen in five minutes: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn three_gateways_serve_the_same_approvals_and_keys() {
    let office = Office::new(Kind::Postgres);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = runtime.block_on(PostgresStore::connect(&office.store)).unwrap();
    let store = Arc::new(store);
    let token = ApproverToken::generate().unwrap();
    let name = format!("ada-{}", office.scope.to_lowercase()).parse().unwrap();
    runtime.block_on(async { store.add_approver(&name, token.hash(), Role::Approver).await.unwrap() });

    let start = |first: u64| {
        let first = format!("first={first}");
        let until = format!("until={}", office.path("enough").display());
        let mut arguments = vec!["keys=20", first.as_str(), until.as_str()];
        arguments.extend(FINANCIAL);
        office.start(&arguments)
    };
    let (mut doomed, second, third) = (start(0), start(20), start(40));
    // Each gateway waits for people with all its tasks before anybody answers.
    until("the gateways ask", || runtime.block_on(open(&*store, &office.scope)).len() >= 12);
    doomed.kill().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let agreeing =
        runtime.spawn(agree(Arc::clone(&store), "session", office.scope.clone(), token, Arc::clone(&stop)));
    // Nobody had agreed when it died, so that these can only be paid by another.
    let of_the_dead =
        |key: &String| key.strip_prefix("key-").is_some_and(|key| key.parse::<u32>().unwrap() < 20);
    until("another goes on with what waited", || office.payments().keys().any(of_the_dead));
    std::fs::write(office.path("enough"), "").unwrap();
    let mut all: Vec<Said> = [doomed, second, third].map(Said::of).into();
    assert!(!all[0].ended && all[1].ended && all[2].ended);
    let resumed = all[1].resumed.len() + all[2].resumed.len();
    // The load balancer sends what the dead gateway did not answer to another one.
    let mut arguments = vec!["keys=60"];
    arguments.extend(["class=financial", "wait=600000", "tasks=8"]);
    all.push(office.run(&arguments));
    stop.store(true, Ordering::SeqCst);
    let agreed = runtime.block_on(agreeing).unwrap();
    let last = all.last().unwrap();
    assert!(last.ended && last.refused.is_empty(), "{:?}", last.refused);
    assert_eq!(last.done.len() + last.unknown.len(), 60);
    runtime.block_on(office.audit(&all, "three gateways"));
    assert!(resumed > 0, "what waited in the dead gateway was gone on with: {all:?}");
    println!(
        "three gateways: 60 keys, {} paid, {} in doubt, {agreed} approvals, {resumed} calls of the dead gateway gone on with",
        office.payments().len(),
        last.unknown.len()
    );
}
