//! Enforcement point 1: what is registered, what is listed, and what a new personality changes.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{Risk, Runtime, SafetyClass};
use ringfence::{
    Backends, Context, Declaration, Environment, OnGaps, RegistrationError, Registry, ScopedEnvironment,
    Tool, ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, backends, code, echo, personality};

/// A tool of another making, whose declaration is whatever a test needs.
struct Plain(Declaration);

impl Tool for Plain {
    fn declaration(&self) -> &Declaration {
        &self.0
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Value,
        _context: Context,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        ready(Ok(arguments.clone())).boxed()
    }
}

fn declaration(name: &str, capabilities: Value) -> Declaration {
    Declaration {
        name: name.parse().unwrap(),
        title: None,
        description: String::new(),
        input: json!(true),
        output: json!(true),
        capabilities: Some(serde_json::from_value(capabilities).unwrap()),
        class: None,
        risk: Risk::Unknown,
        idempotency: ringfence::policy::Idempotency::default(),
        constraints: ringfence::policy::Constraints::default(),
        limits: ringfence::policy::Limits::default(),
        assurance: None,
        runtime: Runtime::Native,
    }
}

fn names(registry: &Registry) -> Vec<String> {
    registry.list().iter().map(|tool| tool.declaration().name.to_string()).collect()
}

fn gaps_of(error: RegistrationError) -> Vec<String> {
    let RegistrationError::Gaps(gaps) = error else { panic!("{error}") };
    gaps.iter().map(|gap| gap.capability.to_string()).collect()
}

#[test]
fn a_name_is_taken_once() {
    let stage = Stage::bare().with(echo());
    let error = stage.registry.register(echo()).unwrap_err();
    assert_eq!(error.to_string(), "a tool named `echo` is already registered");
    assert_eq!(names(&stage.registry), ["echo"]);
}

#[test]
fn all_gaps_come_at_once_with_what_would_fix_them() {
    let registry = Registry::builder()
        .personality(personality(json!({
            "network": {"allow": ["*.github.com"]},
            "fs_reach": {"read": ["/srv/in"]},
            "secrets": ["API_KEY"],
            "process": ["git"],
            "environment": ["LANG"],
        })))
        .build();
    let mut greedy = declaration(
        "greedy",
        json!({
            "network": {"allowedHosts": ["api.github.com", "api.stripe.com", "github.com"]},
            "secrets": ["API_KEY", "STRIPE_KEY"],
            "fs_reach": {"read": ["/srv/in/a", "/etc"], "write": ["/srv/in"]},
            "process": {"allowedBinaries": ["git", "rm", "*"]},
            "environment": ["LANG", "HOME"],
        }),
    );
    greedy.class = Some(SafetyClass::Read);
    let error = registry.register(Plain(greedy.clone())).unwrap_err();
    let RegistrationError::Gaps(gaps) = error else { panic!("{error}") };
    let found: Vec<_> = gaps.iter().map(|gap| (&*gap.capability, &*gap.message)).collect();
    assert_eq!(
        found,
        [
            ("class", "CLASS_UNDERSTATED: class `read` is lower than the capabilities imply (`network`)"),
            ("network", "host `api.stripe.com` is not covered by the personality"),
            ("network", "host `github.com` is not covered by the personality"),
            ("fs_reach.read", "path `/etc` is not covered by the personality"),
            ("fs_reach.write", "path `/srv/in` is not covered by the personality"),
            ("secrets", "`STRIPE_KEY` is not covered by the personality"),
            ("process", "`rm` is not covered by the personality"),
            ("environment", "`HOME` is not covered by the personality"),
        ]
    );
    assert!(gaps.iter().all(|gap| gap.tool.as_str() == "greedy" && !gap.fix.is_empty()));
    assert!(registry.list().is_empty(), "nothing is half registered");

    greedy.input = json!({"$ref": "#"});
    greedy.output = json!({"type": "no such type"});
    let found = gaps_of(registry.register(Plain(greedy)).unwrap_err());
    assert_eq!(found[..2], ["input", "output"]);
    assert_eq!(found.len(), 10, "faulty schemas do not hide the rest: {found:?}");
}

