//! What runs a tool is in the manifest, and another one is seen.

use std::collections::BTreeMap;

use ringfence_policy::manifest::diff::{Drift, diff};
use ringfence_policy::manifest::{DefaultLimits, Manifest, Sources};
use ringfence_policy::{ComponentFile, ToolFiles, Toolbox};
use serde_json::Value;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// One component, with this digest.
struct Plugin(&'static str);

impl ToolFiles for Plugin {
    fn schema(&mut self, file: &str) -> Result<Value, String> {
        Err(file.to_owned())
    }

    fn component(&mut self, _: &str) -> Result<ComponentFile, String> {
        let declaration = r#"{"name": "t", "input": true, "output": true, "capabilities": {}}"#;
        Ok(ComponentFile { declaration: declaration.to_owned(), digest: self.0.to_owned() })
    }
}

fn manifest(tool: &str, digest: &'static str) -> Manifest {
    let toolbox = Toolbox::from_toml(tool).unwrap();
    let (tools, gaps) = toolbox.written_declarations(Plugin(digest));
    assert!(gaps.is_empty(), "{gaps:?}");
    let made = Manifest::new(&Sources {
        personality: &toolbox.personality.clone().unwrap_or_default(),
        tools: &tools,
        servers: &[],
        binaries: &BTreeMap::new(),
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: toolbox.outside(),
    })
    .unwrap();
    let read = Manifest::from_json(&made.to_json().unwrap()).unwrap();
    assert_eq!(read, made, "what is written is what is read");
    made
}

fn found(old: &Manifest, new: &Manifest) -> Vec<(Drift, String)> {
    diff(old, new).into_iter().map(|change| (change.direction, change.code.to_string())).collect()
}

#[test]
fn another_runtime_is_seen_and_a_weaker_one_is_wider() {
    let wasm = "[[tool]]\nname = \"t\"\nruntime = \"wasm\"\ncomponent = \"t.wasm\"\n";
    let schemas = "input = true\noutput = true\n";
    let image = format!("image = \"tools@sha256:{HEX}\"\n");
    let process =
        format!("capabilities = {{ process = {{ allowedBinaries = [\"tools@sha256:{HEX}\", \"wc\"] }} }}\n");
    let container = |engine: &str| {
        format!(
            "[container]\nengine = \"{engine}\"\n[[tool]]\nname = \"t\"\nruntime = \"container\"\n{image}command = [\"wc\"]\n{schemas}{process}"
        )
    };
    let command = |assurance: &str| {
        format!("[[tool]]\nname = \"t\"\ncommand = [\"wc\"]\n{schemas}{process}{assurance}")
    };
    let changed = |code: &str| (Drift::Changed, code.to_owned());
    let widened = |code: &str| (Drift::Widened, code.to_owned());
    let narrowed = |code: &str| (Drift::Narrowed, code.to_owned());

    let (one, other) = (manifest(wasm, "sha256:1"), manifest(wasm, "sha256:2"));
    assert_eq!(found(&one, &one), []);
    assert_eq!(found(&one, &other), [changed("tool.command.changed")]);

    let (here, there) = (manifest(&container("unix:///a"), ""), manifest(&container("unix:///b"), ""));
    assert_eq!(found(&here, &there), [changed("tool.command.changed")]);

    let (tried, any) = (manifest(&command("assurance = \"probed\""), ""), manifest(&command(""), ""));
    assert_eq!(found(&tried, &any), [widened("tool.sandbox.weakened")]);
    assert_eq!(found(&any, &tried), [narrowed("tool.sandbox.strengthened")]);

    // What an engine says of itself is weaker than what was tried here.
    assert!(found(&any, &here).contains(&widened("tool.sandbox.weakened")), "{:?}", found(&any, &here));
    assert!(found(&any, &here).contains(&changed("tool.command.changed")));
}
