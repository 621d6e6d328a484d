//! Telling people of requests: signed, until it was heard, and within a fence.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence::egress::Client;
use ringfence::notify::{CommandChannel, Notifier, SIGNATURE_HEADER, WebhookChannel, sign_webhook};
use ringfence::policy::{NetworkCeiling, SafetyClass};
use ringfence::sandbox::{Native, Sandbox};
use ringfence::{ManualClock, MemoryApprovals, Registry, SandboxLauncher, Secret, StoreApprover};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::it::stage::{Stage, code, echo_of};
use crate::it::wait::wait_until;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A web server that answers with each of these statuses in turn, and keeps what it was sent.
struct Hook {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Hook {
    #[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
    async fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            if statuses.is_empty() {
                // Takes the connection and never answers.
                let _held = listener.accept().await.unwrap();
                kept.lock().unwrap().push(String::new());
                std::future::pending::<()>().await;
            }
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = Vec::new();
                let text = loop {
                    let mut buffer = [0; 4096];
                    let read = stream.read(&mut buffer).await.unwrap();
                    bytes.extend_from_slice(&buffer[..read]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                    let length = head.lines().find_map(|line| {
                        line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                    });
                    if read == 0 || length.is_some_and(|length| body.len() >= length) {
                        break text;
                    }
                };
                kept.lock().unwrap().push(text);
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { address, heard }
    }

    fn channel(&self, clock: &Arc<ManualClock>) -> WebhookChannel {
        WebhookChannel::new(
            &format!("http://{}/hook", self.address),
            Secret::new(SECRET.to_owned()),
            serde_json::from_value(json!(["127.0.0.1"])).unwrap(),
            Client::builder().build(),
            Arc::clone(clock) as Arc<_>,
        )
        .unwrap()
    }
}

async fn asked(clock: &Arc<ManualClock>) -> Arc<MemoryApprovals> {
    let approvals = Arc::new(MemoryApprovals::new(Arc::clone(clock) as Arc<_>));
    let approver = StoreApprover::new(Arc::clone(&approvals) as Arc<_>);
    let stage =
        Stage::of(Registry::builder().approver(Arc::new(approver))).with(echo_of(SafetyClass::Financial));
    assert_eq!(code(&stage.call("echo", json!("pay 5")).await), "APPROVAL_REQUIRED");
    approvals
}

#[tokio::test]
async fn a_webhook_is_told_until_it_has_heard() {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_000));
    let approvals = asked(&clock).await;
    let hook = Hook::start(&[500, 302, 204]).await;
    let notifier = Notifier::new(approvals).channel(Arc::new(hook.channel(&clock)));
    // What failed waits for its pause, which grows.
    for (passed, told, failed) in
        [(0, 0, 1), (4, 0, 0), (1, 0, 1), (9, 0, 0), (1, 1, 0), (100, 0, 0), (2_000, 0, 0)]
    {
        clock.advance(Duration::from_secs(passed));
        let round = notifier.round().await.unwrap();
        assert_eq!((round.told.len(), round.failed.len()), (told, failed), "after {passed}: {round:?}");
    }
    let heard = hook.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 3);
    for (text, seconds) in heard.iter().zip([1_000, 1_005, 1_015]) {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let signature = head.lines().find_map(|line| line.strip_prefix(&format!("{SIGNATURE_HEADER}: ")));
        assert_eq!(signature, Some(sign_webhook(SECRET, seconds, body).as_str()));
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["tool"], &body["arguments"]), (&json!("echo"), &json!("pay 5")));
        assert_eq!(body["approvals_needed"], 1);
    }
}

#[tokio::test]
async fn two_hooks_of_one_server_are_both_told_and_one_that_hangs_keeps_nobody_waiting() {
    let clock = Arc::new(ManualClock::default());
    let approvals = asked(&clock).await;
    let hook = Hook::start(&[204, 204]).await;
    let other = WebhookChannel::new(
        &format!("http://{}/other", hook.address),
        Secret::new(SECRET.to_owned()),
        serde_json::from_value(json!(["127.0.0.1"])).unwrap(),
        Client::builder().build(),
        Arc::clone(&clock) as Arc<_>,
    );
    let notifier =
        Notifier::new(approvals).channel(Arc::new(hook.channel(&clock))).channel(Arc::new(other.unwrap()));
    let round = notifier.round().await.unwrap();
    assert_eq!(round.told.len(), 2, "{round:?}");

    let silent = Hook::start(&[]).await;
    let notifier = Notifier::new(asked(&clock).await).channel(Arc::new(silent.channel(&clock)));
    let stop = tokio_util::sync::CancellationToken::new();
    let stopped = async {
        wait_until("the hook is called", || silent.heard.lock().unwrap().len() == 1).await;
        // From here on time stands still, and jumps to the patience with the hook if that is waited for.
        tokio::time::pause();
        stop.cancel();
        tokio::time::Instant::now()
    };
    let (_unheard, stopped) = tokio::join!(notifier.run(&stop), stopped);
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
}

#[tokio::test]
async fn a_command_is_told_on_its_standard_input_and_reaches_nothing() {
    let clock = Arc::new(ManualClock::default());
    let launcher = Arc::new(SandboxLauncher::new(Sandbox::new(Native::new())));
    let command = |script: &str| {
        let command = ["python3", "-c", script].map(str::to_owned);
        CommandChannel::new(&command, NetworkCeiling::default(), Arc::clone(&launcher) as Arc<_>).unwrap()
    };
    let reads = command("import json, sys; assert json.load(sys.stdin)['arguments'] == 'pay 5'");
    let round = Notifier::new(asked(&clock).await).channel(Arc::new(reads)).round().await.unwrap();
    assert_eq!((round.told.len(), round.failed), (1, Vec::new()));
    let reaches = command("import os, sys; os.listdir('/root'); sys.exit(0)");
    let round = Notifier::new(asked(&clock).await).channel(Arc::new(reaches)).round().await.unwrap();
    assert_eq!((round.told.len(), round.failed.len()), (0, 1), "{round:?}");
    let empty = CommandChannel::new(&[], NetworkCeiling::default(), launcher);
    assert_eq!(empty.map(drop).err().as_deref(), Some("the command of a notification is empty"));
}
