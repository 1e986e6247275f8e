//! The fake API server as a pod sees it: behind TLS, inside the pod's network, with a service account.

use std::{fs, net::TcpListener, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::{agent_pod::API_PORT, network};

/// The address inside the pod's network.
const ADDRESS: &str = "127.0.0.1";

/// Serves a backend over TLS in the network of another process.
#[derive(Debug, clap::Args)]
pub struct ApiTls {
    /// A process in the pod's network.
    #[arg(long)]
    network_of: i32,
    /// Where the fake listens, in the node's network.
    #[arg(long)]
    backend: String,
    /// Where the service account's files go; `ca.crt` last.
    #[arg(long)]
    service_account: PathBuf,
}

impl ApiTls {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let listener = listen_in_network_of(self.network_of)?;
        let (authority, config) = certificates()?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        for (file, content) in [("namespace", "why-terminating"), ("token", "a-token"), ("ca.crt", &authority)] {
            fs::write(self.service_account.join(file), content).with_context(|| format!("write {file}"))?;
        }
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        executor.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            loop {
                let (client, _) = listener.accept().await.context("accept")?;
                let (acceptor, backend) = (acceptor.clone(), self.backend.clone());
                tokio::spawn(async move {
                    if let Err(error) = pass_on(client, acceptor, &backend).await {
                        eprintln!("{error:#}");
                    }
                });
            }
        })
    }
}

async fn pass_on(client: TcpStream, acceptor: TlsAcceptor, backend: &str) -> anyhow::Result<()> {
    let mut client = acceptor.accept(client).await.context("agree on TLS")?;
    let mut backend = TcpStream::connect(backend).await.context("reach the fake")?;
    // A client that goes away without a farewell is no failure.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut backend).await;
    Ok(())
}

fn listen_in_network_of(pid: i32) -> anyhow::Result<TcpListener> {
    network::within(pid, || {
        let listener = TcpListener::bind((ADDRESS, API_PORT)).context("listen in the pod's network")?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })
}

/// An authority as PEM, and a server that it vouches for; the keys are never written down.
fn certificates() -> anyhow::Result<(String, ServerConfig)> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate()?;
    let certificate = authority.self_signed(&authority_key)?.pem();
    let key = KeyPair::generate()?;
    let server =
        CertificateParams::new(vec![ADDRESS.to_owned()])?.signed_by(&key, &Issuer::new(authority, authority_key))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![server.der().clone()], key)?;
    Ok((certificate, config))
}
