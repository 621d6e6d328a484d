//! Isolation that somebody else brings: what it does not enforce is refused, and what it says is a claim.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence_policy::{Assurance, Code, Limits, Size};
use ringfence_sandbox::{
    Access, Adapter, Ending, Input, LimitName, Native, Part, Plan, Ran, Sandbox, SandboxError, Session, Spec,
    Stream, Streams, Tier, Usage,
};

/// Says that it enforces everything but `without`, and answers with what it was asked to read.
#[derive(Debug, Default)]
struct Service {
    without: Vec<Part>,
    ran: Arc<AtomicUsize>,
}

impl Adapter for Service {
    fn name(&self) -> &'static str {
        "service"
    }

    fn enforces(&self, plan: &Plan) -> BTreeSet<Part> {
        plan.parts().into_iter().filter(|part| !self.without.contains(part)).collect()
    }

    fn run(&self, _: &Plan, session: &mut Session<'_>) -> Result<Ran, SandboxError> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let Input::Bytes(bytes) = session.input() else { panic!("something was to be read") };
        assert!(matches!(session.input(), Input::Nothing));
        let ending = match session.write(Stream::Output, &bytes) {
            ControlFlow::Break(()) => Ending::Signalled(9),
            ControlFlow::Continue(()) => Ending::Exited(0),
        };
        Ok(Ran { ending, usage: Usage::default(), limits: BTreeMap::new(), exceeded: Vec::new() })
    }
}

fn spec() -> Spec {
    Spec::new("tool").in_image("tools@sha256:00")
}

fn input(text: &str) -> Streams<'static> {
    Streams::default().input(text.as_bytes().to_vec())
}

#[test]
fn what_it_runs_is_marked_as_a_claim() {
    let report = Sandbox::foreign(Service::default()).run(&spec(), input("hello")).unwrap();
    assert_eq!((report.ending, report.stdout.bytes.as_slice()), (Ending::Exited(0), b"hello".as_slice()));
    assert_eq!(
        (report.backend, report.tier, report.assurance),
        ("service", Tier::Strong, Assurance::Claimed)
    );
}

#[test]
fn a_part_that_it_does_not_enforce_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let all =
        spec().tree(folder.path(), Access { read: true, write: true, execute: false }).observe().terminal();
    let needed = Sandbox::foreign(Service::default()).plan(&all).unwrap().parts();
    assert_eq!(needed.len(), 16, "{needed:?}");
    for part in needed.into_iter().filter(|part| *part != Part::Limit(LimitName::Output)) {
        let ran = Arc::default();
        let service = Service { without: vec![part], ran: Arc::clone(&ran) };
        let error = Sandbox::foreign(service).run(&all, input("x")).unwrap_err();
        assert_eq!(error.to_string(), format!("the sandbox cannot enforce with `service`: {part}"));
        assert_eq!((error.code(), ran.load(Ordering::SeqCst)), (Code::NotAvailable, 0), "{part}");
    }
}

#[test]
fn no_more_is_kept_than_the_plan_allows() {
    let limits = Limits { output: Some(Size::new(4)), ..Limits::default() };
    let report = Sandbox::foreign(Service::default()).run(&spec().limits(limits), input("too much")).unwrap();
    assert_eq!((report.stdout.bytes.as_slice(), report.stdout.dropped), (b"too ".as_slice(), 4));
    assert_eq!((report.ending, report.exceeded), (Ending::Signalled(9), vec![LimitName::Output]));
}

#[test]
fn a_tool_that_asks_for_what_was_tried_refuses_a_claim() {
    let ran = Arc::default();
    let service = Service { ran: Arc::clone(&ran), ..Service::default() };
    let error = Sandbox::foreign(service).run(&spec().assurance(Assurance::Probed), input("x")).unwrap_err();
    assert_eq!(error.to_string(), "what `service` enforces is claimed, and the tool asks for what is probed");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    // A backend of our own that nobody has tried only claims, too.
    let own = Spec::new("/bin/true").assurance(Assurance::Probed);
    assert!(matches!(
        Sandbox::new(Native::new()).run(&own, Streams::default()),
        Err(SandboxError::Assurance { backend: "native", .. })
    ));
}

#[test]
fn a_sandbox_of_this_machine_runs_no_image() {
    let error = Sandbox::new(Native::new()).run(&spec(), Streams::default()).unwrap_err();
    assert!(error.to_string().contains("with `native`: `image`: the programs of an image"), "{error}");
}

#[test]
fn a_plan_for_an_image_holds_nothing_of_this_machine_but_granted_paths() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let plan = Sandbox::foreign(Service::default()).plan(&spec().tree(&real, Access::READ)).unwrap();
    assert!(plan.base.is_empty());
    let binds: Vec<_> = plan
        .root
        .iter()
        .filter(|entry| matches!(entry, ringfence_sandbox::Entry::Bind { .. }))
        .map(ringfence_sandbox::Entry::path)
        .collect();
    assert_eq!(binds, [real.as_path()]);
    assert_eq!(plan.program, std::path::Path::new("tool"));
}
