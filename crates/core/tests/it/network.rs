//! Calls on the network: what goes through a gate or a fetch belongs to its call, and can be taken back.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence::egress::{Client, Dialer, Evidence, StaticResolver, Verdict, Via};
use ringfence::policy::{HostName, HostSet, NetworkCeiling, Private};
use ringfence::sandbox::{Native, Sandbox};
use ringfence::{
    Backends, MemoryApprover, Registry, RegistryBuilder, SandboxLauncher, SpawnOptions, Tool, tool,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::it::stage::{Stage, code, personality};
use crate::it::wait::{PATIENCE, wait_until};

/// A server that greets whoever connects, and then waits for the other side to go.
struct Greeter {
    address: SocketAddr,
    greeted: Arc<AtomicUsize>,
}

impl Greeter {
    #[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let greeted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&greeted);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let _sent = stream.write_all(b"hello").await;
                    let _gone = stream.read_to_end(&mut Vec::new()).await;
                });
            }
        });
        Self { address, greeted }
    }

    fn host(&self) -> String {
        format!("one.acme.io:{}", self.address.port())
    }

    fn greeted(&self) -> usize {
        self.greeted.load(Ordering::Relaxed)
    }
}

fn resolver() -> StaticResolver {
    let loopback: IpAddr = [127, 0, 0, 1].into();
    ["one.acme.io", "two.acme.io"]
        .iter()
        .fold(StaticResolver::new(), |table, name| table.with(name.parse::<HostName>().unwrap(), [loopback]))
}

fn registry(hosts: &[&str], on_unknown: &str) -> RegistryBuilder {
    let dialer = Dialer::new(Arc::new(resolver()));
    let launcher = SandboxLauncher::new(Sandbox::new(Native::new())).dialer(dialer.clone());
    let backends =
        Backends::none().network(Client::builder().dialer(dialer).build()).launcher(Arc::new(launcher));
    Registry::builder().backends(backends).deadline(PATIENCE).personality(personality(json!({
        "network": { "allow": hosts, "private": ["127.0.0.0/8"], "on_unknown": on_unknown },
        "process": { "allow": ["python3"] },
    })))
}

/// Runs a script of Python with the hosts of the personality.
fn script() -> impl Tool {
    tool("script")
        .description("Runs a script")
        .network(["*"])
        .binaries(["python3"])
        .input_schema(json!({"type": "string"}))
        .output_schema(json!({"type": "string"}))
        .run(|text: Value, context| async move {
            let script = text.as_str().unwrap_or_default().to_owned();
            let arguments = ["-c".to_owned(), script];
            let output = context.process()?.spawn("python3", &arguments, SpawnOptions::default()).await?;
            Ok(json!(format!("{}{}", output.stdout, output.stderr)))
        })
        .unwrap()
}

fn connect(host: &str) -> Value {
    let (name, port) = host.rsplit_once(':').unwrap();
    json!(format!(
        "import socket\n\
         try:\n    s = socket.create_connection(('{name}', {port}), 120)\n    print(s.recv(5).decode())\n    \
             s.sendall(b'!')\n    print('left with', s.recv(1))\n\
         except OSError as error:\n    print(type(error).__name__)"
    ))
}

fn shown(evidence: &Evidence) -> (String, Option<u16>, Via) {
    (evidence.host.clone(), evidence.port, evidence.via)
}

#[tokio::test]
async fn connections_of_a_process_stand_in_the_record_of_its_call() {
    let server = Greeter::start().await;
    let stage = Stage::of(registry(&[&server.host()], "refuse")).with(script());
    let host = server.host();
    let script = format!(
        "import socket\ns = socket.create_connection(('one.acme.io', {port}))\nprint(s.recv(5).decode())\ns.close()\n\
         try: socket.getaddrinfo('evil.net', 443)\nexcept OSError as error: print(error)",
        port = server.address.port()
    );
    let report = stage.call("script", json!(script)).await;
    assert_eq!(
        report.outcome.value(),
        Some("hello\n[Errno -2] Name or service not known\n"),
        "{:?}",
        report.outcome
    );
    let record = stage.last();
    let seen: Vec<_> = record.connections().iter().map(shown).collect();
    let port = server.address.port();
    let expected =
        [("evil.net".to_owned(), None, Via::Dns), ("one.acme.io".to_owned(), Some(port), Via::Gate)];
    assert!(seen.len() == 2 && expected.iter().all(|one| seen.contains(one)), "{seen:?} {host}");
    let gate = record.connections().iter().find(|one| one.via == Via::Gate).unwrap();
    assert_eq!((gate.address, gate.received, &gate.verdict), (Some(server.address), 5, &Verdict::Done));
    let written = serde_json::to_value(&record).unwrap();
    assert_eq!(written["connections"].as_array().unwrap().len(), 2);
    assert_eq!(stage.log.lines().iter().filter(|line| line.starts_with("connected script")).count(), 2);
    assert!(stage.registry.live_calls().is_empty());
}

