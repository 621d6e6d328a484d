//! A wire that is cut at the worst moment: when the commit is on its way, or its answer is.

use ringfence::audit::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ringfence::{
    ApprovalStore as _, Claim, Fence, IdempotencyStore as _, KeyClaim, KeyName, PersonDecision, Proof, Role,
    Settled, Settlement, Standing, Store as _, Word,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::it::sample::{ORIGIN, append, key, log};

/// What happens to a commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    /// It arrives, and its answer does not.
    AnswerLost,
    /// It does not arrive.
    Lost,
    /// It arrives later, when its sender has long given up the connection.
    Late,
    /// Nothing.
    Passes,
    /// It arrives, and there is silence.
    Silence,
}

/// Stands between a store and its server, and gives each commit the next fate.
struct Wire {
    port: u16,
    commits: Arc<AtomicUsize>,
}

impl Wire {
    #[expect(clippy::disallowed_methods, reason = "a test stands in the way of its own connections")]
    async fn new(server: &str, fates: &'static [Fate]) -> Self {
        let address = server.split(['@', '/']).nth(3).unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let commits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&commits);
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(&address).await.unwrap();
                tokio::spawn(carry(near, far, Arc::clone(&counter), fates));
            }
        });
        Self { port, commits }
    }

    fn url(&self, bench: &Bench) -> String {
        let url = bench.plain_url();
        let (front, rest) = url.rsplit_once(':').unwrap();
        format!("{front}:{}/{}", self.port, rest.split_once('/').unwrap().1)
    }
}

