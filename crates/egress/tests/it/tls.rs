use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ringfence_egress::{CertificateDer, Client, Dialer, EgressError, Request};
use ringfence_policy::Code;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::it::server::{Server, ok, redirect, resolver, scope};

/// An authority made for one test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

fn client(roots: impl IntoIterator<Item = CertificateDer<'static>>) -> Client {
    let dialer = Dialer::new(Arc::new(resolver(&[("one.acme.io", &["127.0.0.1"])])));
    Client::builder().dialer(dialer).extra_roots(roots).without_platform_roots().build()
}

async fn fetch(client: &Client, host: &str, server: &Server) -> Result<String, EgressError> {
    let request = Request::get(&format!("https://{host}:{}/", server.port())).unwrap();
    client.send(&scope(&["one.acme.io", "127.0.0.1"], &["127.0.0.0/8"]), request).await?.text().await
}

#[tokio::test]
async fn only_a_certificate_for_that_very_host_is_trusted() {
    let authority = Authority::new();
    let server = async |name: &str| {
        Server::start_with("127.0.0.1", Some(authority.acceptor(name)), |_| ok("sealed")).await
    };
    let (named, numbered, other) =
        (server("one.acme.io").await, server("127.0.0.1").await, server("two.acme.io").await);
    let trusting = client([authority.root()]);
    assert_eq!(fetch(&trusting, "one.acme.io", &named).await.unwrap(), "sealed");
    assert_eq!(fetch(&trusting, "127.0.0.1", &numbered).await.unwrap(), "sealed");

    let strangers = client([Authority::new().root()]);
    #[rustfmt::skip]
    let refused = [
        (&trusting,  "one.acme.io", &other),
        (&trusting,  "one.acme.io", &numbered),
        (&trusting,  "127.0.0.1",   &named),
        (&strangers, "one.acme.io", &named),
    ];
    for (client, host, server) in refused {
        let error = fetch(client, host, server).await.unwrap_err();
        assert!(matches!(error, EgressError::Tls { .. }), "{host}: {error}");
        assert_eq!(error.code(), Code::ExecutionFailed);
    }
    assert!(other.seen().iter().all(|seen| seen == "(no handshake)"));
}

#[tokio::test]
async fn extra_roots_stand_beside_the_platforms() {
    let authority = Authority::new();
    let server =
        Server::start_with("127.0.0.1", Some(authority.acceptor("one.acme.io")), |_| ok("sealed")).await;
    let builder = || {
        let dialer = Dialer::new(Arc::new(resolver(&[("one.acme.io", &["127.0.0.1"])])));
        Client::builder().dialer(dialer)
    };
    let extended = builder().extra_roots([authority.root()]).build();
    assert_eq!(fetch(&extended, "one.acme.io", &server).await.unwrap(), "sealed");
    // Without a store on this machine there are no roots at all, which refuses as well.
    let error = fetch(&builder().build(), "one.acme.io", &server).await.unwrap_err();
    assert!(matches!(error, EgressError::Tls { .. } | EgressError::TlsRoots { .. }), "{error}");
}

#[tokio::test]
async fn encryption_is_not_dropped_on_the_way() {
    let plain = Server::start("127.0.0.1", |_| ok("in the clear")).await;
    let location = format!("http://one.acme.io:{}/", plain.port());
    let authority = Authority::new();
    let sealed = Server::start_with("127.0.0.1", Some(authority.acceptor("one.acme.io")), move |_| {
        redirect("302 Found", &location)
    })
    .await;
    let error = fetch(&client([authority.root()]), "one.acme.io", &sealed).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "HOST_NOT_ALLOWED: the redirect is not followed: it would leave https for http"
    );
    assert!(plain.seen().is_empty());
}

#[tokio::test]
async fn what_is_not_tls_is_a_failure() {
    let plain = Server::start("127.0.0.1", |_| ok("")).await;
    let error = fetch(&client([Authority::new().root()]), "one.acme.io", &plain).await.unwrap_err();
    assert_eq!(error.code(), Code::ExecutionFailed);
}
