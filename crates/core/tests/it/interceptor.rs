//! Interceptors: the first that does not proceed decides, and nothing they say escapes judgement.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use ringfence::{Backends, HostFiles, Intercept, Interceptor, PendingCall, Registry, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, personality};

/// Answers every call the same way.
struct Says<F>(F);

impl<F: Fn(&PendingCall) -> Result<Intercept, String> + Send + Sync> Interceptor for Says<F> {
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
        // The answer is computed before there is a future, which is where a panic is easily missed.
        ready((self.0)(call)).boxed()
    }
}

type Answer = fn(&PendingCall) -> Result<Intercept, String>;

fn stage(answers: &[Answer], ran: &Arc<AtomicUsize>) -> Stage {
    let mut builder = Registry::builder()
        .personality(personality(json!({"fs_reach": {"read": ["/srv/data"]}, "limits": {"output": "40"}})))
        .backends(Backends::none().files(HostFiles::new()));
    for answer in answers {
        builder = builder.interceptor(Arc::new(Says(*answer)));
    }
    let ran = Arc::clone(ran);
    Stage::of(builder).with(
        tool("read")
            .read(["/srv/data"])
            .max_invocations(1)
            .input_schema(json!({"type": "string", "maxLength": 30}))
            .output_schema(json!({"type": "string"}))
            .run(move |text: Value, _| {
                ran.fetch_add(1, Ordering::SeqCst);
                async { Ok(text) }
            })
            .unwrap(),
    )
}

#[tokio::test]
async fn every_answer_has_its_outcome() {
    let cases: &[(&[Answer], &str, Result<&str, &str>)] = &[
        (&[|_| Ok(Intercept::Proceed)], "a", Ok("a")),
        (&[|_| Ok(Intercept::Replace(json!("b")))], "a", Ok("b")),
        (&[|_| Ok(Intercept::Replace(json!("/srv/data/x")))], "a", Ok("/srv/data/x")),
        (
            &[|_| Ok(Intercept::Replace(json!("/etc/passwd")))],
            "a",
            Err("PATH_NOT_REACHABLE: read not permitted for /etc/passwd"),
        ),
        (&[|_| Ok(Intercept::Replace(json!(7)))], "a", Err("INPUT_INVALID: value is not of type \"string\"")),
        (&[|_| Ok(Intercept::Substitute(json!("instead")))], "a", Ok("instead")),
        (
            &[|_| Ok(Intercept::Substitute(json!(7)))],
            "a",
            Err("OUTPUT_INVALID: value is not of type \"string\""),
        ),
        (&[|_| Ok(Intercept::Substitute(json!("\u{1b}[2J2")))], "a", Ok("2")),
        (&[|_| Ok(Intercept::Refuse("not today".into()))], "a", Err("INTERCEPTED: not today")),
        (&[|_| Ok(Intercept::Refuse("\u{1b}[2Jno".into()))], "a", Err("INTERCEPTED: no")),
        (
            &[|_| Err("its disk is full".into())],
            "a",
            Err("INTERCEPTED: an interceptor failed: its disk is full"),
        ),
        (&[|_| panic!("oh no")], "a", Err("INTERCEPTED: an interceptor failed: it panicked: oh no")),
        // Two in a row: a replacement is what the next one sees, a refusal is the last word.
        (
            &[
                |_| Ok(Intercept::Replace(json!("b"))),
                |call| Ok(Intercept::Replace(json!(format!("{}c", call.arguments.as_str().unwrap())))),
            ],
            "a",
            Ok("bc"),
        ),
        (
            &[|_| Ok(Intercept::Refuse("first".into())), |_| panic!("is never asked")],
            "a",
            Err("INTERCEPTED: first"),
        ),
        // The policy has spoken before any interceptor is asked.
        (
            &[|_| Ok(Intercept::Substitute(json!("instead")))],
            "/etc/passwd",
            Err("PATH_NOT_REACHABLE: read not permitted for /etc/passwd"),
        ),
    ];
    for (index, (answers, argument, expected)) in cases.iter().enumerate() {
        let ran = Arc::new(AtomicUsize::new(0));
        let report = stage(answers, &ran).call("read", json!(argument)).await;
        let said = report.outcome.value().map(str::to_owned).ok_or_else(|| report.outcome.error().unwrap());
        assert_eq!(said.as_deref().map_err(String::as_str), *expected, "case {index}");
        let substituted =
            said.is_ok_and(|said| said != *argument && (said == "instead" || said.contains('2')));
        assert_eq!(ran.load(Ordering::SeqCst), usize::from(expected.is_ok() && !substituted), "case {index}");
    }
}

#[tokio::test]
async fn a_call_an_interceptor_refused_costs_no_invocation() {
    let ran = Arc::new(AtomicUsize::new(0));
    let stage = stage(
        &[|call| {
            Ok(if *call.arguments == "no" { Intercept::Refuse("no".into()) } else { Intercept::Proceed })
        }],
        &ran,
    );
    for _ in 0..3 {
        assert_eq!(code(&stage.call("read", json!("no")).await), "INTERCEPTED");
    }
    assert!(stage.call("read", json!("yes")).await.outcome.is_done());
    assert_eq!(code(&stage.call("read", json!("yes")).await), "CONSTRAINT_VIOLATED");
}

#[tokio::test]
async fn a_substitute_keeps_to_the_output_limit() {
    let ran = Arc::default();
    let stage = stage(&[|_| Ok(Intercept::Substitute(json!("long ".repeat(50))))], &ran);
    let report = stage.call("read", json!("a")).await;
    let text = report.outcome.value().unwrap().to_owned();
    assert!(text.len() <= 40, "{} bytes: {text}", text.len());
    assert!(text.ends_with("[cut, 250 characters in all]"), "{text}");
}

#[tokio::test]
async fn a_cancelled_run_does_not_wait_for_an_interceptor() {
    struct Never;
    impl Interceptor for Never {
        fn before<'a>(&'a self, _call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
            pending().boxed()
        }
    }
    let stage = Stage::of(Registry::builder().interceptor(Arc::new(Never))).with(crate::it::stage::echo());
    let (report, ()) = tokio::join!(
        tokio::time::timeout(crate::it::wait::PATIENCE, stage.call("echo", json!("x"))),
        async { stage.run.cancel() },
    );
    assert_eq!(code(&report.unwrap()), "CANCELLED");
}
