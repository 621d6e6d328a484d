//! Ending a command: when its time is up, when nobody waits for it any more, when it has used its processor time.
//!
//! Runs beside whoever takes the output, who may be kept waiting by somebody else; the deadline does not wait.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hyper::Method;
use ringfence_sandbox::Plan;
use serde::Deserialize;
use tokio::sync::{mpsc, watch};

use crate::client::{Client, Question};
use crate::error::ContainerError;
use crate::guard::{Guard, Killer};
use crate::ready::hang_up;

/// Why a command is ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// Nobody waits for it any more, or wants more of its output.
    Cancelled,
    /// It has used its processor time.
    OutOfCpu,
    /// Its time is up.
    TimedOut,
}

/// What was seen of a command while it ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) cpu: Duration,
    /// The latest moment at which it had certainly used no more than that.
    pub(crate) since: Instant,
    pub(crate) memory: u64,
}

impl Spent {
    /// Nothing yet.
    pub(crate) fn nothing() -> Self {
        Self { cpu: Duration::ZERO, since: Instant::now(), memory: 0 }
    }

    /// The most processor time that it can have used by now.
    pub(crate) fn most_cpu(&self, processors: u32) -> Duration {
        self.cpu + self.since.elapsed() * processors
    }

    /// Adds an answer to a question that was asked at `asked`. A container that has just ended answers with zeros: that says nothing.
    fn take(&mut self, stats: &Stats, asked: Instant) {
        let cpu = Duration::from_nanos(stats.cpu_stats.cpu_usage.total_usage);
        if !cpu.is_zero() && cpu >= self.cpu {
            // An answer may be late; what it tells was so when it was asked for, or later.
            (self.cpu, self.since) = (cpu, asked);
        }
        self.memory = self.memory.max(stats.memory_stats.usage).max(stats.memory_stats.max_usage);
    }
}

/// The reasons to end a command that come from outside.
#[derive(Debug)]
pub(crate) struct Reasons {
    leash: Option<mpsc::Receiver<()>>,
    deadline: Option<Instant>,
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Reasons {
    /// Begins to watch.
    pub(crate) fn new(leash: Option<OwnedFd>, deadline: Option<Instant>) -> Result<Self, ContainerError> {
        let here = |error| ContainerError::Here { place: "watching whoever waits for the command", error };
        Ok(Self { leash: leash.map(hang_up).transpose().map_err(here)?, deadline })
    }

    /// Waits for one of them. Can be given up and asked again.
    pub(crate) async fn wait(&mut self) -> Why {
        let leash = async {
            match &mut self.leash {
                Some(leash) => leash.recv().await,
                None => std::future::pending().await,
            }
        };
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = leash => Why::Cancelled,
            () = deadline => Why::TimedOut,
        }
    }
}

#[derive(Default, Deserialize)]
struct Stats {
    #[serde(default)]
    cpu_stats: Cpu,
    #[serde(default)]
    memory_stats: Memory,
}

#[derive(Default, Deserialize)]
struct Cpu {
    #[serde(default)]
    cpu_usage: CpuUsage,
}

#[derive(Default, Deserialize)]
struct CpuUsage {
    #[serde(default)]
    total_usage: u64,
}

#[derive(Default, Deserialize)]
struct Memory {
    #[serde(default)]
    usage: u64,
    #[serde(default)]
    max_usage: u64,
}

/// Watches a running container until it is ended from outside, says why, and kills it.
pub(crate) async fn watch(
    (client, killer): (Client, Killer),
    mut reasons: Reasons,
    usage: Use,
    told: watch::Sender<Option<Why>>,
    spent: watch::Sender<Spent>,
) {
    let why = tokio::select! {
        why = reasons.wait() => why,
        why = usage.wait(&client, &spent) => why,
    };
    let _nobody_left = told.send(Some(why));
    killer.kill().await;
}

/// Looks at what a container uses.
#[derive(Debug)]
pub(crate) struct Use {
    limit: Option<Duration>,
    processors: u32,
    path: String,
}

impl Use {
    pub(crate) fn new(plan: &Plan, processors: u32, guard: &Guard) -> Self {
        let path = guard.question("", Method::GET, "/stats?stream=false&one-shot=true").path;
        Self { limit: plan.limits.cpu.map(ringfence_policy::Span::duration), processors, path }
    }

    /// Waits until the limit is passed.
    async fn wait(&self, client: &Client, told: &watch::Sender<Spent>) -> Why {
        let mut spent = *told.borrow();
        loop {
            tokio::time::sleep(self.pause(spent)).await;
            let asked = Instant::now();
            let question = Question {
                place: "asking what the container uses",
                method: Method::GET,
                path: self.path.clone(),
                body: None,
                within: Duration::from_secs(5),
            };
            // One that has just ended uses nothing; each process has its own limit besides.
            let Ok(stats) = client.ask::<Stats>(question).await else { continue };
            spent.take(&stats, asked);
            let _nobody_left = told.send(spent);
            if self.limit.is_some_and(|limit| spent.cpu >= limit) {
                return Why::OutOfCpu;
            }
        }
    }

    /// Processor time passes only as fast as there are processors.
    fn pause(&self, spent: Spent) -> Duration {
        let left =
            self.limit.map_or(LONGEST_PAUSE, |limit| limit.saturating_sub(spent.cpu) / self.processors);
        left.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(cpu: u64, memory: u64) -> Stats {
        Stats {
            cpu_stats: Cpu { cpu_usage: CpuUsage { total_usage: cpu } },
            memory_stats: Memory { usage: memory, max_usage: 0 },
        }
    }

    #[test]
    fn an_answer_holds_from_when_it_was_asked_for_and_zeros_of_an_ended_container_say_nothing() {
        let mut spent = Spent::nothing();
        let begun = spent.since;
        spent.take(&stats(0, 0), begun + Duration::from_secs(1));
        assert_eq!((spent.cpu, spent.since), (Duration::ZERO, begun));
        let asked = begun + Duration::from_secs(2);
        spent.take(&stats(700, 30), asked);
        assert_eq!((spent.cpu, spent.since, spent.memory), (Duration::from_nanos(700), asked, 30));
        spent.take(&stats(0, 0), asked + Duration::from_secs(1));
        assert_eq!((spent.cpu, spent.since, spent.memory), (Duration::from_nanos(700), asked, 30));
    }
}
