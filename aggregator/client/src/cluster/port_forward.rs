//! A TLS connection to a port of a pod, through the API server.

use std::sync::Arc;

use findings::FaultKind;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use tokio::io::DuplexStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::Fault;
use crate::certificates::AcceptedCertificates;

/// Connects to `port` of a pod. The API server decides which pod is at the other end, so any certificate of it will do: the
/// service makes its own at each start.
pub async fn forwarded_tls(
    client: &Client,
    namespace: &str,
    pod: &str,
    port: u16,
) -> Result<TlsStream<DuplexStream>, Fault> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut forwarder = pods.portforward(pod, &[port]).await?;
    let stream = forwarder.take_stream(port).ok_or_else(|| Fault::new(FaultKind::Malformed, "no stream was opened"))?;
    let malformed = |error: &dyn std::error::Error| Fault::new(FaultKind::Malformed, crate::words(error));
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions();
    let config = config.map_err(|error| malformed(&error))?.dangerous();
    let config = config.with_custom_certificate_verifier(Arc::new(AcceptedCertificates::Any)).with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(|error| malformed(&error))?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| malformed(&error))
}
