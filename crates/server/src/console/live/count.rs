//! What this process counts: calls by class, outcome and time, refusals by code, and the servers that run.
//!
//! A call counts as refused where it was refused before its tool ran, and where its tool failed after the fence refused it something.
//! Waiting for people is no latency: it is counted on its own.
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
    waited: Histogram,
}

/// What was counted of the calls of one class.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClassCounted {
    /// One of [`CLASSES`].
    pub(crate) class: &'static str,
    /// In the order of [`OUTCOMES`].
    pub(crate) outcomes: [u64; OUTCOMES.len()],
    /// How long they took, without waiting for people.
    pub(crate) took: Counted,
    /// How long those waited that people were asked about.
    pub(crate) waited: Counted,
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
            waited: own.waited.counted(),
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
        let waited = record.waited();
        own.took.add(record.duration().saturating_sub(waited.unwrap_or_default()));
        if let Some(waited) = waited {
            own.waited.add(waited);
        }
        if let Some(counter) = own.outcomes.get(outcome) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for Live {
    fn event(&self, event: Event<'_>) {
        let (record, outcome) = match event {
            Event::Called(record) => (record, 0),
            Event::Failed(record) if record.refusal_code().is_none() => (record, 1),
            Event::Failed(record) | Event::Refused(record) => (record, 2),
            _ => return,
        };
        self.count(record, outcome);
        let place = record.refusal_code().and_then(|code| Code::ALL.iter().position(|own| *own == code));
        if let Some(counter) = place.and_then(|place| self.refusals.get(place)) {
            counter.fetch_add(1, Ordering::Relaxed);
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

    #[tokio::test]
    async fn what_the_fence_refuses_a_running_tool_counts_as_refused() {
        let live = Arc::new(Live::default());
        let registry = Registry::builder().observer(Arc::clone(&live) as _).build();
        let fenced = tool("fenced").description("Asks for a secret").input::<Said>().output::<String>();
        let refused = || ringfence::Refusal::new(Code::HostNotAllowed, "evil.example is not granted");
        registry
            .register(
                fenced
                    .run(move |said: Said, _| async move {
                        match said.text.as_str() {
                            "refused" => Err(refused().into()),
                            _ => Err(ringfence::ToolError::new("no")),
                        }
                    })
                    .unwrap(),
            )
            .unwrap();
        let run = Run::new("run", "session");
        for text in ["refused", "own", "refused"] {
            registry.call(&run, Call::new("fenced", json!({ "text": text }))).await;
        }
        let classes = live.classes();
        let read = classes.iter().find(|own| own.class == "read").unwrap();
        assert_eq!(read.outcomes, [0, 1, 2]);
        let refused: Vec<_> = live.refusals().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(refused, [(Code::HostNotAllowed, 2)]);
    }

    #[tokio::test]
    async fn waiting_for_people_is_no_latency() {
        struct Slow;
        impl ringfence::Approver for Slow {
            fn decide<'a>(
                &'a self,
                request: &'a ringfence::ApprovalRequest,
            ) -> futures_util::future::BoxFuture<'a, ringfence::Verdict> {
                Box::pin(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
                    let digest = request.digest.clone();
                    ringfence::Verdict::Approved(vec![ringfence::Approval { by: "ada".to_owned(), digest }])
                })
            }
        }
        let live = Arc::new(Live::default());
        let observer = Arc::clone(&live) as _;
        let registry = Registry::builder().observer(observer).approver(Arc::new(Slow)).build();
        let pay = tool("pay").description("Pays").class(SafetyClass::Financial).input::<Said>();
        let pay = pay.output::<String>().run(|said: Said, _| async move { Ok(said.text) }).unwrap();
        registry.register(pay).unwrap();
        let call = Call::new("pay", json!({ "text": "x" }));
        let report = registry.call(&Run::new("run", "session"), call).await;
        assert!(report.outcome.is_done(), "{report:?}");
        let classes = live.classes();
        let own = classes.iter().find(|own| own.class == "financial").unwrap();
        assert!(own.took.within(99).is_some_and(|most| most < 600_000), "{own:?}");
        assert!(own.waited.sum_us >= 600_000 && own.waited.count() == 1, "{own:?}");
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
