//! `ringfence gateway`: several servers behind one endpoint, over stdio and over HTTP, each agent with what is its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, Era, LEGACY, PATIENCE};
use crate::mcp::place::{Scene, attack, file, npm, python};

/// A process that speaks HTTP, and ends with the test.
pub(crate) struct Listening {
    child: Child,
    /// Where it listens.
    pub(crate) url: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Listening {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                all.lock().unwrap().push(line.clone());
                let _nobody = sender.send(line);
            }
        });
        let mut server = Self { child, url: String::new(), said };
        while server.url.is_empty() {
            let line = receiver
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("no address was told ({error}): {}", server.messages()));
            if let Some(at) = line.find("http://") {
                server.url = line.split_at(at).1.split_whitespace().next().unwrap().to_owned();
            }
        }
        server
    }

    /// What it wrote to its standard error so far.
    pub(crate) fn messages(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Two servers: one that echoes, one that breaks.
fn scene(more: &str) -> Scene {
    let scene = Scene::new("gateway", Vec::new());
    let entry = |name: &str, command: &[String]| {
        format!("[[server]]\nname = \"{name}\"\ncommand = {command:?}\naccept = \"clean\"\n")
    };
    let everything = entry("everything", &npm("server-everything", &[]));
    let attack = entry("attack", &attack(&["mortal"]));
    scene.policy(&format!("[personality]\nid = \"e2e\"\n{more}\n{everything}{attack}"));
    scene
}

#[test]
fn names_are_prefixed_and_one_that_dies_does_not_harm_the_other() {
    let scene = scene("");
    for era in [LEGACY, Era::Modern] {
        let command = scene.ringfence(&["gateway", "--stdio"]);
        let mut client = Client::connect(command, era, Answers::default());
        let names = client.tools();
        assert!(names.contains(&"everything__echo".to_owned()), "{names:?}");
        assert!(names.contains(&"attack__work".to_owned()), "{names:?}");
        assert!(names.iter().all(|name| name.contains("__")), "{names:?}");
        assert_eq!(client.text("everything__echo", json!({"message": "hi"})), "Echo: hi");
        assert_eq!(client.text("attack__work", json!({})), "done 1");
        let breaking = client.begin("tools/call", json!({"name": "attack__break", "arguments": {}}));
        assert_eq!(client.text("everything__get-sum", json!({"a": 1, "b": 2})), "The sum of 1 and 2 is 3.");
        let broken = client.wait(breaking);
        assert!(broken.as_ref().map_or(true, |result| result["isError"] == true), "{broken:?}");
        assert_eq!(client.text("attack__work", json!({})), "done 1", "started again");
        // A name without its prefix is nobody's.
        assert!(client.call("echo", json!({"message": "hi"})).is_err());
    }
}

/// What the Python SDK sees at an address, or why it fails.
fn sdk(scene: &Scene, url: &str, token: Option<&str>) -> Result<Value, String> {
    let words = python("py", "python", &[&file("sdk1.py"), url]);
    let output = scene.host("timeout").arg("600").args(words).args(token).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(said);
    }
    let text = String::from_utf8(output.stdout).unwrap();
    Ok(serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap())
}

#[test]
fn each_agent_sees_its_own_servers_and_a_stranger_nothing() {
    let digest = |token: &str| {
        let output =
            Command::new("sh").args(["-c", "printf %s \"$0\" | sha256sum | cut -d' ' -f1", token]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    let (ann, bob) = ("ann-token-0123456789abcdef0123456789", "bob-token-0123456789abcdef0123456789");
    let agent = |name: &str, token: &str, scope: &str| {
        format!("[[agent]]\nname = \"{name}\"\ntoken = \"sha256:{}\"\n{scope}\n", digest(token))
    };
    let agents = agent("ann", ann, "servers = [\"everything\"]")
        + &agent(
            "bob",
            bob,
            "servers = [\"everything\", \"attack\"]\ntools = [\"everything__echo\", \"attack__work\"]",
        );
    let scene = scene("");
    let text = std::fs::read_to_string(scene.policy_file()).unwrap();
    scene.policy(&(text + &agents));
    let gateway = Listening::start(scene.ringfence(&["gateway", "--listen", "127.0.0.1:0"]));

    let seen = sdk(&scene, &gateway.url, Some(ann)).unwrap();
    let names = seen["tools"].to_string();
    assert!(names.contains("everything__echo") && !names.contains("attack__"), "{names}");
    assert_eq!(seen["echo"], "Echo: hello from the SDK");
    let seen = sdk(&scene, &gateway.url, Some(bob)).unwrap();
    let mut names: Vec<&str> =
        seen["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    names.retain(|name| *name != "ringfence_policy");
    names.sort_unstable();
    assert_eq!(names, ["attack__work", "everything__echo"]);
    for stranger in [None, Some("eve-token-0123456789abcdef0123456789"), Some("x")] {
        let refused = sdk(&scene, &gateway.url, stranger).unwrap_err();
        assert!(refused.contains("401"), "{stranger:?}: {refused}");
    }
}

/// Waits until what the SDK sees at an address is as it should be.
fn until(scene: &Scene, url: &str, what: &str, is_so: impl Fn(&str) -> bool) {
    let mut seen = String::new();
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        // While the policy is put in force, there is nobody at the address for a moment.
        seen = sdk(scene, url, None).map_or_else(|error| error, |seen| seen["tools"].to_string());
        if is_so(&seen) {
            return;
        }
        thread::sleep(Duration::from_millis(500));
    }
    panic!("{what}: {seen}");
}

#[test]
fn a_server_that_goes_beyond_the_accepted_manifest_is_withheld_while_the_gateway_runs() {
    let scene = scene("network = { allow = [\"a.test\"] }");
    let manifest = |arguments: &[&str]| {
        let output = scene.ringfence(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    manifest(&["manifest"]);
    let gateway = Listening::start(scene.ringfence(&["gateway", "--listen", "127.0.0.1:0", "--anonymous"]));
    until(&scene, &gateway.url, "both are there", |seen| {
        seen.contains("everything__echo") && seen.contains("attack__work")
    });

    let text = std::fs::read_to_string(scene.policy_file()).unwrap();
    let wider = text.clone() + "capabilities = { network = { allowedHosts = [\"a.test\"] } }\n";
    scene.policy(&wider);
    until(&scene, &gateway.url, "the wider one is withheld", |seen| {
        seen.contains("everything__echo") && !seen.contains("attack__work")
    });
    // A policy with a problem changes nothing.
    scene.policy(&(wider + "nonsense = 1\n"));
    thread::sleep(Duration::from_millis(2500));
    let seen = sdk(&scene, &gateway.url, None).unwrap()["tools"].to_string();
    assert!(seen.contains("everything__echo") && !seen.contains("attack__work"), "{seen}");

    scene.policy(&(text + "capabilities = { network = { allowedHosts = [\"a.test\"] } }\n"));
    manifest(&["manifest", "accept", "--yes"]);
    until(&scene, &gateway.url, "it was accepted", |seen| seen.contains("attack__work"));
}
