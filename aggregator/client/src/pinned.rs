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
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use tower::{BoxError, ServiceBuilder};

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
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let mut tls = config.rustls_client_config()?;
    tls.dangerous().set_certificate_verifier(Arc::new(Exactly { certificates, algorithms }));
    let https = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_only().enable_http1().build();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(https));
    Ok(Client::new(service, config.default_namespace))
}

/// Trusts these certificates only, whatever name they carry.
#[derive(Debug)]
struct Exactly {
    certificates: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.iter().any(|known| known == end_entity) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
