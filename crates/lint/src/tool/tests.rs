//! Tools as they are written, and what is found of them.

use super::*;
use crate::source::tests::{Fixture, Written, fixture};

/// As much of ringfence as tools are written with.
pub(crate) const FENCE: &str = r#"
    pub mod policy { pub enum StorageScope { Personality, Session, ToolPrivate } }
    mod builder {
        pub struct ToolBuilder<I, O>(I, O);
        pub fn tool(name: &str) -> ToolBuilder<(), ()> { loop {} }
        pub fn process_tool(name: &str) -> ToolBuilder<(), ()> { loop {} }
        impl<I, O> ToolBuilder<I, O> {
            pub fn description(self, text: &str) -> Self { self }
            pub fn network<'a>(self, hosts: impl IntoIterator<Item = &'a str>) -> Self { self }
            pub fn input<T>(self) -> ToolBuilder<T, O> { loop {} }
            pub fn run<F>(self, function: F) -> Result<(), ()> { loop {} }
        }
    }
    mod context {
        pub struct Context;
        impl Context {
            pub fn fs(&self) -> Result<ScopedFs, ()> { Ok(ScopedFs) }
            pub fn fetch(&self) -> Result<ScopedFetch, ()> { Ok(ScopedFetch) }
        }
        pub struct ScopedFs;
        impl ScopedFs { pub fn read(&self, path: &str) -> Result<String, ()> { std::fs::read_to_string(path) } }
        pub struct ScopedFetch;
        impl ScopedFetch { pub async fn get(&self, url: &str) -> Result<String, ()> { loop {} } }
    }
    pub trait Tool { fn declaration(&self); fn call(&self, context: Context); fn reconcile(&self) {} }
    pub use builder::{process_tool, tool, ToolBuilder};
    pub use context::{Context, ScopedFs, ScopedFetch};
"#;

