//! Tools that run a program, declared in Rust: the same launch as a `command` of a policy file, and the same refusals.

use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{
    Assurance, Constraints, Declaration, Idempotency, Limits, Risk, Runtime, StorageScope,
};
use ringfence::sandbox::{Native, Sandbox};
use ringfence::{
    Backends, Environment, HostFiles, Launch, Launcher, ProcessOutput, Registry, SandboxLauncher, Tool,
    ToolError, declared_tool, process_tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::it::stage::{Stage, Vault, code, personality};

#[derive(Deserialize, JsonSchema)]
struct Search {
    pattern: String,
}

/// Keeps what was to be started, and answers with a text.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<Launch>>>, &'static str);

impl Witness {
    fn last(&self) -> Launch {
        self.0.lock().unwrap().pop().unwrap()
    }
}

impl Launcher for Witness {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        self.0.lock().unwrap().push(launch);
        ready(Ok(ProcessOutput { stdout: self.1.to_owned(), ..ProcessOutput::default() })).boxed()
    }
}

fn stage(witness: &Witness) -> Stage {
    let backends = Backends::none()
        .files(HostFiles::new())
        .launcher(Arc::new(witness.clone()))
        .secrets(Arc::new(Vault([("API_KEY", "hunter2")].into())))
        .environment(Environment::new([("LANG", "C")].map(|(name, value)| (name.into(), value.into()))));
    let ceiling = json!({"fs_reach": {"read": ["/data"]}});
    Stage::of(Registry::builder().personality(personality(ceiling)).backends(backends))
}

fn from_file() -> Arc<dyn Tool> {
    let declaration = Declaration {
        name: "grep".parse().unwrap(),
        title: None,
        description: "Search the data".into(),
        input: schemars::schema_for!(Search).to_value(),
        output: schemars::schema_for!(String).to_value(),
        capabilities: Some(
            serde_json::from_value(json!({
                "fs_reach": {"read": ["/data"]},
                "process": {"allowedBinaries": ["rg"]},
                "secrets": ["API_KEY"],
                "environment": ["LANG"],
            }))
            .unwrap(),
        ),
        class: None,
        risk: Risk::Unknown,
        idempotency: Idempotency::default(),
        constraints: Constraints::default(),
        limits: Limits::default(),
        assurance: Some(Assurance::Probed),
        runtime: Runtime::Command(["rg", "--", "{pattern}", "/data"].map(str::to_owned).to_vec()),
    };
    declared_tool(declaration).unwrap()
}

fn builder() -> ringfence::ToolBuilder<Search, String> {
    process_tool("grep")
        .description("Search the data")
        .read(["/data"])
        .secrets(["API_KEY"])
        .environment(["LANG"])
        .assurance(Assurance::Probed)
        .input::<Search>()
}

#[tokio::test]
async fn the_same_program_is_started_as_for_a_policy_file() {
    let by_template: Arc<dyn Tool> = Arc::new(builder().command(["rg", "--", "{pattern}", "/data"]).unwrap());
    let by_function: Arc<dyn Tool> = Arc::new(
        builder().arguments("rg", |search| Ok(vec!["--".into(), search.pattern, "/data".into()])).unwrap(),
    );
    assert_eq!(by_template.declaration(), from_file().declaration());
    assert_eq!(by_function.declaration().runtime, Runtime::Native, "its function is code of this process");
    let mut launches = Vec::new();
    for tool in [from_file(), by_template, by_function] {
        let witness = Witness::default();
        let stage = stage(&witness);
        stage.registry.register_shared(&tool).unwrap();
        let report = stage.call("grep", json!({"pattern": "-x"})).await;
        assert!(report.outcome.is_done(), "{report:?}");
        let launch = witness.last();
        assert_eq!((launch.binary.as_str(), launch.assurance), ("rg", Assurance::Probed));
        launches.push((launch.arguments, launch.environment, format!("{:?}", launch.grant)));
    }
    assert_eq!(launches[0].0, ["--", "-x", "/data"]);
    assert_eq!(launches[0].1.get("API_KEY").map(String::as_str), Some("hunter2"));
    assert!(launches.iter().all(|launch| *launch == launches[0]), "{launches:?}");
}

