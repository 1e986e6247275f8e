//! Requests that are made one by one.

use std::time::Duration;

use http::{Method, Request, StatusCode, header};
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::Fault;
use crate::request::{self, Response};
use crate::watch::{Changes, Watch};

/// How long is waited, and how much is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For one answer, to its end.
    pub request_timeout: Duration,
    /// For all pages of a list.
    pub list_timeout: Duration,
    /// No answer is read further.
    pub max_answer_bytes: usize,
}

impl Limits {
    /// Those of requests that are no lists.
    pub const fn new(request_timeout: Duration, max_answer_bytes: usize) -> Self {
        Limits { request_timeout, list_timeout: request_timeout, max_answer_bytes }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    Nothing,
    Json(&'a Value),
    MergePatch(&'a Value),
    /// Server-side apply.
    Apply(&'a Value),
}

impl Content<'_> {
    fn media_type(&self) -> Option<&'static str> {
        match self {
            Content::Nothing => None,
            Content::Json(_) => Some("application/json"),
            Content::MergePatch(_) => Some("application/merge-patch+json"),
            Content::Apply(_) => Some("application/apply-patch+yaml"),
        }
    }

    fn body(&self) -> Vec<u8> {
        match self {
            Content::Nothing => Vec::new(),
            Content::Json(value) | Content::MergePatch(value) | Content::Apply(value) => value.to_string().into_bytes(),
        }
    }
}

/// The API server, and how much of it is asked for.
#[derive(Clone)]
pub struct ApiClient {
    pub(crate) client: Client,
    pub(crate) limits: Limits,
}

impl ApiClient {
    /// Asks through `client`.
    pub fn new(client: Client, limits: Limits) -> Self {
        ApiClient { client, limits }
    }

    /// Sends one request. An answer is one whatever its status.
    pub async fn send(&self, method: Method, path: &str, content: Content<'_>) -> Result<Response, Fault> {
        let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, "application/json");
        if let Some(media_type) = content.media_type() {
            request = request.header(header::CONTENT_TYPE, media_type);
        }
        self.send_request(request.body(Body::from(content.body()))?).await
    }

    /// The object at this path; none where there is none.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Fault> {
        let response = self.send(Method::GET, path, Content::Nothing).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(None),
            _ => response.success()?.json().map(Some),
        }
    }

    /// Begins to follow a collection.
    pub async fn watch(&self, changes: Changes<'_>) -> Result<Watch, Fault> {
        Watch::begin(&self.client, changes, self.limits.request_timeout).await
    }

    pub(crate) async fn send_request(&self, request: Request<Body>) -> Result<Response, Fault> {
        let Limits { request_timeout, max_answer_bytes, .. } = self.limits;
        request::send(&self.client, request, request_timeout, max_answer_bytes).await
    }
}