#[test]
fn a_tool_that_does_not_say_what_it_touches_is_refused_even_where_gaps_are_narrowed() {
    for on_gaps in [OnGaps::Narrow, OnGaps::Refuse] {
        let registry = Registry::builder().on_gaps(on_gaps).build();
        let silent = Declaration { capabilities: None, ..declaration("silent", json!({})) };
        assert_eq!(gaps_of(registry.register(Plain(silent)).unwrap_err()), ["capabilities"]);
    }
}

#[test]
fn an_understated_class_is_no_gap_that_narrowing_could_close() {
    // The class decides who is asked, so a tool that talks to hosts as a `read` tool would pass by the approvals.
    let registry = Registry::builder()
        .personality(personality(json!({
            "network": {"allow": ["api.github.com"]}, "approvals": {"network": "human"},
        })))
        .on_gaps(OnGaps::Narrow)
        .build();
    let mut modest = declaration("modest", json!({"network": {"allowedHosts": ["api.github.com"]}}));
    modest.class = Some(SafetyClass::Read);
    assert_eq!(gaps_of(registry.register(Plain(modest)).unwrap_err()), ["class"]);
}

#[test]
fn what_the_kernel_cannot_express_is_no_gap_that_narrowing_could_close() {
    let registry = Registry::builder()
        .personality(personality(json!({"fs_reach": {"write": ["/srv"]}})))
        .on_gaps(OnGaps::Narrow)
        .build();
    let glob = declaration(
        "glob",
        json!({"fs_reach": {"write": ["/srv/*.log"]}, "process": {"allowedBinaries": ["git"]}}),
    );
    assert_eq!(gaps_of(registry.register(Plain(glob)).unwrap_err()), ["fs_reach.write"]);
}

#[tokio::test]
async fn a_new_personality_is_held_against_every_tool_and_every_later_one() {
    let wide = json!({"network": {"allow": ["*.github.com", "*.stripe.com"]}});
    let narrow = json!({"network": {"allow": ["*.github.com"]}});
    let talks = |name, host| Plain(declaration(name, json!({"network": {"allowedHosts": [host]}})));
    let stage = Stage::of(
        Registry::builder().personality(personality(wide.clone())).backends(backends(&Arc::default())),
    )
    .with(talks("octo", "api.github.com"))
    .with(talks("pay", "api.stripe.com"));
    assert_eq!(names(&stage.registry), ["octo", "pay"]);

    let gaps = stage.registry.set_personality(&personality(narrow));
    assert_eq!(gaps.iter().map(|gap| gap.tool.as_str()).collect::<Vec<_>>(), ["pay"]);
    assert_eq!(names(&stage.registry), ["octo"]);
    assert_eq!(stage.registry.gaps().keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["pay"]);
    assert!(stage.call("octo", json!({})).await.outcome.is_done());
    let refused = stage.call("pay", json!({})).await;
    assert_eq!(
        refused.outcome.error().as_deref(),
        Some(
            "TOOL_NOT_PERMITTED: tool `pay` asks for more than the personality permits: host `api.stripe.com` is \
             not covered by the personality"
        )
    );
    let late = stage.registry.register(talks("late", "api.stripe.com")).unwrap_err();
    assert_eq!(gaps_of(late), ["network"]);

    assert!(stage.registry.set_personality(&personality(wide)).is_empty());
    assert!(stage.call("pay", json!({})).await.outcome.is_done());
    assert!(stage.registry.gaps().is_empty());
}

