//! One who shows a known certificate, asked with the credentials that the API server is asked with.
//!
//! Sends a token only to a server that has the key to such a certificate; otherwise no connection is made.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use findings::FaultKind;
use futures::AsyncBufRead;
use http::Request;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tower::{BoxError, ServiceBuilder};

use crate::certificates::AcceptedCertificates;
use crate::fault::Fault;

/// The body of the answer at `address`, if the server has one of the `certificates` (DER in base64). The caller bounds what
/// it reads.
pub async fn read_pinned(
    config: &Config,
    address: SocketAddr,
    certificates: &[String],
    path: &str,
) -> Result<impl AsyncBufRead + use<>, Fault> {
    let client = pinned(config.clone(), address, certificates)?;
    Ok(client.request_stream(Request::get(path).body(Vec::new())?).await?)
}

fn pinned(mut config: Config, address: SocketAddr, certificates: &[String]) -> Result<Client, Fault> {
    let not_asked = |error: &dyn std::error::Error| Fault::new(FaultKind::NotAsked, crate::words(error));
    config.cluster_url = format!("https://{address}").parse().map_err(|error| not_asked(&error))?;
    config.proxy_url = None;
    if config.root_cert_file.is_none() {
        // No certificate authority is needed, and by default every certificate of the host would be loaded.
        config.root_cert = Some(Vec::new());
    }
    let decoded = certificates.iter().map(|der| BASE64_STANDARD.decode(der).map(CertificateDer::from));
    let certificates = decoded.collect::<Result<_, _>>().map_err(|error| not_asked(&error))?;
    let mut tls = config.rustls_client_config()?;
    tls.dangerous().set_certificate_verifier(Arc::new(AcceptedCertificates::Only(certificates)));
    let https = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_only().enable_http1().build();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(https));
    Ok(Client::new(service, config.default_namespace))
}
