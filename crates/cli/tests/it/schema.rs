//! The JSON Schema of the policy file: it takes what `check` takes, and refuses what has the wrong shape.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Bench;

/// The schema that the command prints.
fn schema() -> jsonschema::Validator {
    let printed = Bench::new().run(&["schema"], b"").stdout;
    jsonschema::validator_for(&serde_json::from_slice(&printed).unwrap()).unwrap()
}

fn json(toml: &str) -> Result<Value, toml::de::Error> {
    toml::from_str::<toml::Table>(toml).map(|table| serde_json::to_value(table).unwrap())
}

fn faults(schema: &jsonschema::Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Every file below a folder of the project whose name ends like this.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn look(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target" && name != "node_modules") {
                    look(&path, extension, found);
                }
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder), extension, &mut found);
    found
}

/// The TOML blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_example_and_every_page_fits() {
    let schema = schema();
    let mut examples = 0;
    for file in files("examples", "toml").into_iter().filter(|file| file.ends_with("ringfence.toml")) {
        let value = json(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(faults(&schema, &value), [""; 0], "{}", file.display());
        examples += 1;
    }
    assert!(examples >= 10, "{examples}");

    let tables =
        ["personality", "tool", "server", "gateway", "agent", "console", "container", "notify", "run"];
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let mut toolboxes = 0;
    for page in files("docs", "md").into_iter().chain([readme]) {
        for block in blocks(&std::fs::read_to_string(&page).unwrap()) {
            // A digest is cut short for the reader.
            let whole = block.replace("sha256:…", &format!("sha256:{}", "0".repeat(64)));
            let Ok(value) = json(&whole) else { continue };
            let own = value.as_object().unwrap();
            if own.is_empty() || !own.keys().all(|key| tables.contains(&key.as_str())) {
                continue;
            }
            // Of a part of a file, `[server.tool.NAME]` alone, there is no server to be in.
            if own.get("server").is_some_and(Value::is_object) {
                continue;
            }
            assert_eq!(faults(&schema, &value), [""; 0], "{}:\n{block}", page.display());
            toolboxes += 1;
        }
    }
    assert!(toolboxes >= 15, "{toolboxes}");
}

#[test]
fn what_init_writes_fits() {
    let schema = schema();
    let bench = Bench::new().file(
        "mcp.json",
        r#"{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b", "K_TOKEN": "x"}}}}"#,
    );
    for arguments in [
        &["--mcp", "mcp.json"][..],
        &["--command", "--write", "out", "--host", "*.x.example", "--", "cat", "{a}"],
    ] {
        let printed = bench.run(&[&["init", "--print"], arguments].concat(), b"").stdout;
        let value = json(&String::from_utf8(printed).unwrap()).unwrap();
        assert_eq!(faults(&schema, &value), [""; 0], "{arguments:?}");
    }
}