#[tokio::test]
async fn calls_in_flight_keep_their_grant_and_later_ones_are_judged_anew() {
    let (enter, entered) = tokio::sync::oneshot::channel::<()>();
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let ends = Arc::new(std::sync::Mutex::new(Some((enter, left))));
    let stage = Stage::of(
        Registry::builder()
            .personality(personality(json!({"environment": ["LANG"]})))
            .backends(backends(&Arc::default())),
    )
    .with(
        tool("slow")
            .environment(["LANG"])
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(move |_: Value, context| {
                let ends = ends.lock().unwrap().take();
                async move {
                    let (enter, left) = ends.ok_or_else(|| ToolError::new("called twice"))?;
                    enter.send(()).unwrap();
                    left.await?;
                    Ok(json!(context.environment()?.get("LANG")?))
                }
            })
            .unwrap(),
    );
    let call = stage.registry.call(&stage.run, ringfence::Call::new("slow", json!({})));
    let change = async {
        entered.await.unwrap();
        stage.registry.set_personality(&personality(json!({"environment": []})));
        leave.send(()).unwrap();
    };
    let (report, ()) = tokio::join!(call, change);
    assert_eq!(report.outcome.value(), Some("C"));
    assert_eq!(code(&stage.call("slow", json!({})).await), "TOOL_NOT_PERMITTED");
}

#[tokio::test]
async fn the_toolset_filters_lists_and_calls() {
    let idle = |name| Plain(declaration(name, json!({})));
    let stage = Stage::of(Registry::builder().personality(personality(json!({"tools": ["b", "ghost"]}))))
        .with(idle("c"))
        .with(idle("b"))
        .with(idle("a"));
    assert_eq!(names(&stage.registry), ["b"]);
    let report = stage.call("a", json!({})).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("TOOL_NOT_PERMITTED: tool `a` is not in the personality's toolset")
    );
    stage.registry.set_personality(&personality(json!({})));
    assert_eq!(names(&stage.registry), ["a", "b", "c"]);
    stage.registry.set_personality(&personality(json!({"tools": []})));
    assert!(names(&stage.registry).is_empty());
    assert_eq!(code(&stage.call("b", json!({})).await), "TOOL_NOT_PERMITTED");
}

#[tokio::test]
async fn availability_sees_the_declared_environment_and_nothing_else() {
    let when = |name: &str, variable: &'static str| {
        tool(name)
            .environment(["LANG", "UNSET"])
            .available_when(move |environment: &ScopedEnvironment| environment.has(variable))
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|arguments: Value, _| async { Ok(arguments) })
            .unwrap()
    };
    let environment = Environment::new([("LANG".into(), "C".into()), ("SECRET".into(), "x".into())]);
    let stage = Stage::of(
        Registry::builder()
            .personality(personality(json!({"environment": ["LANG", "UNSET"]})))
            .backends(Backends::none().environment(environment)),
    )
    .with(when("declared", "LANG"))
    .with(when("unset", "UNSET"))
    .with(when("undeclared", "SECRET"))
    .with(
        tool("nervous")
            .available_when(|_: &ScopedEnvironment| panic!("no idea"))
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|arguments: Value, _| async { Ok(arguments) })
            .unwrap(),
    );
    assert_eq!(names(&stage.registry), ["declared"]);
    assert!(stage.call("declared", json!({})).await.outcome.is_done());
    for name in ["unset", "undeclared", "nervous"] {
        let report = stage.call(name, json!({})).await;
        let expected = format!("Tool {name} says that it cannot work here");
        assert_eq!(report.outcome.error(), Some(expected));
        assert_eq!(report.outcome.envelope_code(), Some("not_available"));
    }
}

#[test]
fn a_builder_says_everything_that_is_malformed() {
    let error = tool("a b")
        .network(["*.*"])
        .secrets(["*"])
        .read(["relative"])
        .binaries(["./x"])
        .environment(["A=B"])
        .only_after(["c d"])
        .input_schema(json!(true))
        .output_schema(json!(true))
        .run(|arguments: Value, _| async { Ok(arguments) })
        .err()
        .unwrap()
        .to_string();
    for part in ["`a b`", "`*.*`", "`*`", "`relative`", "`./x`", "`A=B`", "`c d`"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}
