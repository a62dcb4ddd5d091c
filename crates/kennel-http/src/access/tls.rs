//! TLS, with certificates and a key from files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: {why}", path.display())]
    Pem { path: PathBuf, why: String },
    #[error("certificate and key: {0}")]
    Mismatch(#[from] rustls::Error),
}

/// Reads the certificates and the key. Blocks.
pub(super) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let certs = CertificateDer::pem_file_iter(cert)
        .and_then(|certs| certs.collect::<Result<Vec<_>, _>>())
        .map_err(failed(cert))?;
    if certs.is_empty() {
        return Err(TlsError::Pem {
            path: cert.to_owned(),
            why: "the file has no certificate".into(),
        });
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certs, key)?;
    config.alpn_protocols = vec![b"http/1.1".into()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn failed(path: &Path) -> impl FnOnce(pem::Error) -> TlsError {
    let path = path.to_owned();
    move |error| match error {
        pem::Error::Io(source) => TlsError::Read { path, source },
        // Do not quote the content: it may be secret.
        pem::Error::NoItemsFound => {
            TlsError::Pem { path, why: "the file has no PEM section of the expected kind".into() }
        }
        _ => TlsError::Pem { path, why: "not a PEM file".into() },
    }
}