#[tokio::test]
async fn hosts_can_be_taken_back_while_a_call_runs() {
    for how in ["narrow", "revoke", "personality"] {
        let server = Greeter::start().await;
        let stage = Arc::new(Stage::of(registry(&["*.acme.io", &server.host()], "refuse")).with(script()));
        let calling = {
            let (stage, host) = (Arc::clone(&stage), server.host());
            tokio::spawn(async move { stage.call("script", connect(&host)).await })
        };
        // A call that ended early says more than a wait that ends late.
        wait_until("the server greets or the call ends", || server.greeted() > 0 || calling.is_finished())
            .await;
        if server.greeted() == 0 {
            panic!("{how}: {:?}", calling.await.unwrap().outcome);
        }
        let live = stage.registry.live_calls();
        assert_eq!((live.len(), live[0].tool().as_str(), live[0].tally().open), (1, "script", 1));
        // The script answers the greeting, so after that the greeting has arrived inside and may be cut off.
        wait_until("the script answers", || live[0].tally().sent >= 1).await;
        match how {
            "narrow" => {
                let two: HostSet = ["two.acme.io".parse().unwrap()].into_iter().collect();
                live[0].narrow(&NetworkCeiling::new(two, Private::default()));
            }
            "revoke" => live[0].revoke(),
            _ => drop(stage.registry.set_personality(&personality(json!({
                "network": { "allow": ["two.acme.io"] }, "process": { "allow": ["python3"] },
            })))),
        }
        let report = calling.await.unwrap();
        let said = report.outcome.value().unwrap_or_default().to_owned();
        assert!(said.starts_with("hello\n"), "{how}: {:?}", report.outcome);
        let record = stage.last();
        let cut = &record.connections()[0];
        assert!(matches!(cut.verdict, Verdict::Cut { .. }), "{how}: {cut:?}");
    }
}

#[tokio::test]
async fn an_unknown_host_waits_for_a_person() {
    for agrees in [true, false] {
        let server = Greeter::start().await;
        let approver = Arc::new(MemoryApprover::default());
        // Another name on that port is granted, so that the gate listens there.
        let known = format!("known.acme.io:{}", server.address.port());
        let builder = registry(&[&known], "ask").approver(Arc::clone(&approver) as Arc<_>);
        let stage = Arc::new(Stage::of(builder).with(script()));
        let calling = {
            let (stage, host) = (Arc::clone(&stage), server.host());
            let script = format!(
                "import socket\n\
                 try: print(socket.create_connection(('one.acme.io', {}), 120).recv(5).decode())\n\
                 except OSError as error: print(type(error).__name__)",
                host.rsplit_once(':').unwrap().1
            );
            tokio::spawn(async move { stage.call("script", json!(script)).await })
        };
        let mut waiting = None;
        wait_until("somebody is asked", || {
            waiting = waiting.take().or_else(|| approver.waiting().pop());
            waiting.is_some()
        })
        .await;
        let request = waiting.unwrap();
        assert_eq!(request.arguments["connect"], server.host());
        assert_eq!(server.greeted(), 0); // nothing was dialled while the question was open
        if agrees {
            approver.approve(&request.digest, "ada");
        } else {
            approver.deny(&request.digest, "ada", "not today");
        }
        let report = calling.await.unwrap();
        assert_eq!(server.greeted(), usize::from(agrees), "{:?}", report.outcome);
        let record = stage.last();
        let verdict = &record.connections()[0].verdict;
        match verdict {
            Verdict::Done => assert!(agrees),
            Verdict::Refused { message, .. } => {
                assert!(
                    !agrees && message.contains("ada refused") && message.contains("not today"),
                    "{message}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_fetch_leaves_the_same_evidence_and_ends_with_its_call() {
    let server = Greeter::start().await; // speaks no HTTP, which is a failure and not a refusal
    let fetch = tool("fetch")
        .description("Fetches")
        .network(["*"])
        .input_schema(json!({"type": "string"}))
        .output_schema(json!({"type": "string"}))
        .run(|url: Value, context| async move {
            let answer = context.fetch()?.get(url.as_str().unwrap_or_default()).await;
            Ok(json!(answer.map_or_else(|error| error.to_string(), |_| "answered".to_owned())))
        })
        .unwrap();
    let stage = Stage::of(registry(&[&server.host()], "refuse")).with(fetch);
    let report = stage.call("fetch", json!(format!("http://{}/", server.host()))).await;
    assert_eq!(code(&report), "");
    let record = stage.last();
    assert_eq!(record.connections().len(), 1, "{:?}", record.connections());
    assert_eq!(
        (record.connections()[0].via, record.connections()[0].address),
        (Via::Fetch, Some(server.address))
    );

    stage.call("fetch", json!("http://evil.net/")).await;
    let record = stage.last();
    assert!(matches!(record.connections()[0].verdict, Verdict::Refused { .. }), "{:?}", record.connections());
    assert_eq!(record.connections()[0].address, None);
}

#[test]
fn a_call_needs_no_blocking_thread_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
    let runtime = runtime.unwrap();
    let mut ends = Vec::new();
    runtime.block_on(async {
        // As if two lookups were stuck there.
        for _ in 0..2 {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            ends.push(end);
            tokio::task::spawn_blocking(move || ended.recv().is_ok());
        }
        let stage = Stage::of(registry(&[], "refuse")).with(script());
        let called =
            tokio::time::timeout(PATIENCE / 2, stage.call("script", json!("print('answered')"))).await;
        let answer = called.expect("the call waits for a thread of the runtime");
        assert!(format!("{answer:?}").contains("answered"), "{answer:?}");
    });
    drop(ends);
}
