//! Writing one Event by server-side apply: one request creates or renews it.

use std::fmt::Display;
use std::time::Duration;

use findings::event::NAMESPACE;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use serde_json::Value;

use super::Cluster;
use crate::host::api::LONGEST;
use reconcile::{event::Draft, reconciler::WriteOutcome};

/// `fieldManager`.
const MANAGER: &str = "why-terminating-agent";
/// Asked to wait for longer, we ask again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

impl Cluster {
    /// Writes it. kube's own `patch` would do, but does not show `Retry-After`.
    pub async fn write(&self, draft: &Draft) -> WriteOutcome {
        match tokio::time::timeout(self.api.deadlines().answer, self.apply(draft)).await {
            Ok(Ok(Answer::Event(name))) if name == draft.name.as_str() => {
                WriteOutcome::Done { event_time: draft.event_time.clone() }
            }
            // One answers OK and is not the API server, as a proxy or its page for logging in: the Event is what counts.
            Ok(Ok(Answer::Event(_))) => WriteOutcome::Unknown { after: None },
            Ok(Ok(Answer::Not(code, headers))) => outcome(code, &headers, &draft.name),
            Ok(Err(error)) => {
                tracing::debug!(event = %draft.name, error = %findings::clean(&error.to_string(), 300), "not written");
                WriteOutcome::Unknown { after: None }
            }
            Err(_) => WriteOutcome::Unknown { after: None },
        }
    }

    async fn apply(&self, draft: &Draft) -> anyhow::Result<Answer> {
        let name = &draft.name;
        let path = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events/{name}");
        let request = Request::patch(format!("{path}?fieldManager={MANAGER}&force=true"))
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/apply-patch+yaml")
            .body(Body::from(serde_json::to_vec(&draft.to_json())?))?;
        let (head, body) = self.api.http().send(request).await?.into_parts();
        if !matches!(head.status, StatusCode::OK | StatusCode::CREATED) {
            return Ok(Answer::Not(head.status, head.headers));
        }
        let body = Limited::new(body, LONGEST).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let event: Value = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Answer::Event(event["metadata"]["name"].as_str().unwrap_or_default().to_owned()))
    }
}

/// What the API server answers.
enum Answer {
    /// OK, with the Event of this name; empty where there is none in it.
    Event(String),
    /// It did not write it.
    Not(StatusCode, HeaderMap),
}

fn outcome(code: StatusCode, headers: &HeaderMap, name: impl Display) -> WriteOutcome {
    match code {
        // What cannot be changed differs.
        StatusCode::UNPROCESSABLE_ENTITY => WriteOutcome::Differs,
        // An expired token is renewed within a minute; a conflict is over when it is told; no rule of a cluster answers that
        // a request took too long or that what it asks for is gone.
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::UNAUTHORIZED
        | StatusCode::CONFLICT
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::GONE
        | StatusCode::SERVICE_UNAVAILABLE => WriteOutcome::Busy { after: retry_after(headers) },
        // etcd may have stored it before its answer was late.
        code if code.is_server_error() => WriteOutcome::Unknown { after: retry_after(headers) },
        code => {
            tracing::warn!(event = %name, %code, "the API server does not take Events; is the Role bound?");
            WriteOutcome::Refused
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_so_for_a_moment_is_tried_again_soon() {
        let answers = [400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 503];
        let is_refused = |code: &u16| {
            let code = StatusCode::from_u16(*code).unwrap();
            matches!(outcome(code, &HeaderMap::new(), "node.1"), WriteOutcome::Refused)
        };
        assert_eq!(answers.into_iter().filter(is_refused).collect::<Vec<_>>(), [400, 403, 404, 413]);
    }
}
