//! Writing one Event by server-side apply: one request creates or renews it.

use std::fmt::Display;
use std::time::Duration;

use client::{Content, Response};
use http::{Method, StatusCode};
use reconcile::{event::Draft, reconciler::WriteOutcome};
use serde_json::Value;

use super::{Cluster, events};

/// `fieldManager`.
const MANAGER: &str = "why-terminating-agent";
/// Asked to wait for longer, we ask again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

impl Cluster {
    pub async fn write(&self, draft: &Draft) -> WriteOutcome {
        let path = format!("{}?fieldManager={MANAGER}&force=true", events::path(&draft.name));
        match self.api.send(Method::PATCH, &path, Content::Apply(&draft.to_json())).await {
            Ok(answer) if matches!(answer.status, StatusCode::OK | StatusCode::CREATED) => written(&answer, draft),
            Ok(answer) => outcome(answer.status, answer.retry_after(), &draft.name),
            Err(fault) => {
                tracing::debug!(event = %draft.name, error = %findings::clean(&fault.says, 300), "not written");
                WriteOutcome::Unknown { after: None }
            }
        }
    }
}

/// One answers OK and is not the API server, as a proxy or its page for logging in: the Event is what counts.
fn written(answer: &Response, draft: &Draft) -> WriteOutcome {
    let event: Value = answer.json().unwrap_or_default();
    match event["metadata"]["name"] == draft.name.as_str() {
        true => WriteOutcome::Done { event_time: draft.event_time.clone() },
        false => WriteOutcome::Unknown { after: None },
    }
}

fn outcome(code: StatusCode, after: Option<Duration>, name: impl Display) -> WriteOutcome {
    let after = after.map(|wait| wait.min(LONGEST_WAIT));
    match code {
        // What cannot be changed differs.
        StatusCode::UNPROCESSABLE_ENTITY => WriteOutcome::Differs,
        // An expired token is renewed within a minute; a conflict has passed when it is reported; no rule of a cluster
        // refuses a request as too slow or its object as gone.
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::UNAUTHORIZED
        | StatusCode::CONFLICT
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::GONE
        | StatusCode::SERVICE_UNAVAILABLE => WriteOutcome::Busy { after },
        // etcd may have stored it before its answer was late.
        code if code.is_server_error() => WriteOutcome::Unknown { after },
        code => {
            tracing::warn!(event = %name, %code, "the API server does not take Events; is the Role bound?");
            WriteOutcome::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_so_for_a_moment_is_tried_again_soon() {
        let answers = [400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 503];
        let is_refused = |code: &u16| {
            let code = StatusCode::from_u16(*code).unwrap();
            matches!(outcome(code, None, "node.1"), WriteOutcome::Refused)
        };
        assert_eq!(answers.into_iter().filter(is_refused).collect::<Vec<_>>(), [400, 403, 404, 413]);
    }
}
