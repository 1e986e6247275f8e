//! One GET, which is sent once more to a server that says when it has time.

use std::time::Duration;

use aggregator_core::state::Answer;
use http::{Request, StatusCode, header};
use kube::Client;
use kube::client::Body;

use super::bounds::Bounds;
use crate::Fault;
use crate::request::{self, Response};

/// One GET that does not wait for others.
pub async fn ask(client: &Client, path: &str, accept: &str, bounds: Bounds) -> Answer<Response> {
    let send = async || -> Result<Response, Fault> {
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty())?;
        request::send(client, request, bounds.request_timeout, bounds.answer).await
    };
    let mut answered = send().await;
    // Once, and only as soon as the server wants it and who waits can bear.
    if let Some(after) = answered.as_ref().ok().and_then(busy).filter(|after| *after <= bounds.request_timeout) {
        tokio::time::sleep(after).await;
        answered = send().await;
    }
    match answered {
        Ok(Response { status: StatusCode::NOT_FOUND, .. }) => Answer::Missing,
        Ok(response) => response.success().map_or_else(Answer::from, Answer::Seen),
        Err(fault) => fault.into(),
    }
}

/// When to ask again a server that has too much to do.
fn busy(response: &Response) -> Option<Duration> {
    let is_busy = matches!(response.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    response.retry_after().filter(|_| is_busy)
}