#[tokio::test]
async fn a_value_is_no_flag_and_chooses_no_program() {
    let witness = Witness::default();
    let stage = stage(&witness).with(builder().command(["rg", "{pattern}", "/data"]).unwrap());
    assert_eq!(code(&stage.call("grep", json!({"pattern": "--pre=sh"})).await), "INPUT_INVALID");
    assert!(witness.0.lock().unwrap().is_empty());
    assert!(builder().command(["{pattern}"]).err().unwrap().to_string().contains("must be written out"));
}

#[test]
fn what_a_program_cannot_be_given_is_refused_when_the_tool_is_made() {
    let words = |search: Search| Ok(vec![search.pattern]);
    let error = builder().storage(StorageScope::Session).arguments("rg", words).err().unwrap();
    assert!(error.to_string().contains("a command has no way to use storage"), "{error}");
    let error = builder().secrets(["prod/*"]).arguments("rg", words).err().unwrap();
    assert!(error.to_string().contains("is not one secret"), "{error}");
    let error = builder().binaries(["git"]).arguments("rg", words).err().unwrap();
    assert!(error.to_string().contains("starts `rg`, which is not in its allowedBinaries"), "{error}");
    let faults = process_tool("no name").input::<Search>().arguments("rg", words).err().unwrap();
    assert!(!faults.to_string().is_empty());
}

#[tokio::test]
async fn an_output_type_is_read_as_json_and_checked() {
    for (written, expected) in [("[1, 2]", ""), ("{}", "OUTPUT_INVALID")] {
        let witness = Witness(Arc::default(), written);
        let tool = builder().output::<Vec<u32>>().command(["rg", "--count", "--", "{pattern}"]).unwrap();
        let stage = stage(&witness).with(tool);
        assert_eq!(code(&stage.call("grep", json!({"pattern": "a"})).await), expected);
    }
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    let ceiling = personality(json!({"fs_reach": {"read": ["/data"]}}));
    let stage = Stage::of(
        Registry::builder().personality(ceiling).backends(Backends::none().files(HostFiles::new())),
    )
    .with(process_tool("grep").read(["/data"]).input::<Search>().command(["rg", "--", "{pattern}"]).unwrap());
    let report = stage.call("grep", json!({"pattern": "a"})).await;
    assert_eq!(code(&report), "NOT_AVAILABLE");
}

#[tokio::test]
async fn the_kernel_holds_it_to_its_grant() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (inside, outside) = (root.join("in"), root.join("out"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("a"), "granted").unwrap();
    std::fs::write(&outside, "secret").unwrap();
    let launcher = SandboxLauncher::new(Sandbox::new(Native::new()));
    let backends = Backends::none().files(HostFiles::new()).launcher(Arc::new(launcher));
    let ceiling = personality(json!({"fs_reach": {"read": [&inside]}}));
    let stage = Stage::of(Registry::builder().personality(ceiling).backends(backends)).with(
        process_tool("show")
            .read([inside.to_str().unwrap()])
            .input_schema(json!({"type": "string"}))
            // The argument gate sees the path of the call, and not what the function makes of it.
            .arguments("cat", |name: Value| Ok(vec!["--".into(), name.as_str().unwrap().replace('+', "/")]))
            .unwrap(),
    );
    let asked = |path: &std::path::Path| json!(path.to_str().unwrap().replace('/', "+"));
    let report = stage.call("show", asked(&inside.join("a"))).await;
    assert_eq!(report.outcome.value(), Some("granted"), "{report:?}");
    let report = stage.call("show", asked(&outside)).await;
    assert_eq!(code(&report), "EXECUTION_FAILED");
    assert!(!format!("{report:?}").contains("secret"), "{report:?}");
}