fn written<'a>(files: &'a [(&'a str, &'a str)]) -> Fixture {
    let packages: [Written<'_>; 2] =
        [("tool", &["ringfence"], files), ("ringfence", &[], &[("src/lib.rs", FENCE)])];
    let mut fixture = fixture(&packages);
    let text = files.iter().find(|(path, _)| *path == "Cargo.toml").map_or("", |(_, text)| text);
    if text.contains("metadata.ringfence") {
        fixture.project.packages[0].metadata = serde_json::json!({"ringfence": {}});
    }
    fixture
}

fn found(text: &str) -> Vec<FoundTool> {
    find(&written(&[("src/lib.rs", text)]).project).unwrap()
}

#[test]
fn reads_what_a_chain_declares() {
    #[rustfmt::skip]
    let cases = [
        (r#"tool("t").run(g)"#,                                                      "{}", false),
        (r#"tool("t").network(["api.test", "*.x.test"]).run(g)"#,                    r#"{"network":{"allowedHosts":["api.test","*.x.test"]}}"#, false),
        (r#"tool("t").secrets(["A_KEY"]).environment(["LANG"]).run(g)"#,             r#"{"secrets":["A_KEY"],"environment":["LANG"]}"#, false),
        (r#"tool("t").read(["/srv"]).write(["/srv/out"]).run(g)"#,                   r#"{"fs_reach":{"read":["/srv"],"write":["/srv/out"]}}"#, false),
        (r#"tool("t").read_from_personality().run(g)"#,                              r#"{"fs_reach":{"read":"from-personality"}}"#, false),
        (r#"tool("t").binaries(["git"]).run(g)"#,                                    r#"{"process":{"allowedBinaries":["git"]}}"#, false),
        (r#"tool("t").storage_for(policy::StorageScope::Session, 60).run(g)"#,       r#"{"storage":{"scope":"session","kind":"kv","ttlSecondsDefault":60}}"#, false),
        (r#"tool("t").description("d").input::<u8>().output::<u8>().run_blocking(g)"#, "{}", false),
        (r#"{ let b = tool("t"); let b = b.network(["a.test"]); b.run(g) }"#,        r#"{"network":{"allowedHosts":["a.test"]}}"#, false),
        (r#"{ let root = String::new(); tool("t").read([root.as_str()]).run(g) }"#,  "{}", true),
        (r#"tool("t").network(hosts()).run(g)"#,                                     "{}", true),
        (r#"tool("t").network(["a.test", HOST]).run(g)"#,                            "{}", true),
        (r#"tool("t").capabilities(all()).run(g)"#,                                  "{}", true),
        (r#"tool("t").something_new().run(g)"#,                                      "{}", true),
        (r#"tool(NAME).run(g)"#,                                                     "{}", true),
        (r#"base().run(g)"#,                                                         "{}", true),
        (r#"process_tool("t").read(["/srv"]).arguments("rg", g)"#,                   r#"{"fs_reach":{"read":["/srv"]}}"#, false),
        (r#"tool("t").force_at_step(2).assurance(policy::Assurance::Probed).run(g)"#, "{}", false),
        (r#"tool("t").run(make())"#,                                                 "{}", true),
    ];
    for (chain, wanted, incomplete) in cases {
        let text = format!(
            "use ringfence::{{process_tool, tool, policy}}; pub fn g() {{}} fn base() -> ringfence::ToolBuilder<(), ()> {{ loop {{}} }}\npub fn f() {{ {chain}; }}"
        );
        let tools = found(&text);
        assert_eq!(tools.len(), 1, "{chain}");
        let declared = tools[0].declared.as_ref().unwrap();
        assert_eq!(serde_json::to_string(declared).unwrap(), wanted, "{chain}");
        assert_eq!(tools[0].incomplete.is_some(), incomplete, "{chain}");
        if !incomplete {
            assert_eq!(
                (tools[0].name.as_str(), &tools[0].entry),
                ("t", &Entry::Function("tool::g".into())),
                "{chain}"
            );
        }
    }
}

#[test]
fn finds_chains_under_other_names_and_nothing_else() {
    #[rustfmt::skip]
    let cases = [
        (r#"use ringfence::tool as make; fn f() { make("t").run(|a, b| 1); }"#,          1),
        (r#"fn f() { ringfence::tool("t").run(|a, b| 1); }"#,                            1),
        (r#"mod m { pub use ringfence::*; } use m::tool; fn f() { tool("t").run(|a, b| 1); }"#, 1),
        (r#"fn tool(n: &str) -> Job { Job } struct Job; impl Job { fn run<F>(self, f: F) {} } fn f() { tool("t").run(|a, b| 1); }"#, 0),
        (r#"fn f() { ringfence::process_tool("t").arguments("rg", |a| Ok(a)); }"#,       1),
        (r#"fn f() { ringfence::process_tool("t").command(["rg", "{p}"]); }"#,           0),
        (r#"fn f() { std::thread::Builder::new().run(|| 1); }"#,                         0),
    ];
    for (text, wanted) in cases {
        assert_eq!(found(text).len(), wanted, "{text}");
    }
}

#[test]
fn names_the_closure_by_its_place() {
    let text = "fn f() {\n    let _ = ringfence::tool(\"t\")\n        .run(move |a: u8, context| async move {\n            context.fs()?.read(\"/srv/a\")\n        });\n}\n";
    let fixture = written(&[("src/lib.rs", text)]);
    let tools = find(&fixture.project).unwrap();
    let Entry::Closure(place) = &tools[0].entry else { panic!("{:?}", tools[0].entry) };
    assert_eq!((place.file.as_str(), place.line, place.column), ("src/lib.rs", 3, 14));
    // The analysis has a verdict at that very place, and the handle mediates.
    let analysis = crate::source::analyse(&fixture.project).unwrap();
    let closure = analysis.functions.iter().find(|one| one.place.as_ref() == Some(place)).unwrap();
    let uses: Vec<(crate::Effect, bool)> =
        closure.uses.iter().map(|one| (one.effect, one.mediated)).collect();
    assert_eq!(uses, [(crate::Effect::FsRead, true)]);
}

#[test]
fn finds_types_that_are_tools() {
    let tools = found(
        "mod m { pub struct Weather; impl ringfence::Tool for Weather { fn declaration(&self) {} fn call(&self, c: ringfence::Context) {} } } trait Tool { fn call(&self); } impl Tool for u8 { fn call(&self) {} }",
    );
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].name, "Weather");
    assert_eq!(tools[0].entry, Entry::Function("<tool::m::Weather as Tool>::call".into()));
    assert_eq!(tools[0].others, [Entry::Function("<tool::m::Weather as Tool>::declaration".into())]);
    assert!(tools[0].declared.is_none());
}

#[test]
fn reads_manifests_strictly() {
    let head = "[package]\nname = \"tool\"\n[[package.metadata.ringfence.tool]]\n";
    let lib = "pub mod m { pub fn go() {} } pub struct W; impl ringfence::Tool for W { fn declaration(&self) {} fn call(&self, c: ringfence::Context) {} }";
    #[rustfmt::skip]
    let cases = [
        ("name = \"a\"\nentry = \"m::go\"\ncapabilities = {}\n",                     Ok("a tool::m::go")),
        ("name = \"a\"\nentry = \"tool::m::go\"\ncapabilities = {}\n",               Ok("a tool::m::go")),
        ("name = \"a\"\nentry = \"W\"\ncapabilities = { secrets = [\"K\"] }\n",      Ok("a <tool::W as Tool>::call")),
        ("name = \"a\"\nentry = \"gone\"\ncapabilities = {}\n",                      Err("Cargo.toml:5:9: the entry `gone` is neither a function nor a tool's type of `tool`")),
        ("name = \"a\"\nentry = \"m::go\"\n",                                        Err("Cargo.toml:3:1: missing field `capabilities`")),
        ("name = \"a\"\nentry = \"m::go\"\ncapabilities = {}\nodd = 1\n",            Err("Cargo.toml:7:1: unknown field `odd`, expected one of `name`, `entry`, `capabilities`")),
        ("name = \"a\"\nentry = \"m::go\"\ncapabilities = { netwrok = {} }\n",       Err("Cargo.toml:6:18: unknown field `netwrok`")),
        ("name = \"a\"\nentry = \"m::go\"\ncapabilities = {}\n[[package.metadata.ringfence.tool]]\nname = \"a\"\nentry = \"W\"\ncapabilities = {}\n", Err("Cargo.toml:8:8: the tool `a` is declared twice")),
    ];
    for (text, wanted) in cases {
        let manifest = format!("{head}{text}");
        let fixture = written(&[("src/lib.rs", lib), ("Cargo.toml", &manifest)]);
        match (find(&fixture.project), wanted) {
            (Ok(tools), Ok(wanted)) => {
                let all: Vec<String> = tools
                    .iter()
                    .filter(|tool| tool.declared.is_some())
                    .map(|tool| match &tool.entry {
                        Entry::Function(path) => format!("{} {path}", tool.name),
                        Entry::Closure(_) => tool.name.clone(),
                    })
                    .collect();
                assert_eq!(all, [wanted], "{text}");
            }
            (Err(error), Err(wanted)) => assert!(error.to_string().starts_with(wanted), "{error}\n{text}"),
            (found, _) => panic!("{found:?}\n{text}"),
        }
    }
}

#[test]
fn refuses_literals_that_cannot_be() {
    let fixture = written(&[(
        "src/lib.rs",
        "fn f() { ringfence::tool(\"t\").network([\"not a host\"]).run(|a, b| 1); }",
    )]);
    let error = find(&fixture.project).unwrap_err().to_string();
    assert!(error.starts_with("src/lib.rs:1:55: the tool `t` declares what cannot be: "), "{error}");
}

#[test]
fn a_surface_whose_values_are_not_literal_counts_as_declared() {
    #[rustfmt::skip]
    let cases: &[(&str, &[&str])] = &[
        (r#"{ let root = String::new(); tool("t").read([root.as_str()]).run(g) }"#,   &["fs.read"]),
        (r#"{ let out = format!("x"); tool("t").write([&out]).read(["/srv"]).run(g) }"#, &["fs.write"]),
        (r#"tool("t").network(hosts()).run(g)"#,                                      &["net.connect", "net.dns"]),
        (r#"tool("t").network(["a.test", HOST]).binaries(PROGRAMS).run(g)"#,          &["net.connect", "net.dns", "exec"]),
        (r#"tool("t").read(["/srv"]).run(g)"#,                                        &[]),
        (r#"tool("t").something_new(x()).run(g)"#,                                    &[]),
    ];
    for (chain, effects) in cases {
        let tools = found(&format!("use ringfence::tool; pub fn g() {{}}\npub fn f() {{ {chain}; }}"));
        let unread: Vec<&str> = tools[0].unread.iter().map(|effect| effect.name()).collect();
        assert_eq!(unread, *effects, "{chain}");
    }
}
