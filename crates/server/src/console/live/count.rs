//! What this process counts: calls by class, outcome and time, refusals by code, and the servers that run.
//!
//! INVARIANT: a call is counted without a lock, and under nothing that whoever calls can choose: classes and codes are few.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringfence::policy::SafetyClass;
use ringfence::{Code, Event, Observer, Record};

use super::child::{Child, ChildSeen, Children};
use super::histogram::{Counted, Histogram};

/// How a call can end, as it is written.
pub(crate) const OUTCOMES: [&str; 3] = ["done", "failed", "refused"];
/// The classes as they are written, and `unknown` for a call of a tool that nobody knows.
pub(crate) const CLASSES: [&str; SafetyClass::ALL.len() + 1] =
    ["read", "write", "network", "financial", "privileged", "unknown"];

/// What goes on in this process. It is an observer of every registry.
#[derive(Debug, Default)]
pub struct Live {
    /// By class; see [`CLASSES`].
    classes: [OfClass; CLASSES.len()],
    /// By place in [`Code::ALL`].
    refusals: [AtomicU64; Code::ALL.len()],
    under_way: Arc<AtomicU64>,
    children: Arc<Children>,
}

/// What is counted of the calls of one class.
#[derive(Debug, Default)]
struct OfClass {
    outcomes: [AtomicU64; OUTCOMES.len()],
    took: Histogram,
}

/// What was counted of the calls of one class.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClassCounted {
    /// One of [`CLASSES`].
    pub(crate) class: &'static str,
    /// In the order of [`OUTCOMES`].
    pub(crate) outcomes: [u64; OUTCOMES.len()],
    /// How long they took.
    pub(crate) took: Counted,
}

/// A call that is under way; it counts until this is dropped.
#[must_use = "dropping it says that the call has ended"]
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<AtomicU64>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Live {
    /// Lists an MCP server that runs, until what is returned is dropped. `memory` is how much it uses in bytes; 0 is not known.
    pub fn child(&self, server: &str, run: &str, memory: Arc<AtomicU64>) -> Child {
        self.children.add(server, run, memory)
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&self) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(&self.under_way))
    }

    /// Returns how many calls of clients are under way.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Returns the servers that run, the longest running first.
    pub(crate) fn children(&self) -> Vec<ChildSeen> {
        self.children.seen()
    }

    /// Returns what was counted, by class.
    pub(crate) fn classes(&self) -> Vec<ClassCounted> {
        let counted = |(class, own): (&&'static str, &OfClass)| ClassCounted {
            class,
            outcomes: own.outcomes.each_ref().map(|outcome| outcome.load(Ordering::Relaxed)),
            took: own.took.counted(),
        };
        CLASSES.iter().zip(&self.classes).map(counted).collect()
    }

    /// Returns how many calls were refused, by code.
    pub(crate) fn refusals(&self) -> Vec<(Code, u64)> {
        Code::ALL.into_iter().zip(self.refusals.iter().map(|count| count.load(Ordering::Relaxed))).collect()
    }

    fn count(&self, record: &Record, outcome: usize) {
        let place = record.class().and_then(|class| SafetyClass::ALL.iter().position(|own| *own == class));
        let Some(own) = self.classes.get(place.unwrap_or(SafetyClass::ALL.len())) else { return };
        own.took.add(record.duration());
        if let Some(counter) = own.outcomes.get(outcome) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for Live {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Called(record) => self.count(record, 0),
            Event::Failed(record) => self.count(record, 1),
            Event::Refused(record) => {
                self.count(record, 2);
                let place =
                    record.outcome().code().and_then(|code| Code::ALL.iter().position(|own| *own == code));
                if let Some(counter) = place.and_then(|place| self.refusals.get(place)) {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ringfence::{Call, Registry, Run, tool};
    use serde_json::json;

    use super::*;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Said {
        text: String,
    }

    #[test]
    fn the_classes_are_those_of_the_policy() {
        let known: Vec<&str> =
            SafetyClass::ALL.iter().map(|class| class.as_str()).chain(["unknown"]).collect();
        assert_eq!(known, CLASSES);
    }

    #[tokio::test]
    async fn calls_are_counted_by_class_outcome_and_code() {
        let live = Arc::new(Live::default());
        let registry = Registry::builder().observer(Arc::clone(&live) as _).build();
        let echo = tool("echo").description("Says it again").input::<Said>().output::<String>();
        registry.register(echo.run(|said: Said, _| async move { Ok(said.text) }).unwrap()).unwrap();
        let run = Run::new("run", "session");
        // A name that looks like the class of another, inside of what the record holds before it.
        let odd = "x\",\"class\":\"privileged\",\"y\":\"";
        for (name, arguments) in [
            ("echo", json!({ "text": odd })),
            ("echo", json!({ "text": 1 })),
            (odd, json!({})),
            ("none", json!({})),
        ] {
            registry.call(&run, Call::new(name, arguments)).await;
        }
        let classes = live.classes();
        let of = |class: &str| classes.iter().find(|own| own.class == class).unwrap();
        assert_eq!(of("read").outcomes, [1, 0, 1]);
        assert_eq!(of("read").took.count(), 2);
        assert_eq!(of("unknown").outcomes, [0, 0, 2]);
        assert_eq!(of("privileged").outcomes, [0, 0, 0]);
        let refused: Vec<_> = live.refusals().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(refused, [(Code::InputInvalid, 1), (Code::ToolUnknown, 2)]);
    }

    #[test]
    fn calls_under_way_are_those_that_have_not_ended() {
        let live = Live::default();
        let (one, other) = (live.begin(), live.begin());
        assert_eq!(live.under_way(), 2);
        drop(one);
        assert_eq!(live.under_way(), 1);
        drop(other);
        assert_eq!(live.under_way(), 0);
    }
}
