//! The certificate: from files that may be replaced at any time, as a mounted Secret is, or made at the start.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};

/// How often the files are read.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// No certificate and no key is longer.
const MAX_PEM_BYTES: u64 = 1 << 20;

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// From files in PEM. When they are replaced, new connections get what stands there then.
    Files {
        /// The certificate, and after it what its issuers are.
        chain: PathBuf,
        key: PathBuf,
    },
    /// Made at the start. No client knows it: its fingerprint is logged.
    SelfSigned,
}

/// There is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    /// A file holds no PEM of that kind.
    #[error("{path} holds no {what}")]
    Pem { path: PathBuf, what: &'static str },
    /// The key is of another certificate, or of a kind that is not known.
    #[error("the certificate and its key cannot be used")]
    Unusable(#[from] rustls::Error),
    #[error("cannot make a certificate")]
    Made(#[from] rcgen::Error),
    /// The key that was made cannot be read.
    #[error("cannot make a certificate: {0}")]
    Key(&'static str),
}

/// What new connections are served with.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

pub struct Tls {
    from: Certificate,
    /// What was read last, so that only what differs is looked into.
    read: Vec<u8>,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads or makes it.
    pub fn new(from: Certificate) -> Result<Self, TlsError> {
        let (read, certified) = match &from {
            Certificate::Files { chain, key } => {
                let (chain_pem, key_pem) = (bounded(chain)?, bounded(key)?);
                let certified = parse(chain, &chain_pem, key, &key_pem)?;
                ([chain_pem, key_pem].concat(), certified)
            }
            Certificate::SelfSigned => (Vec::new(), made()?),
        };
        let current = Arc::new(Current(RwLock::new(Arc::new(certified))));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let tls = Tls { from, read, current, acceptor: TlsAcceptor::from(Arc::new(config)) };
        tracing::info!(sha256 = %tls.fingerprint(), from = ?tls.from, "the certificate");
        Ok(tls)
    }

    /// Accepts connections with whatever certificate there is then.
    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Takes what is put in place of the files, for ever. What cannot be used changes nothing.
    pub async fn follow(mut self) {
        let Certificate::Files { chain, key } = self.from.clone() else { return std::future::pending().await };
        let mut failed = false;
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            let (chain_path, key_path) = (chain.clone(), key.clone());
            let read = move || Ok::<_, TlsError>((bounded(&chain_path)?, bounded(&key_path)?));
            let read = tokio::task::spawn_blocking(read).await;
            let Ok(read) = read else { continue };
            let taken = read.and_then(|(chain_pem, key_pem)| {
                let both = [chain_pem.as_slice(), &key_pem].concat();
                if both == self.read {
                    return Ok(false);
                }
                let certified = parse(&chain, &chain_pem, &key, &key_pem)?;
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(certified);
                self.read = both;
                Ok(true)
            });
            match taken {
                Ok(true) => tracing::info!(sha256 = %self.fingerprint(), "the certificate was replaced"),
                Ok(false) => {}
                // Said once: while two files are replaced one by one they do not fit for a moment.
                Err(error) if !failed => {
                    let error = anyhow::Error::from(error);
                    tracing::warn!(error = format!("{error:#}"), "the new certificate cannot be used; keeping the old");
                    failed = true;
                    continue;
                }
                Err(_) => continue,
            }
            failed = false;
        }
    }

    fn fingerprint(&self) -> String {
        let current = self.current.0.read().unwrap_or_else(PoisonError::into_inner);
        let digest = current.cert.first().map(Sha256::digest);
        digest.iter().flatten().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn bounded(path: &Path) -> Result<Vec<u8>, TlsError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_PEM_BYTES).read_to_end(&mut bytes));
    read.map_err(|source| TlsError::Read { path: path.to_owned(), source })?;
    Ok(bytes)
}

fn parse(chain: &Path, chain_pem: &[u8], key: &Path, key_pem: &[u8]) -> Result<CertifiedKey, TlsError> {
    let lacks = |path: &Path, what| TlsError::Pem { path: path.to_owned(), what };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain_pem)
        .collect::<Result<_, _>>()
        .map_err(|_| lacks(chain, "certificate in PEM"))?;
    if certificates.is_empty() {
        return Err(lacks(chain, "certificate in PEM"));
    }
    let private = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| lacks(key, "private key in PEM"))?;
    Ok(CertifiedKey::from_der(certificates, private, &ring::default_provider())?)
}

fn made() -> Result<CertifiedKey, TlsError> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(TlsError::Key)?;
    Ok(CertifiedKey::from_der(vec![cert.der().clone()], key, &ring::default_provider())?)
}

#[cfg(test)]
mod tests {
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::*;

    /// Whether a client that trusts only this certificate accepts it for that name.
    async fn is_served_as(tls: &Tls, believed: CertificateDer<'static>, name: &'static str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(believed).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (near, far) = tokio::io::duplex(1 << 16);
        let connector = TlsConnector::from(Arc::new(config));
        let client = connector.connect(ServerName::try_from(name).unwrap(), near);
        let (client, _) = tokio::join!(client, tls.acceptor().accept(far));
        client.is_ok()
    }

    #[tokio::test]
    async fn a_certificate_that_was_made_is_for_a_forwarded_port_and_for_this_start() {
        let (tls, other) = (Tls::new(Certificate::SelfSigned).unwrap(), Tls::new(Certificate::SelfSigned).unwrap());
        let of = |tls: &Tls| tls.current.0.read().unwrap().cert[0].clone();
        for name in ["localhost", "127.0.0.1", "::1"] {
            assert!(is_served_as(&tls, of(&tls), name).await, "{name}");
        }
        assert!(!is_served_as(&tls, of(&tls), "service.example").await);
        assert!(!is_served_as(&tls, of(&other), "localhost").await, "two starts have the same key");
        assert_ne!(tls.fingerprint(), other.fingerprint());
        let digest: Vec<String> = Sha256::digest(of(&tls)).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(tls.fingerprint(), digest.concat(), "what is logged is what openssl x509 -fingerprint prints");
    }
}
