//! `/api/v1/stream`: the roots, again whenever they differ, as server-sent events. Nothing is queued for a slow reader: each
//! event is made when there is room for it, of what is so then.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use findings::Permit;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::Shared;
use super::api::{self, Refusal};
use super::caller::{Caller, Token};
use crate::published::Published;

/// Who follows is asked for again after so long, and hears that the connection is alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Between two events.
const MIN_EVENT_INTERVAL: Duration = Duration::from_secs(1);

struct Follower {
    shared: Shared,
    /// The stream ends when the token is no longer valid.
    token: Token,
    published: Receiver<Published>,
    told: Option<String>,
    _place: Permit<String>,
}

/// Sends until the token is no longer valid, or the connection ends.
pub async fn stream(State(shared): State<Shared>, caller: Caller) -> Response {
    let Some(place) = shared.streams.take(caller.user.username.clone()) else {
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "30")]).into_response();
    };
    let published = shared.served.published.clone();
    let follower = Follower { shared, token: caller.token, published, told: None, _place: place };
    let events = futures::stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<String, Infallible>(event), follower))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

impl Follower {
    /// The roots as soon as they differ for this caller. When anything else has changed is not to be seen by when it writes.
    async fn next(&mut self) -> Option<String> {
        let alive_at = Instant::now() + KEEP_ALIVE_INTERVAL;
        loop {
            if self.told.is_some() {
                tokio::select! {
                    changed = self.published.changed() => {
                        changed.ok()?;
                        tokio::time::sleep_until(alive_at.min(Instant::now() + MIN_EVENT_INTERVAL)).await;
                    }
                    () = tokio::time::sleep_until(alive_at) => {}
                }
            }
            let event = self.event().await?;
            if self.told.as_ref() != Some(&event) {
                self.told = Some(event.clone());
                return Some(event);
            }
            if Instant::now() >= alive_at {
                let published = self.published.borrow();
                let at = published.report.as_ref().map(|report| report.at.as_str()).unwrap_or_default();
                let scan = published.oldest_scan.map(|scan| format!(" {scan}")).unwrap_or_default();
                return Some(format!(": checked {at}{scan}\n\n"));
            }
        }
    }

    /// What is so now; none for a token that has ended.
    async fn event(&mut self) -> Option<String> {
        self.published.mark_unchanged();
        Some(match self.token.user(&self.shared.reviews).await {
            Ok(None) => return None,
            Ok(Some(user)) => match api::see(&self.shared, &user).await {
                Ok(seen) => format!("event: roots\ndata: {}\n\n", serde_json::to_string(&api::root_lines(&seen)).ok()?),
                Err(refusal) => unknown(&refusal),
            },
            Err(_) => unknown(&Refusal::RightsUnknown),
        })
    }
}

fn unknown(refusal: &Refusal) -> String {
    format!("event: unknown\ndata: {}\n\n", serde_json::json!({"error": refusal.words()}))
}