#[test]
fn what_check_refuses_by_its_shape_the_schema_refuses() {
    let schema = schema();
    let tool = "[[tool]]\nname = \"t\"\ninput = true\noutput = true\ncommand = [\"cat\"]\n\
                capabilities = { process = { allowedBinaries = [\"cat\"] } }\n";
    let sound = |text: &str| (text.to_owned(), true);
    let wrong = |text: &str| (text.to_owned(), false);
    let digest = "0".repeat(64);
    let cases = [
        sound(tool),
        sound("[personality]\nid = \"x\"\nlimits = { memory = 1000000, wall = \"5s\" }\n"),
        sound(
            "[personality]\nnetwork = { allow = [\"*\", \"*:443\", \"[::1]:9000\", \"10.0.0.1\"], private = [\"10.0.0.0/8\", \"*.corp\"] }\n",
        ),
        sound(
            "[personality]\nsecrets = [\"a/*\"]\nprocess = [\"*\", \"/usr/bin/git\"]\nfs_reach = { read = [\"~\", \"~/x\", \"${home}\"] }\n",
        ),
        sound(&format!("[[agent]]\nname = \"a\"\ntoken = \"sha256:{digest}\"\n")),
        sound("[[server]]\nname = \"a-b_c\"\n[server.tool.\"x.y\"]\nenabled = false\n"),
        wrong("[persnality]\n"),
        wrong("[personality]\nidd = \"x\"\n"),
        wrong("[personality]\nnetwork = { allow = \"a.example\" }\n"),
        wrong("[personality]\nnetwork = { allow = [\"*.*\"] }\n"),
        wrong("[personality]\nfs_reach = { read = [\"src\"] }\n"),
        wrong("[personality]\nlimits = { wall = \"soon\" }\n"),
        wrong("[personality]\nlimits = { memory = \"1T\" }\n"),
        wrong("[personality]\nlimits = { processes = \"many\" }\n"),
        wrong("[personality]\nlimits = { processes = -1 }\n"),
        wrong("[personality]\napprovals = { financial = \"maybe\" }\n"),
        wrong("[personality]\nsecrets = [\"*\"]\n"),
        wrong("[personality]\n[[personality.example]]\ntool = \"t\"\n"),
        wrong("[personality]\n[[personality.example]]\nallow = { read = \"/a\", write = \"/b\" }\n"),
        wrong("[personality]\nnetwork = {}\nsafety = { network = {} }\n"),
        wrong(&tool.replace("name = \"t\"\n", "")),
        wrong(&tool.replace("\"t\"", "\"a b\"")),
        wrong(&tool.replace("input = true\n", "")),
        wrong(&tool.replace("command = [\"cat\"]\n", "")),
        wrong(&tool.replace("command = [\"cat\"]", "command = []")),
        wrong(&tool.replace("command = [\"cat\"]", "command = \"cat\"")),
        wrong("[[tool]]\nname = \"t\"\ninput = true\noutput = true\ncommand = [\"cat\"]\n"),
        wrong("[[tool]]\nname = \"t\"\nbuiltin = \"rm\"\ncapabilities = {}\n"),
        wrong("[[tool]]\nname = \"t\"\nruntime = \"wasm\"\n"),
        wrong(
            "[[tool]]\nname = \"t\"\nruntime = \"container\"\nimage = \"tools:latest\"\ncommand = [\"wc\"]\ninput = true\noutput = true\ncapabilities = {}\n",
        ),
        wrong(&format!("{tool}builtin = \"read_file\"\n")),
        wrong(&format!("{tool}component = \"x.wasm\"\n")),
        wrong(&tool.replace("process = {", "proces = {")),
        wrong(&tool.replace("{ process = { allowedBinaries = [\"cat\"] } }", "{ network = {} }")),
        wrong(&tool.replace(
            "{ process = { allowedBinaries = [\"cat\"] } }",
            "{ storage = { scope = \"global\" } }",
        )),
        wrong(&tool.replace("{ process = { allowedBinaries = [\"cat\"] } }", "{ fs_reach = { jail = 3 } }")),
        wrong("[[server]]\nname = \"Git\"\n"),
        wrong("[[server]]\nname = \"git\"\ncommand = []\n"),
        wrong("[[server]]\nname = \"git\"\nenv = { A = 1 }\n"),
        wrong("[[agent]]\nname = \"a\"\ntoken = \"secret\"\n"),
        wrong("[gateway]\nlisten = \"localhost\"\n"),
        wrong("[gateway]\ntls = { certificate = \"/a.pem\" }\n"),
        wrong("[[notify]]\nwebhook = \"https://hooks.example/\"\n"),
        wrong("[[notify]]\ncommand = [\"mail\"]\nsecret = \"k\"\n"),
    ];
    for (text, is_sound) in cases {
        let bench = Bench::new().file("ringfence.toml", &text);
        let said = bench.ringfence_in(&[("HOME", "/home/ada")], &["check"]);
        assert_eq!(said.ends_with("exit 0"), is_sound, "check:\n{text}{said}");
        let value = json(&text).unwrap();
        assert_eq!(schema.is_valid(&value), is_sound, "schema:\n{text}{:?}", faults(&schema, &value));
    }
}
