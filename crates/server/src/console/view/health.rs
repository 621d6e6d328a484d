//! How this process and this machine are: what is enforced, what runs, what waits, how long calls take.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Front;
use super::super::live::{ChildSeen, ClassCounted, STEPS};
use super::super::port::Enforcement;
use super::time;

/// How this process and this machine are.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Health {
    /// The version of this program.
    pub(crate) version: String,
    /// What this machine can enforce.
    pub(crate) enforcement: Vec<Enforcement>,
    /// Why that is not known.
    pub(crate) enforcement_error: Option<String>,
    /// The MCP servers that run.
    pub(crate) children: Vec<ChildView>,
    /// What waits and what goes on.
    pub(crate) queues: Queues,
    /// How long calls took since this process began, by class; classes without calls are left out.
    pub(crate) latencies: Vec<Latency>,
    /// How many calls were refused since this process began, by code; codes without refusals are left out.
    pub(crate) refusals: Vec<RefusalCount>,
    /// The database: the file, or host and name.
    pub(crate) database: String,
    /// How many entries the log has.
    pub(crate) entries: u64,
}

/// An MCP server that runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct ChildView {
    /// Its name in the policy.
    pub(crate) server: String,
    /// The run it was started for.
    pub(crate) run: String,
    /// When it was started, in milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// How much memory it uses, where that is known.
    pub(crate) memory_bytes: Option<u64>,
}

impl From<ChildSeen> for ChildView {
    fn from(child: ChildSeen) -> Self {
        Self {
            server: child.server,
            run: child.run,
            since_ms: u64::try_from(child.since.as_millis()).unwrap_or(u64::MAX),
            memory_bytes: child.memory,
        }
    }
}

impl ChildView {
    /// Writes how much memory it uses.
    pub(crate) fn memory(&self) -> String {
        self.memory_bytes
            .map_or_else(|| "not known".to_owned(), |bytes| format!("{:.1} MiB", mebibytes(bytes)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What waits and what goes on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Queues {
    /// Requests that wait for people.
    pub(crate) approvals_open: u64,
    /// Calls of clients that are under way.
    pub(crate) calls_under_way: u64,
    /// Pages that follow what happens.
    pub(crate) followers: u64,
    /// Sessions of the console.
    pub(crate) sessions: u64,
}

impl Queues {
    /// Reads them.
    pub(crate) async fn read(front: &Front) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            approvals_open: count(front.waiting().await),
            calls_under_way: front.live.under_way(),
            followers: count(front.feed.followers()),
            sessions: count(front.access.sessions.count()),
        }
    }
}

/// How many calls were refused with a code.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct RefusalCount {
    /// The code.
    pub(crate) code: String,
    /// What it means.
    pub(crate) meaning: String,
    /// How many.
    pub(crate) count: u64,
}

/// How long the calls of a class took.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Latency {
    /// The class; `unknown` for calls of tools that nobody knows.
    pub(crate) class: String,
    /// How many were done.
    pub(crate) done: u64,
    /// How many failed.
    pub(crate) failed: u64,
    /// How many were refused.
    pub(crate) refused: u64,
    /// Half of them took at most this many microseconds; absent where that is longer than is counted.
    pub(crate) p50_us: Option<u64>,
    /// 95 of 100 took at most this many microseconds.
    pub(crate) p95_us: Option<u64>,
    /// 99 of 100 took at most this many microseconds.
    pub(crate) p99_us: Option<u64>,
    /// How many waited for people; how long is in none of the other figures.
    pub(crate) waited: u64,
    /// Half of those waited at most this many microseconds; absent where nobody waited, or longer than is counted.
    pub(crate) waited_p50_us: Option<u64>,
    /// 95 of 100 of those waited at most this many microseconds.
    pub(crate) waited_p95_us: Option<u64>,
    /// How many took how long.
    pub(crate) steps: Vec<LatencyStep>,
}

/// How many calls took longer than the step before, and no longer than this one.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct LatencyStep {
    /// The end of the step in microseconds; absent for the last one, which has none.
    pub(crate) up_to_us: Option<u64>,
    /// How many.
    pub(crate) count: u64,
}

impl From<ClassCounted> for Latency {
    fn from(counted: ClassCounted) -> Self {
        let [done, failed, refused] = counted.outcomes;
        let within = |percent| counted.took.within(percent);
        let ends = STEPS.iter().copied().map(Some).chain([None]);
        let steps = ends.zip(&counted.took.steps);
        Self {
            class: counted.class.to_owned(),
            done,
            failed,
            refused,
            p50_us: within(50),
            p95_us: within(95),
            p99_us: within(99),
            waited: counted.waited.count(),
            waited_p50_us: counted.waited.within(50),
            waited_p95_us: counted.waited.within(95),
            steps: steps.map(|(up_to_us, count)| LatencyStep { up_to_us, count: *count }).collect(),
        }
    }
}

