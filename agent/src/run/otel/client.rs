//! Sends what is exported, on the agent's own runtime.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, hyper::HyperClient};
use tokio::runtime::Handle;

/// An HTTP client for threads that have no runtime.
#[derive(Debug)]
pub struct Client {
    /// What it sends. A collector can take the one and not the other.
    what: &'static str,
    client: HyperClient,
    runtime: Handle,
    /// The collector was away at the last export: said once, not each time.
    quiet: AtomicBool,
}

impl Client {
    /// With this time for each request.
    pub fn new(what: &'static str, runtime: &Handle, timeout: Duration) -> Self {
        let client = HyperClient::with_default_connector(timeout, None);
        Client { what, client, runtime: runtime.clone(), quiet: AtomicBool::new(false) }
    }

    fn notice(&self, failure: Option<&str>) {
        let was_quiet = self.quiet.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(why) if !was_quiet => {
                let why = findings::clean(why, 300);
                tracing::warn!(what = self.what, why, "the OpenTelemetry collector does not take it; going on without");
            }
            None if was_quiet => tracing::info!(what = self.what, "the OpenTelemetry collector takes it again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let answer = match self.runtime.spawn(async move { client.send_bytes(request).await }).await {
            Ok(answer) => answer,
            Err(ended) => Err(ended.into()),
        };
        match &answer {
            Ok(answer) if answer.status().is_success() => self.notice(None),
            Ok(answer) => self.notice(Some(&format!("it answers {}", answer.status()))),
            Err(error) => self.notice(Some(&in_full(error.as_ref()))),
        }
        answer
    }
}

/// With everything that it comes from: hyper says "client error", what it comes from says why.
fn in_full(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
