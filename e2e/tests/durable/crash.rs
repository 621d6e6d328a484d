//! The program is killed at every point of a call's way, with many seeds, and started again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringfence_e2e::Tier;

use crate::durable::payer::{Kind, Office, Said};

/// The points that a call passes.
const POINTS: &[&str] = &[
    "admit",
    "claim",
    "claimed",
    "before the effect",
    "after the effect",
    "ran",
    "settled",
    "keep",
    "kept",
    "store.commit",
    "store.committed",
];

/// How many new keys each round pays.
const KEYS: u64 = 4;

/// Nobody takes the last run for dead, however busy the machine is: on PostgreSQL the others are taken for it within a second.
const LAST: &str = "lease=120000";

/// How many seeds it takes until each point was met with each number of tasks.
const SCHEDULES: u64 = 4 * POINTS.len() as u64;

/// How many seeds are tried: all of them at night, each distinct schedule (or `change`, where that is less) on a change.
fn seeds(change: u64, all: u64) -> u64 {
    if let Ok(seeds) = std::env::var("RINGFENCE_TEST_SEEDS") {
        return seeds.parse().expect("RINGFENCE_TEST_SEEDS is a number");
    }
    Tier::current().pick(4, change, all)
}

/// Tries seeds, some at once, and returns how many of their runs were really killed.
fn try_seeds(kind: Kind, seeds: u64, at_once: usize, extra: &'static [&'static str]) -> u64 {
    let (next, killed) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds || !failed.lock().unwrap().is_empty() {
                        return;
                    }
                    let tried = std::panic::catch_unwind(|| try_seed(kind, seed, extra));
                    match tried {
                        Ok(times) => drop(killed.fetch_add(times, Ordering::SeqCst)),
                        Err(_) => failed.lock().unwrap().push(seed),
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner().unwrap(), Vec::<u64>::new(), "seeds that failed");
    killed.into_inner()
}

/// Kills the program two or three times, lets it end once, and looks at the books.
fn try_seed(kind: Kind, seed: u64, extra: &[&str]) -> u64 {
    let office = Office::new(kind);
    let (tasks, order) = (format!("tasks={}", 1 + seed % 4), format!("seed={seed}"));
    let rounds = 2 + seed % 2;
    // Each round has new invoices beside the old ones, so that there is something to be killed in.
    let run = |round: u64, kill: &str| {
        let keys = format!("keys={}", KEYS * (round + 1).min(rounds));
        let mut arguments = vec![keys.as_str(), &tasks, &order, "wait=5000"];
        arguments.extend(extra);
        arguments.push(if kill.is_empty() { LAST } else { kill });
        office.run(&arguments)
    };
    let mut all: Vec<Said> = Vec::new();
    for round in 0..rounds {
        let mixed =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(u32::try_from(round).unwrap() * 16 + 7);
        let point = POINTS[usize::try_from((seed + round * 5) % POINTS.len() as u64).unwrap()];
        all.push(run(round, &format!("kill={point}:{}", 1 + mixed % KEYS)));
    }
    let killed = all.iter().filter(|said| !said.ended).count();
    let last = run(rounds, "");
    assert!(last.ended, "the last run was not killed");
    assert!(last.refused.is_empty(), "seed {seed}: {:?}", last.refused);
    assert_eq!(
        u64::try_from(last.done.len() + last.unknown.len()).unwrap(),
        KEYS * rounds,
        "seed {seed}: every key is done or in doubt"
    );
    all.push(last);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(office.audit(&all, &format!("{kind:?} seed {seed}")));
    u64::try_from(killed).unwrap()
}

#[test]
fn a_file_survives_every_kill() {
    let seeds = seeds(SCHEDULES, 330);
    let killed = try_seeds(Kind::Sqlite, seeds, 2, &[]);
    println!("SQLite: {seeds} seeds, {killed} runs killed, no key paid twice");
    assert!(killed >= seeds, "the kills did not happen: {killed}");
}

#[test]
fn a_file_survives_every_kill_while_the_clock_jumps() {
    let seeds = seeds(POINTS.len() as u64, 60);
    let killed = try_seeds(Kind::Sqlite, seeds, 2, &["jump=1"]);
    println!("SQLite with a jumping clock: {seeds} seeds, {killed} runs killed, no key paid twice");
    assert!(killed >= seeds, "the kills did not happen: {killed}");
}

#[test]
fn a_server_survives_every_kill_of_its_client() {
    let seeds = seeds(SCHEDULES, 220);
    let killed = try_seeds(Kind::Postgres, seeds, 8, &[]);
    println!("PostgreSQL: {seeds} seeds, {killed} runs killed, no key paid twice");
    assert!(killed >= seeds, "the kills did not happen: {killed}");
}

#[test]
fn a_kill_at_any_moment_is_survived() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        for seed in 0..seeds(8, 40) {
            let office = Office::new(kind);
            let mut all = Vec::new();
            for round in 0..2 {
                let mut child = office.start(&["keys=40", "tasks=8", "wait=5000"]);
                std::thread::sleep(Duration::from_millis(20 + (seed * 37 + round * 53) % 150));
                child.kill().unwrap();
                all.push(Said::of(child));
            }
            all.push(office.run(&["keys=40", "tasks=8", "wait=5000", LAST]));
            assert!(all.last().unwrap().refused.is_empty(), "{:?}", all.last());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(office.audit(&all, &format!("{kind:?} moment {seed}")));
        }
    }
}

/// The server's clock is asked through one function of the store's schema, which is made to jump here.
#[test]
fn a_server_whose_clock_jumps_pays_nothing_twice() {
    let url = crate::durable::postgres::other_url("durable_jump");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Makes the tables.
    drop(runtime.block_on(ringfence_store::PostgresStore::connect(&url)).unwrap());
    crate::durable::postgres::psql(
        &url,
        "CREATE OR REPLACE FUNCTION ringfence.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS
         $$SELECT clock_timestamp() + (random() - 0.5) * interval '2 hours'$$",
    );
    for seed in 0..seeds(POINTS.len() as u64, 40) {
        let office = Office::with_store(url.clone(), &["lease=1000"]);
        let point = POINTS[usize::try_from(seed).unwrap() % POINTS.len()];
        let kill = format!("kill={point}:{}", 1 + seed % 7);
        let mut all = vec![office.run(&["keys=6", "tasks=3", "wait=5000", &kill])];
        all.push(office.run(&["keys=6", "tasks=3", "wait=20000", LAST]));
        assert!(all[1].ended && all[1].refused.is_empty(), "seed {seed}: {:?}", all[1]);
        runtime.block_on(office.audit(&all, &format!("jumping server, seed {seed}")));
    }
}