/// One bar of a chart, in its units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Bar {
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) height: u64,
    pub(crate) label: String,
    pub(crate) count: u64,
}

/// How high the highest bar is, and how far bars are apart.
const HIGH: u64 = 80;
const APART: u64 = 34;

impl Latency {
    /// Returns the bars of its chart.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let most = self.steps.iter().map(|step| step.count).max().unwrap_or(0).max(1);
        let bar = |(place, step): (u64, &LatencyStep)| {
            // What is there at all can be seen.
            let height = (step.count * HIGH).div_ceil(most);
            let label = step.up_to_us.map_or_else(|| "more".to_owned(), short);
            Bar { x: 4 + place * APART, y: 12 + HIGH - height, height, label, count: step.count }
        };
        (0..).zip(&self.steps).map(bar).collect()
    }

    /// Writes a share, such as `≤ 5.0 ms`.
    pub(crate) fn within(share: &Option<u64>) -> String {
        share.map_or_else(|| "> 60 s".to_owned(), |share| format!("≤ {}", time::micros(share)))
    }

    /// Says in words what the chart shows.
    pub(crate) fn words(&self) -> String {
        let mut words = format!("Calls of class {} by time taken:", self.class);
        for bar in self.bars().iter().filter(|bar| bar.count > 0) {
            let _written = write!(words, " {} up to {},", bar.count, bar.label);
        }
        words.trim_end_matches(',').to_owned()
    }
}

/// Writes the end of a step as short as it goes: `500µs`, `25ms`, `2.5s`.
fn short(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros}µs"),
        1_000..1_000_000 if micros.is_multiple_of(1000) => format!("{}ms", micros / 1000),
        1_000..1_000_000 => format!("{}.{}ms", micros / 1000, micros % 1000 / 100),
        _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
        _ => format!("{}.{}s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

impl Health {
    /// Reads how everything is.
    pub(crate) async fn read(front: &Front) -> Result<Self, Fault> {
        let (enforcement, enforcement_error) = match front.ask(|desk| desk.enforcement()).await {
            Ok(enforcement) => (enforcement, None),
            Err(fault) => (Vec::new(), Some(fault.problem.error)),
        };
        let classes =
            front.live.classes().into_iter().filter(|class| class.outcomes.iter().any(|count| *count > 0));
        let refusals = front.live.refusals().into_iter().filter(|(_, count)| *count > 0);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            enforcement,
            enforcement_error,
            children: front.live.children().into_iter().map(ChildView::from).collect(),
            queues: Queues::read(front).await,
            latencies: classes.map(Latency::from).collect(),
            refusals: refusals
                .map(|(code, count)| RefusalCount {
                    code: code.as_str().to_owned(),
                    meaning: code.meaning().to_owned(),
                    count,
                })
                .collect(),
            database: front.store.log.describe(),
            entries: front.store.log.size().await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_counts() {
        let step = |up_to_us, count| LatencyStep { up_to_us, count };
        let latency = Latency {
            class: "read".to_owned(),
            done: 9,
            failed: 0,
            refused: 0,
            p50_us: Some(1000),
            p95_us: None,
            p99_us: None,
            waited: 0,
            waited_p50_us: None,
            waited_p95_us: None,
            steps: vec![
                step(Some(500), 0),
                step(Some(1_000), 800),
                step(Some(2_500_000), 1),
                step(None, 400),
            ],
        };
        let bars = latency.bars();
        assert_eq!(bars.iter().map(|bar| bar.height).collect::<Vec<_>>(), [0, 80, 1, 40]);
        assert_eq!(
            bars.iter().map(|bar| bar.label.as_str()).collect::<Vec<_>>(),
            ["500µs", "1ms", "2.5s", "more"]
        );
        assert_eq!(Latency::within(&latency.p50_us), "≤ 1.0 ms");
        assert_eq!(Latency::within(&None), "> 60 s");
        assert_eq!(
            latency.words(),
            "Calls of class read by time taken: 800 up to 1ms, 1 up to 2.5s, 400 up to more"
        );
    }

    #[test]
    fn steps_are_written_shortly() {
        for (micros, expected) in [
            (500, "500µs"),
            (2_500, "2.5ms"),
            (25_000, "25ms"),
            (1_000_000, "1s"),
            (2_500_000, "2.5s"),
            (60_000_000, "60s"),
        ] {
            assert_eq!(short(micros), expected);
        }
    }
}
