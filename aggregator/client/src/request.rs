//! One request, bounded in time and in length.

use std::error::Error;
use std::time::Duration;

use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;

use crate::fault::{Fault, kind};

/// What is accepted where the metadata of an object is enough.
pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
pub(crate) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Response {
    /// An answer that is no success is a fault.
    pub fn success(self) -> Result<Response, Fault> {
        match self.status {
            StatusCode::OK | StatusCode::CREATED => Ok(self),
            status => Err(Fault::answered(status, &self.body)),
        }
    }

    /// The body, read as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// When to ask again, if the server says so; in seconds, as the API server has it.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}

/// Sends it, and reads the answer to its end. kube itself would wait for ever for one that has begun.
pub(crate) async fn send(
    client: &Client,
    request: Request<Body>,
    timeout: Duration,
    max_bytes: usize,
) -> Result<Response, Fault> {
    let answer = async {
        let (head, body) = client.send(request).await?.into_parts();
        let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let body = read(Limited::new(body, max_bytes), length.unwrap_or(0).min(max_bytes)).await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => Fault::too_large("the answer", max_bytes),
            false => Fault::new(kind(error.as_ref()), error),
        })?;
        Ok(Response { status: head.status, headers: head.headers, body })
    };
    tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| Err(Fault::timed_out(timeout)))
}

/// Each byte is copied once: there may be hundreds of megabytes.
async fn read(mut body: Limited<Body>, length: usize) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::with_capacity(length);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}
