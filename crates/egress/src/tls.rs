//! TLS towards the other side: rustls with aws-lc, HTTP/1.1 only, the platform's roots and the caller's.

use std::sync::{Arc, OnceLock};

use ringfence_policy::{Host, Target};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::EgressError;

/// Which roots are trusted beside the caller's own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Roots {
    /// The platform's store.
    #[default]
    Platform,
    /// None.
    Own,
}

/// The session settings, made at the first handshake: reading the platform's store takes milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    pub(crate) roots: Roots,
    pub(crate) extra: Vec<CertificateDer<'static>>,
    pub(crate) config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Tls {
    /// Shakes hands, expecting a certificate for exactly the target's host.
    pub(crate) async fn connect<S>(&self, target: &Target, stream: S) -> Result<TlsStream<S>, EgressError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let failed = |problem| EgressError::Tls { target: target.clone(), problem };
        let name = match &target.host {
            Host::Address(address) => ServerName::IpAddress((*address).into()),
            Host::Name(name) => ServerName::try_from(name.as_str().to_owned())
                .map_err(|error| failed(std::io::Error::other(error)))?,
        };
        TlsConnector::from(self.config()?).connect(name, stream).await.map_err(failed)
    }

    fn config(&self) -> Result<Arc<ClientConfig>, EgressError> {
        let made = self.config.get_or_init(|| self.make().map(Arc::new).map_err(|error| error.to_string()));
        made.clone().map_err(|problem| EgressError::TlsRoots { problem })
    }

    fn make(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let mut config = match self.roots {
            Roots::Own => builder.with_root_certificates(self.own()?).with_no_client_auth(),
            Roots::Platform => builder
                .dangerous() // the name of the builder step; the verifier is the platform's own
                .with_custom_certificate_verifier(self.platform(provider)?)
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn own(&self) -> Result<RootCertStore, rustls::Error> {
        let mut store = RootCertStore::empty();
        for root in &self.extra {
            store.add(root.clone())?;
        }
        Ok(store)
    }

    fn platform(&self, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, rustls::Error> {
        Ok(Arc::new(Verifier::new_with_extra_roots(self.extra.iter().cloned(), provider)?))
    }
}
