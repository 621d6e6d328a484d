//! TLS towards the server: rustls with aws-lc, and full verification always.
//!
//! INVARIANT: there is no way to make a connection here that accepts a certificate for another host.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt as _};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::error::PostgresError;

/// What every handshake with the server needs; nothing where the way is plain text.
#[derive(Clone)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// Trusts the certificates in a file, or those that the platform trusts.
    pub(super) fn new(roots: Option<&Path>, place: &Arc<str>, plain: bool) -> Result<Self, PostgresError> {
        if plain {
            return Ok(Self(None));
        }
        let failed =
            |error: rustls::Error| PostgresError::Tls { place: Arc::clone(place), why: error.to_string() };
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let mut config = match roots {
            Some(file) => builder.with_root_certificates(own(file)?).with_no_client_auth(),
            None => builder.with_platform_verifier().map_err(failed)?.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
    }
}

/// Reads the certificates of a file.
fn own(file: &Path) -> Result<RootCertStore, PostgresError> {
    let refused = |why: String| PostgresError::Address { why: format!("`{}` {why}", file.display()) };
    let pem = std::fs::read(file).map_err(|error| refused(format!("cannot be read: {}", error.kind())))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| refused("is not in the PEM format".to_owned()))?;
        roots.add(certificate).map_err(|error| refused(format!("holds a bad certificate: {error}")))?;
    }
    if roots.is_empty() { Err(refused("holds no certificate".to_owned())) } else { Ok(roots) }
}

/// A handshake to be made with one host.
pub(super) struct Handshake {
    connector: Option<TlsConnector>,
    host: ServerName<'static>,
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        // A Unix socket has no name, and no handshake either.
        let domain = if domain.is_empty() { "localhost" } else { domain };
        Ok(Handshake { connector: self.0.clone(), host: ServerName::try_from(domain.to_owned())? })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Encrypted>>;

    fn connect(self, stream: Socket) -> Self::Future {
        async move {
            let connector = self.connector.ok_or(io::ErrorKind::Unsupported)?;
            Ok(Encrypted(Box::new(connector.connect(self.host, stream).await?)))
        }
        .boxed()
    }
}

/// An encrypted connection.
pub(super) struct Encrypted(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    /// The certificate has been verified, so that binding the password to it adds nothing.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
