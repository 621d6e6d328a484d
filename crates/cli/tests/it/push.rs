//! Checkpoints that leave the machine.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::bench::Bench;

const TOOLBOX: &str = r#"
[personality]
id = "reader"
fs_reach = { read = ["${workspace}/notes"] }

[[tool]]
name = "read"
description = "Read a note"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
"#;

/// A store with two records, and a key.
fn logged() -> Bench {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX).file("notes/today.txt", "Thursday\n");
    let read = ["call", "--store", "log.db", "read", r#"{"path": "notes/today.txt"}"#];
    assert!(bench.ringfence(&read).contains("Thursday"));
    assert!(bench.ringfence(&["audit", "keygen", "acme.io/agents", "key"]).contains("acme.io/agents+"));
    bench
}

/// Takes one request over TLS, answers it, and returns it. The authority is written to a file.
fn receiver(bench: &Bench, status: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(bench.path().join("authority.pem"), authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf =
        CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream);
        let (mut request, mut buffer) = (String::new(), [0; 4096]);
        while !request
            .split_once("\r\n\r\n")
            .is_some_and(|(_, body)| body.contains("\n\n—") && body.ends_with('\n'))
        {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the request ends early: {request}");
            request.push_str(&String::from_utf8_lossy(buffer.get(..count).unwrap()));
        }
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        stream.flush().unwrap();
        stream.conn.send_close_notify();
        let _flushed = stream.flush();
        request
    });
    (port, served)
}

#[test]
fn every_target_is_tried_and_each_failure_told() {
    let bench = logged();
    let checkpoint = ["audit", "checkpoint", "--store", "log.db", "--key", "key"];
    let push = |targets: &[&str]| {
        let mut arguments = checkpoint.to_vec();
        targets.iter().for_each(|target| arguments.extend(["--push", target]));
        bench.ringfence(&arguments)
    };
    let said = push(&["file:kept", "command:true"]);
    let note = said.strip_suffix("exit 0").unwrap();
    assert!(note.starts_with("acme.io/agents\n2\n"), "{said}");
    assert_eq!(bench.read("kept"), format!("{note}\n"));
    assert!(push(&["file:kept"]).ends_with("exit 0"));
    assert_eq!(bench.read("kept"), format!("{note}\n{note}\n"));

    let said = push(&["file:no/such/folder", "command:false", "command:nowhere-to-be-found", "file:last"]);
    let (_, failures) = said.split_once("error: ").unwrap();
    insta::assert_snapshot!(failures, @"
    cannot push to `file:no/such/folder`: No such file or directory (os error 2)
    error: cannot push to `command:false`: it ended with 1
    error: cannot push to `command:nowhere-to-be-found`: BINARY_NOT_FOUND: no program is named `nowhere-to-be-found`
    exit 1
    ");
    assert_eq!(bench.read("last"), format!("{note}\n"));

    insta::assert_snapshot!(push(&["ftp://acme.io/"]), @"
    error: invalid value 'ftp://acme.io/' for '--push <TARGET>': it is none of `file:PATH`, `https://…` and `command:PROGRAM`

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(push(&["http://acme.io/"]), @"
    error: invalid value 'http://acme.io/' for '--push <TARGET>': it is none of `file:PATH`, `https://…` and `command:PROGRAM`

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn a_program_gets_the_note_and_nothing_else() {
    let bench = logged();
    let log = bench.path().join("log.db");
    let script = format!(
        "#!/bin/sh\nread origin\n[ -e {} ] && seen=log\necho \"read $origin, home '$HOME', saw '$seen'\" >&2\nexit 7\n",
        log.display()
    );
    let bench = bench.file("tell", script);
    use std::os::unix::fs::PermissionsExt;
    let program = bench.path().join("tell");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let target = format!("command:{}", program.display());
    let said =
        bench.ringfence(&["audit", "checkpoint", "--store", "log.db", "--key", "key", "--push", &target]);
    let (_, failure) = said.split_once("error: ").unwrap();
    insta::assert_snapshot!(failure, @"
    cannot push to `command:[W]/tell`: it ended with 7: read acme.io/agents, home '/tmp', saw ''
    exit 1
    ");
}

#[test]
fn a_url_gets_the_note_and_private_addresses_only_when_told() {
    let bench = logged();
    let (port, served) = receiver(&bench, "204 No Content");
    let url = format!("https://127.0.0.1:{port}/checkpoints?token=hunter2");
    let push = ["audit", "checkpoint", "--store", "log.db", "--key", "key", "--push", &url];
    let refused = bench.ringfence(&push);
    let (_, failure) = refused.split_once("error: ").unwrap();
    insta::assert_snapshot!(failure, @"
    cannot push to `https://127.0.0.1`: 127.0.0.1 is not a public address, and `--push-private` is not given
    exit 1
    ");
    let authority = bench.path().join("authority.pem");
    let variables = [("SSL_CERT_FILE", authority.to_str().unwrap())];
    let said = bench.ringfence_in(&variables, &[&push[..], &["--push-private"]].concat());
    assert!(said.ends_with("exit 0"), "{said}");
    let request = served.join().unwrap();
    assert!(request.starts_with("POST /checkpoints?token=hunter2 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\n\r\nacme.io/agents\n2\n"), "{request}");

    let (port, served) = receiver(&bench, "500 Internal Server Error");
    let url = format!("https://127.0.0.1:{port}/");
    let push = ["audit", "checkpoint", "--store", "log.db", "--key", "key", "--push-private", "--push", &url];
    let said = bench.ringfence_in(&variables, &push);
    let (_, failure) = said.split_once("error: ").unwrap();
    insta::assert_snapshot!(failure, @"
    cannot push to `https://127.0.0.1`: the server answered 500 Internal Server Error
    exit 1
    ");
    served.join().unwrap();
}
