//! The cases of `tests/corpora`, asked through the real `ringfence ask`.
//!
//! Each line is sent and its answer awaited before the next, so that a time can be measured for each.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::command;

/// A running `ringfence ask`.
struct Asking {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Asking {
    fn start(directory: &Path) -> Self {
        let mut child =
            command(directory).arg("ask").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn ask(&mut self, mut line: String) -> (Value, Duration) {
        line.push('\n');
        let started = Instant::now();
        self.input.write_all(line.as_bytes()).unwrap();
        self.input.flush().unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        (serde_json::from_str(&answer).unwrap(), started.elapsed())
    }

    fn end(self) {
        drop(self.input);
        let mut child = self.child;
        assert!(child.wait().unwrap().success());
    }
}

/// Returns the cases of a file in `tests/corpora`, which are at least `minimum` many.
pub(crate) fn cases(name: &str, minimum: usize) -> Vec<Value> {
    let path = format!("{}/../../tests/corpora/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= minimum, "`{path}` has {} cases, fewer than {minimum}", cases.len());
    cases
}

/// Asks about a case, compares the answer with it, and collects what differs.
fn compare(case: &Value, asking: &mut Asking, question: &str, wrong: &mut Vec<String>) {
    let (answer, mut took) = asking.ask(question.to_owned());
    let id = case["id"].as_str().unwrap();
    assert_eq!(answer["id"], case["id"]);
    let either = case["either"] == json!(true);
    if answer["decision"] != case["expect"] && !either {
        wrong.push(format!("{id}: expected {}, got {answer} ({})", case["expect"], case["why"]));
    }
    // The budget is meant for a release build on a quiet machine, so the best of several attempts counts.
    let budget = case["budget_ms"].as_u64().unwrap_or(500) * if cfg!(debug_assertions) { 10 } else { 1 };
    let budget = Duration::from_millis(budget);
    for _ in 0..9 {
        if took > budget {
            took = took.min(asking.ask(question.to_owned()).1);
        }
    }
    if took > budget {
        wrong.push(format!("{id}: took {took:?} of {budget:?}"));
    }
}

#[test]
fn hosts() {
    let cases = cases("hosts", 120);
    let directory = tempfile::tempdir().unwrap();
    let mut asking = Asking::start(directory.path());
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for case in &cases {
        let input = &case["input"];
        let (declared, permitted, want) = match input["kind"].as_str().unwrap() {
            "url" => (&case["allow"], &case["allow"], json!({"url": input["url"]})),
            "connect" => (&case["allow"], &case["allow"], json!({"connect": input["authority"]})),
            "intersect" => {
                let url = format!("https://{}/", input["host"].as_str().unwrap());
                (&input["declared"], &input["permitted"], json!({"url": url}))
            }
            _ => continue,
        };
        let question = json!({
            "id": case["id"],
            "declare": {"network": {"allowedHosts": declared}},
            "personality": {"network": {"allow": permitted}},
            "want": want,
        });
        compare(case, &mut asking, &question.to_string(), &mut wrong);
        asked += 1;
    }
    asking.end();
    assert!(asked > 50, "only {asked} cases were asked");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn paths() {
    let cases = cases("paths", 50);
    let base = cases[0]["base_setup"].as_array().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut asking = Asking::start(directory.path());
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for case in cases.iter().skip(1) {
        let op = case["op"].as_str().unwrap();
        if !matches!(op, "read" | "write" | "list" | "exists") || case["platform"] == "macos" {
            continue;
        }
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        for step in base.iter().chain(case["setup"].as_array().unwrap()) {
            set_up(step, &root);
        }
        let fill = |value: &Value| -> Value {
            serde_json::from_str(&value.to_string().replace("{R}", root.to_str().unwrap())).unwrap()
        };
        let (read, write) = (fill(&case["allow_read"]), fill(&case["allow_write"]));
        let mut reach = json!({"read": read, "write": write});
        if case["mode"] == "jail" {
            reach["jail"] = json!(root.join("jail"));
        }
        let path = match case.get("path") {
            Some(path) => fill(path),
            None => json!(
                String::from_utf8(base64(case["path_b64"].as_str().unwrap()))
                    .unwrap()
                    .replace("{R}", root.to_str().unwrap())
            ),
        };
        let question = json!({
            "id": case["id"],
            "declare": {"fs_reach": reach},
            "personality": {"fs_reach": {"read": read, "write": write}},
            "cwd": fill(&case["cwd"]),
            "want": {op: path},
        });
        let before = listing(&root);
        compare(case, &mut asking, &question.to_string(), &mut wrong);
        assert_eq!(listing(&root), before, "{} changed the file system", case["id"]);
        asked += 1;
    }
    asking.end();
    assert!(asked > 30, "only {asked} cases were asked");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn set_up(step: &Value, root: &Path) {
    let name = match step.get("path") {
        Some(path) => path.as_str().unwrap().to_owned(),
        None => String::from_utf8(base64(step["path_b64"].as_str().unwrap())).unwrap(),
    };
    let path = root.join(name);
    match step["op"].as_str().unwrap() {
        "mkdir" => std::fs::create_dir_all(path).unwrap(),
        "file" | "file_b64" => std::fs::write(path, step["content"].as_str().unwrap()).unwrap(),
        "symlink" => {
            let target = step["target"].as_str().unwrap().replace("{R}", root.to_str().unwrap());
            std::os::unix::fs::symlink(target, path).unwrap();
        }
        "fifo" => {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        other => panic!("unknown set-up step {other}"),
    }
}

fn listing(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> =
        text.bytes().filter(|byte| *byte != b'=').map(|byte| u32::from(value(byte))).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend((0..group.len() - 1).map(|index| (bits >> (16 - 8 * index)) as u8));
    }
    bytes
}

#[test]
fn schemas() {
    let cases = cases("schemas", 60);
    let directory = tempfile::tempdir().unwrap();
    let mut asking = Asking::start(directory.path());
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for case in &cases {
        let schema = match case.get("schema_gen") {
            Some(recipe) => generated(recipe),
            None => case.get("schema").unwrap_or(&Value::Null).to_string(),
        };
        let want = if case["phase"] == "register" {
            r#"{"args": {}}"#.to_owned()
        } else if let Some(raw) = case.get("instance_raw") {
            json!({"args_raw": raw}).to_string()
        } else if let Some(recipe) = case.get("instance_gen") {
            format!(r#"{{"args": {}}}"#, generated(recipe))
        } else {
            json!({"args": case.get("instance").cloned().unwrap_or(Value::Null)}).to_string()
        };
        let id = &case["id"];
        let question = format!(r#"{{"declare": {{"input": {schema}}}, "want": {want}, "id": {id}}}"#);
        compare(case, &mut asking, &question, &mut wrong);
        asked += 1;
    }
    asking.end();
    assert!(asked > 50, "only {asked} cases were asked");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Writes what a recipe describes as text, since some of it is too deep for a tree in memory.
fn generated(recipe: &Value) -> String {
    let number = |key: &str| usize::try_from(recipe[key].as_u64().unwrap()).unwrap();
    match recipe["kind"].as_str().unwrap() {
        "repeat" => {
            let unit = recipe["unit"].as_str().unwrap().repeat(number("times"));
            json!(format!("{unit}{}", recipe["tail"].as_str().unwrap())).to_string()
        }
        "array" => format!("[{}0]", "0,".repeat(number("count") - 1)),
        "nest-schema" => {
            let (open, depth) = (format!(r#"{{"{}":"#, recipe["keyword"].as_str().unwrap()), number("depth"));
            format!("{}{{}}{}", open.repeat(depth), "}".repeat(depth))
        }
        "ref-fanout" => {
            let (levels, fan) = (number("levels"), number("fan"));
            let mut definitions = serde_json::Map::new();
            for level in 0..levels {
                let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
                definitions.insert(format!("l{level}"), json!({"allOf": vec![next; fan]}));
            }
            definitions.insert(format!("l{levels}"), json!({"type": "integer"}));
            json!({"$ref": "#/$defs/l0", "$defs": definitions}).to_string()
        }
        other => panic!("unknown recipe {other}"),
    }
}
