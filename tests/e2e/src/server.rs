//! Servers that the API server calls over TLS: webhooks, and APIs that extend it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::serve::Listener;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::Sender;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// Serves on this machine until it is dropped.
pub struct Server {
    /// Its certificate, which vouches for itself, as PEM.
    pub certificate: String,
    /// Where it listens, on every address.
    pub port: u16,
    _until_dropped: Sender<()>,
}

impl Server {
    /// A conversion webhook, as the part of an operator that is back. Clients know it by this name.
    pub fn converter(name: &str) -> anyhow::Result<Self> {
        Self::start(name, Router::new().fallback(axum::routing::post(convert)))
    }

    /// One that clients know by this name.
    pub fn start(name: &str, app: Router) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed([name.to_owned()])?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![made.cert.der().clone()], key)?;
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = executor.block_on(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))).context("listen")?;
        let port = listener.local_addr()?.port();
        let listener = Tls { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
        let (until_dropped, dropped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            executor.block_on(async {
                tokio::select! {
                    _ = axum::serve(listener, app) => {}
                    _ = dropped => {}
                }
            });
        });
        Ok(Self { certificate: made.cert.pem(), port, _until_dropped: until_dropped })
    }
}

/// A certificate for this name that was valid last year only, as PEM.
pub fn expired_certificate(name: &str) -> anyhow::Result<String> {
    let mut params = rcgen::CertificateParams::new([name.to_owned()])?;
    (params.not_before, params.not_after) = (rcgen::date_time_ymd(2025, 1, 1), rcgen::date_time_ymd(2025, 12, 31));
    Ok(params.self_signed(&rcgen::KeyPair::generate()?)?.pem())
}

/// The versions differ by their name only.
async fn convert(Json(mut review): Json<Value>) -> Json<Value> {
    let mut request = review["request"].take();
    let mut objects = request["objects"].take();
    for object in objects.as_array_mut().into_iter().flatten() {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
    }
    review["response"] = json!({"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}});
    Json(review)
}

/// Accepts those who agree on TLS.
struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (client, from) = Listener::accept(&mut self.listener).await;
            if let Ok(client) = self.acceptor.accept(client).await {
                return (client, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
