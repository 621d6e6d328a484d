//! Which addresses are listened on, and TLS.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use ringfence_server::Agent;
use ringfence_server::http::{AgentToken, Edge, EdgeConfig, EdgeLimits, TlsFiles, new_token, token_hash};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::client::{Live, legacy};
use super::house::{ALICE, House, door};
use crate::it::wait::PATIENCE;

fn agent(name: &str, token: &str) -> AgentToken {
    AgentToken { agent: Agent { name: name.to_owned(), ..Agent::default() }, hash: token_hash(token) }
}

fn certificate() -> (TlsFiles, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned(), "gateway.example".to_owned()]).unwrap();
    let (certificate, key) = (cert.pem().into_bytes(), signing_key.serialize_pem().into_bytes());
    (TlsFiles { certificate, key }, cert.der().clone())
}

#[tokio::test]
async fn what_would_be_open_to_others_is_not_listened_on() {
    let (tls, _) = certificate();
    let (other, _) = certificate();
    let mixed = TlsFiles { certificate: tls.certificate.clone(), key: other.key };
    let junk = TlsFiles { certificate: b"junk".to_vec(), key: tls.key.clone() };
    let no_key = TlsFiles { certificate: tls.certificate.clone(), key: b"junk".to_vec() };
    let one = || vec![agent("one", "a")];
    let of = |agents: Vec<AgentToken>, anonymous, tls: Option<&TlsFiles>| EdgeConfig {
        agents,
        anonymous,
        tls: tls.cloned(),
        ..EdgeConfig::default()
    };
    let host = |host: &str| EdgeConfig { hosts: vec![host.to_owned()], ..of(one(), false, None) };
    let body =
        |body| EdgeConfig { limits: EdgeLimits { body, ..EdgeLimits::default() }, ..of(one(), false, None) };
    #[rustfmt::skip]
    let cases = [
        ("127.0.0.1:0", of(one(), false, None),                                    ""),
        ("[::1]:0",     of(one(), false, None),                                    ""),
        ("127.0.0.1:0", of(Vec::new(), true, None),                                ""),
        ("0.0.0.0:0",   of(one(), false, Some(&tls)),                              ""),
        ("0.0.0.0:0",   of(one(), false, None),                                    "`0.0.0.0:0` is not loopback, and there is no TLS certificate"),
        ("[::]:0",      of(one(), false, None),                                    "`[::]:0` is not loopback, and there is no TLS certificate"),
        ("0.0.0.0:0",   of(Vec::new(), true, Some(&tls)),                          "`0.0.0.0:0` is not loopback, and anybody would be let in"),
        ("127.0.0.1:0", of(one(), true, None),                                     "anybody would be let in, though there are agents with tokens"),
        ("127.0.0.1:0", of(Vec::new(), false, None),                               "there is no agent, so nobody could connect"),
        ("127.0.0.1:0", of(vec![agent("a", "x"), agent("b", "x")], false, None),   "the agents `a` and `b` have the same token or the same name"),
        ("127.0.0.1:0", of(vec![agent("a", "x"), agent("a", "y")], false, None),   "the agents `a` and `a` have the same token or the same name"),
        ("127.0.0.1:0", of(one(), false, Some(&junk)),                             "the TLS certificate cannot be used: there is no certificate in its file"),
        ("127.0.0.1:0", of(one(), false, Some(&no_key)),                           "the TLS certificate cannot be used: there is no private key in its file"),
        ("127.0.0.1:0", of(one(), false, Some(&mixed)),                            "the TLS certificate cannot be used: keys may not be consistent: KeyMismatch"),
        ("127.0.0.1:0", host("https://a.example"),                                 "`https://a.example` in `hosts` is no host name"),
        ("127.0.0.1:0", body(0),                                                   "the limit `body` is out of range"),
        ("127.0.0.1:0", body((16 << 20) + 1),                                      "the limit `body` is out of range"),
    ];
    for (address, config, expected) in cases {
        let found = Edge::bind(address.parse().unwrap(), config, door()).await;
        let found = found.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(found, expected, "{address}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let house = House::new().await;
    let config = EdgeConfig { agents: vec![agent("one", "a")], ..EdgeConfig::default() };
    let error = Edge::bind(house.address, config, door()).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on `{}`", house.address)), "{error}");
    house.stop().await;
}

#[tokio::test]
async fn anybody_may_ask_where_that_is_wanted() {
    let house = House::of(EdgeConfig { anonymous: true, ..EdgeConfig::default() }).await;
    let session = house.session("", "2025-11-25").await.headers("-authorization");
    let reply = session.post(&legacy(1, "echo", "")).await;
    assert_eq!(reply.json()["result"]["agent"], "anonymous");
    let evil = session.headers("origin: http://evil.example");
    assert_eq!(evil.post(&legacy(1, "echo", "")).await.status, 403);
    house.stop().await;
}

#[tokio::test]
async fn a_new_token_lets_in() {
    let token = new_token();
    let config = EdgeConfig { agents: vec![agent("one", &token)], ..EdgeConfig::default() };
    let house = House::of(config).await;
    assert_eq!(house.client(&token).post("{").await.status, 400);
    assert_eq!(house.client(&new_token()).post("{").await.status, 401);
    house.stop().await;
}

#[tokio::test]
async fn tls_is_spoken_with_the_given_certificate() {
    let (tls, der) = certificate();
    let config = |header_timeout: Duration| EdgeConfig {
        agents: vec![agent("alice", ALICE)],
        hosts: vec!["gateway.example".to_owned()],
        tls: Some(tls.clone()),
        limits: EdgeLimits { header_timeout, ..EdgeLimits::default() },
        ..EdgeConfig::default()
    };
    let house = House::of(config(PATIENCE)).await;
    let mut roots = RootCertStore::empty();
    roots.add(der).unwrap();
    let mut client = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let connector = TlsConnector::from(Arc::new(client));
    let asking = house.client(ALICE).headers("host: gateway.example | accept: */*");
    let stream = asking.connect().await;
    let name = ServerName::try_from("gateway.example").unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let init = legacy(1, "initialize", r#""protocolVersion":"2025-11-25""#);
    stream.write_all(asking.text("POST", "/mcp", &init).as_bytes()).await.unwrap();
    let reply = Live::read(stream).await.whole().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.header("mcp-session-id").is_some_and(|id| id.len() == 32));

    house.stop().await;

    // Plain text is not answered, and neither is somebody who says nothing.
    let house = House::of(config(Duration::from_millis(500))).await;
    let asking = house.client(ALICE);
    for text in ["POST /mcp HTTP/1.1\r\n\r\n", ""] {
        let mut stream = asking.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut read)).await.unwrap().unwrap();
        assert!(!read.starts_with(b"HTTP"), "{text:?}");
    }
    house.stop().await;
}