/// Carries bytes both ways until a commit meets its fate.
async fn carry(near: TcpStream, far: TcpStream, commits: Arc<AtomicUsize>, fates: &'static [Fate]) {
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    let silent = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silent);
    let answers = tokio::spawn(async move {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_far.read(&mut buffer).await {
            let bytes = buffer.get(..length).unwrap();
            if !is_silent.load(Ordering::SeqCst) && to_near.write_all(bytes).await.is_err() {
                break;
            }
        }
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_near.read(&mut buffer).await {
        let bytes = buffer.get(..length).unwrap();
        let is_commit = bytes.windows(7).any(|window| window == b"COMMIT\0");
        let number = if is_commit { commits.fetch_add(1, Ordering::SeqCst) } else { usize::MAX };
        match fates.get(number).copied().unwrap_or(Fate::Passes) {
            Fate::AnswerLost => {
                answers.abort();
                to_far.write_all(bytes).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
                return;
            }
            Fate::Late => {
                answers.abort();
                drop(from_near);
                tokio::time::sleep(Duration::from_millis(400)).await;
                to_far.write_all(bytes).await.unwrap();
                tokio::time::sleep(Duration::from_millis(200)).await;
                return;
            }
            Fate::Lost => break,
            Fate::Passes => to_far.write_all(bytes).await.unwrap(),
            Fate::Silence => {
                silent.store(true, Ordering::SeqCst);
                to_far.write_all(bytes).await.unwrap();
                tokio::time::sleep(Duration::from_hours(1)).await;
                return;
            }
        }
    }
    answers.abort();
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_asked_for() {
    use Fate::{AnswerLost, Late, Lost, Passes};
    // The first two commits are of the tables and of the first look at the tree.
    #[rustfmt::skip]
    const FATES: &[Fate] = &[
        Passes, Passes, AnswerLost, Lost, AnswerLost, Passes, Lost, Lost, AnswerLost, Late, Late, AnswerLost, Passes, Late,
    ];
    let bench = Bench::new().await;
    let wire = Wire::new(&bench.plain_url(), FATES).await;
    let store = PostgresStore::connect(&wire.url(&bench)).await.unwrap();
    for call in 0..12 {
        append(&store, "run", call..call + 1).await;
        store.set("space", &call.to_string(), "value", None).await.unwrap();
    }
    assert!(wire.commits.load(Ordering::SeqCst) > FATES.len());
    assert_eq!(store.size().await.unwrap(), 12);
    assert_eq!(store.list("space", "").await.unwrap().len(), 12);
    store.sign(&key(), ORIGIN).await.unwrap();
    assert!(store.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
    assert_eq!(store.check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_refusal_is_remembered_with_its_commit() {
    use Fate::{AnswerLost, Passes};
    const FATES: &[Fate] = &[Passes, Passes, AnswerLost];
    let bench = Bench::new().await;
    let wire = Wire::new(&bench.plain_url(), FATES).await;
    let store = PostgresStore::connect(&wire.url(&bench)).await.unwrap();
    let full = "INSERT INTO space VALUES (sha256('full'), 'full', 0, 1 << 26)";
    bench.sql(full).await;
    assert_eq!(store.set("full", "key", "", None).await, Err(ringfence::StoreError::Full));
    assert_eq!(wire.commits.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn keys_are_claimed_and_settled_once() {
    use Fate::{AnswerLost, Late, Lost, Passes};
    const FATES: &[Fate] = &[Passes, Passes, AnswerLost, AnswerLost, Lost, Late, AnswerLost, AnswerLost];
    let bench = Bench::new().await;
    let wire = Wire::new(&bench.plain_url(), FATES).await;
    let store = PostgresStore::connect(&wire.url(&bench)).await.unwrap();
    let claim = |key: &str, owner: &str| KeyClaim {
        name: KeyName { scope: "role/pay".into(), key: key.into() },
        digest: "digest".into(),
        arguments: "{}".into(),
        run: "run".into(),
        owner: owner.into(),
    };
    let done = Settlement::Committed { output: "1".into(), keep: Duration::from_secs(60) };
    let (one, two) = (claim("one", "a"), claim("two", "a"));
    assert_eq!(store.claim(&one).await, Ok(Claim::Granted(Fence(1))));
    assert_eq!(store.settle(&one.name, Fence(1), done.clone()).await, Ok(Settled::Kept));
    let Ok(Claim::Granted(fence)) = store.claim(&two).await else { panic!("the key is free") };
    assert_eq!(store.settle(&two.name, fence, done).await, Ok(Settled::Kept));
    assert_eq!(store.claim(&claim("two", "b")).await, Ok(Claim::Replay("1".into())));
    assert_eq!(store.claim(&claim("one", "b")).await, Ok(Claim::Replay("1".into())));
    assert!(wire.commits.load(Ordering::SeqCst) > FATES.len());
}

#[tokio::test]
async fn people_decide_and_calls_take_once() {
    use Fate::{AnswerLost, Late, Lost, Passes};
    // Each of adding, filing, deciding and taking is cut.
    const FATES: &[Fate] = &[Passes, Passes, AnswerLost, Lost, AnswerLost, Late, AnswerLost];
    let bench = Bench::new().await;
    let wire = Wire::new(&bench.plain_url(), FATES).await;
    let store = PostgresStore::connect(&wire.url(&bench)).await.unwrap();
    let token = ringfence::ApproverToken::generate().unwrap().hash();
    let name: ringfence::ApproverName = "ada".parse().unwrap();
    store.add_approver(&name, token, Role::Approver).await.unwrap();
    let request = super::lease::request(1, None, false);
    let id = store.file(&request, Duration::from_hours(1)).await.unwrap();
    let decision = PersonDecision {
        id: id.clone(),
        by: Proof::Token(token),
        word: Word::Approve,
        changed: None,
        reason: "fine".into(),
    };
    let decided = store.decide(&decision).await.unwrap();
    assert_eq!(decided.state, ringfence::RequestState::Approved);
    let Ok(Standing::Approved(people)) = store.take(&id).await else { panic!("it was approved") };
    assert_eq!(people.len(), 1);
    assert_eq!(store.take(&id).await, Ok(Standing::Taken));
    assert_eq!(wire.commits.load(Ordering::SeqCst), FATES.len());
    // Adding and deciding are in the log, once each.
    assert_eq!(store.size().await.unwrap(), 2);
    store.sign(&key(), ORIGIN).await.unwrap();
    assert!(store.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
}

#[tokio::test]
async fn silence_ends_in_an_answer() {
    use Fate::{Passes, Silence};
    const FATES: &[Fate] = &[Passes, Passes, Silence];
    let bench = Bench::new().await;
    let wire = Wire::new(&bench.plain_url(), FATES).await;
    let options = PostgresOptions { statement: Duration::from_millis(600), ..PostgresOptions::default() };
    let store = PostgresStore::connect_with(&wire.url(&bench), options).await.unwrap();
    let started = std::time::Instant::now();
    // The silence itself would last for an hour.
    tokio::time::timeout(PATIENCE, append(&store, "run", 0..1)).await.unwrap();
    assert!(started.elapsed() > Duration::from_secs(4), "{:?}", started.elapsed());
    assert_eq!(store.size().await.unwrap(), 1);
}
