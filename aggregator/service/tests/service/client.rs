//! Asks the service over TLS, and believes one certificate only.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// A certificate that was made for a test, and whom it makes believed.
#[derive(Clone)]
pub struct Pair {
    pub certificate: CertificateDer<'static>,
    pub chain_pem: String,
    pub key_pem: String,
}

impl Pair {
    pub fn new() -> Pair {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Pair {
            certificate: made.cert.der().clone(),
            chain_pem: made.cert.pem(),
            key_pem: made.signing_key.serialize_pem(),
        }
    }

    /// Puts both files there as a mounted Secret is: the directory changes in one step.
    pub fn put(&self, dir: &Path) {
        let inside = dir.join(format!("..{}", self.key_pem.len() + fastrand::usize(..1 << 30)));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("tls.crt"), &self.chain_pem).unwrap();
        std::fs::write(inside.join("tls.key"), &self.key_pem).unwrap();
        let beside = dir.join("..new");
        std::os::unix::fs::symlink(&inside, &beside).unwrap();
        std::fs::rename(&beside, dir.join("tls")).unwrap();
    }
}

/// A client with a user's token.
#[derive(Clone)]
pub struct Client {
    pub runtime: Handle,
    pub address: SocketAddr,
    pub believes: CertificateDer<'static>,
}

impl Client {
    pub async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        self.connect_over(TcpStream::connect(self.address).await?).await
    }

    pub async fn connect_over(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.believes.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// The head, and the body as it comes.
    pub async fn open(&self, path: &str, token: &str, headers: &[(&str, &str)]) -> hyper::Response<Incoming> {
        let stream = self.connect().await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = hyper::Request::get(path).header("host", "service");
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap()
    }

    /// All at the same time, each over a connection of its own.
    pub fn ask_together(&self, asked: impl Iterator<Item = (&'static str, String)>) -> Vec<hyper::Response<Incoming>> {
        let asked: Vec<_> = asked.collect();
        let each = asked.iter().map(|(path, token)| self.open(path, token, &[]));
        self.runtime.block_on(futures::future::join_all(each))
    }

    pub fn ask(&self, path: &str, token: &str, headers: &[(&str, &str)]) -> hyper::Response<Bytes> {
        self.runtime.block_on(async {
            let (head, body) = self.open(path, token, headers).await.into_parts();
            let body = tokio::time::timeout(Duration::from_secs(40), body.collect()).await.unwrap();
            hyper::Response::from_parts(head, body.unwrap().to_bytes())
        })
    }

    pub fn get(&self, path: &str, token: &str) -> (u16, String) {
        let response = self.ask(path, token, &[]);
        (response.status().as_u16(), String::from_utf8(response.into_body().to_vec()).unwrap())
    }

    pub fn json(&self, path: &str, token: &str) -> (u16, Value) {
        let (status, body) = self.get(path, token);
        (status, serde_json::from_str(&body).unwrap_or_else(|_| json!(body)))
    }

    pub fn status(&self, path: &str, token: &str) -> u16 {
        self.ask(path, token, &[]).status().as_u16()
    }

    /// Whether it is served with the certificate that is believed.
    pub fn is_believed(&self) -> bool {
        self.runtime.block_on(async { self.connect().await.is_ok() })
    }
}
