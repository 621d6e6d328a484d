//! Speaking TLS.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::config::TlsFiles;
use super::error::EdgeError;

/// Reads the certificate and its key. Nothing of the key is in the error.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, EdgeError> {
    let unusable = |reason: &str| EdgeError::Tls { reason: reason.to_owned() };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&files.certificate)
        .collect::<Result<_, _>>()
        .map_err(|_| unusable("the certificate is no PEM text"))?;
    if chain.is_empty() {
        return Err(unusable("there is no certificate in its file"));
    }
    let key = PrivateKeyDer::from_pem_slice(&files.key)
        .map_err(|_| unusable("there is no private key in its file"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| unusable(&error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
