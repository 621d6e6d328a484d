//! Servers behind `ringfence wrap`: which interpreter runs, what it imports, what it is not given, and what it says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bench::{Bench, command};

/// A server that answers with what `answer` returns.
const SERVER: &str = r#"
import json, sys
def reply(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        reply(message["id"], {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                              "serverInfo": {"name": "it", "version": "1"}})
    elif method == "tools/list":
        reply(message["id"], {"tools": [{"name": "look", "description": "Looks", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        reply(message["id"], {"content": [{"type": "text", "text": answer()}]})
    elif "id" in message:
        reply(message["id"], {})
"#;

/// Wraps a server, calls its tool, and returns what the tool and the error stream say.
fn call(bench: &Bench, arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let mut started: Command = command(&bench.path());
    started.args(arguments).env("XDG_STATE_HOME", bench.path().join("state"));
    started.envs(variables.iter().copied());
    let mut child =
        started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u64, method: &str, params: Value| -> Value {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .unwrap();
        loop {
            let line = lines.next().map_or_else(|| "null".to_owned(), |line| line.unwrap());
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == json!(id) || message.is_null() {
                return message;
            }
        }
    };
    ask(1, "initialize", params);
    let answer = ask(2, "tools/call", json!({ "name": "look", "arguments": {} }));
    let said = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    let said = said.map_or_else(|| answer.to_string(), str::to_owned);
    drop(input);
    let ended = child.wait_with_output().unwrap();
    (said, String::from_utf8_lossy(&ended.stderr).into_owned())
}

fn script(head: &str) -> String {
    format!("{head}\n{SERVER}")
}

#[test]
fn the_interpreter_of_the_clients_path_runs() {
    let bench = Bench::new().file(
        "srv/server.py",
        script("import sys, helper\ndef answer():\n    return sys.prefix + ' ' + helper.WORD"),
    );
    let bench = bench.file("srv/helper.py", "WORD = 'imported'\n");
    let venv = bench.path().join("venv");
    let made = Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.unwrap().success());
    let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
    let arguments = ["wrap", "--accept", "clean", "--name", "it", "--", "python3", "srv/server.py"];
    let (said, told) = call(&bench, &arguments, &[("PATH", &path)]);
    assert_eq!(said, format!("{} imported", venv.display()), "{told}");
    // Without the environment in the path, the system's runs.
    let (said, told) = call(&bench, &arguments, &[("PATH", "/usr/bin:/bin")]);
    assert_eq!(said, "/usr imported", "{told}");
}

#[test]
fn what_a_server_does_not_get_is_named_and_what_it_says_is_labelled() {
    let head = "import os, sys\nprint('hello\\rringfence: forged', file=sys.stderr, flush=True)\n\
                def answer():\n    return os.environ.get('MY_API_KEY', 'none')";
    let bench = Bench::new().file("server.py", script(head));
    let arguments = ["wrap", "--accept", "clean", "--name", "it", "--", "/usr/bin/python3", "server.py"];
    let (said, told) = call(&bench, &arguments, &[("MY_API_KEY", "some-value-of-mine")]);
    assert_eq!(said, "none", "{told}");
    let line = told.lines().find(|line| line.contains("does not get these variables")).unwrap_or(&told);
    assert!(line.contains("`MY_API_KEY`") && line.contains("capabilities.environment"), "{told}");
    assert!(!told.contains("some-value-of-mine"), "{told}");
    assert!(told.lines().any(|line| line == "[it] hello"), "{told}");
    assert!(told.lines().any(|line| line == "[it] ringfence: forged"), "{told}");
    assert!(!told.lines().any(|line| line.starts_with("ringfence: forged")), "{told}");
}

#[test]
fn a_server_opens_unix_sockets_where_the_policy_says_so() {
    let head = "import socket\ndef answer():\n    try:\n        socket.socket(socket.AF_UNIX)\n        return 'opened'\n    \
                except OSError as error:\n        return 'refused'";
    for (line, wanted) in [("", "refused"), ("unix_sockets = true\n", "opened")] {
        let policy = format!("[personality]\n[[server]]\nname = \"it\"\naccept = \"clean\"\n{line}");
        let bench = Bench::new().file("server.py", script(head)).file("fence.toml", &policy);
        let arguments = ["wrap", "-p", "fence.toml", "--name", "it", "--", "/usr/bin/python3", "server.py"];
        let (said, told) = call(&bench, &arguments, &[]);
        assert_eq!(said, wanted, "{told}");
    }
}

#[test]
fn a_browser_of_the_machine_works_behind_the_fence() {
    let Some(chromium) =
        ["/usr/bin/chromium", "/usr/bin/chromium-browser"].into_iter().find(|path| Path::new(path).exists())
    else {
        return;
    };
    let head = format!(
        "import subprocess, tempfile\ndef answer():\n    folder = tempfile.mkdtemp()\n    \
         ran = subprocess.run(['{chromium}', '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', \
         '--user-data-dir=' + folder, '--dump-dom', 'data:text/html,<p id=x>a</p><script>x.textContent=6*7</script>'], \
         capture_output=True, text=True, timeout=90)\n    return ran.stdout or ran.stderr[-3000:]"
    );
    let policy = format!(
        "[personality]\nprocess = {{ allow = [\"*\"] }}\nfs_reach = {{ read = [\"/usr\", \"/etc/fonts\", \"/etc/chromium\", \"/etc/chromium.d\"] }}\n\
         [[server]]\nname = \"it\"\naccept = \"clean\"\nunix_sockets = true\n\
         capabilities = {{ process = {{ allowedBinaries = [\"*\"] }}, fs_reach = {{ read = [\"/usr\", \"/etc/fonts\", \"/etc/chromium\", \"/etc/chromium.d\"] }} }}\n\
         limits = {{ memory = \"2G\", processes = 512 }}\n# {chromium}\n"
    );
    let bench = Bench::new().file("server.py", script(&head)).file("fence.toml", &policy);
    let arguments = ["wrap", "-p", "fence.toml", "--name", "it", "--", "/usr/bin/python3", "server.py"];
    let (said, told) = call(&bench, &arguments, &[]);
    assert!(said.contains("<p id=\"x\">42</p>"), "{said}\n{told}");
}
