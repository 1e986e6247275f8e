//! How a fault looks on the wire.

use std::{io, sync::Arc, time::Duration};

use axum::body::Bytes;
use futures::{Stream, StreamExt as _, stream};

use crate::Fault;
use crate::list::expired_token;
use crate::request::Asked;
use crate::server::{Reply, Server, connection_cut};
use crate::status::Status;
use crate::watch::Watch;

/// What happens to a request beside or instead of its answer.
#[derive(Debug)]
pub(crate) enum Effect {
    None,
    /// Instead of it.
    Answer(Reply),
    /// Before it.
    Wait(Duration),
    /// In the middle of it.
    Cut,
    /// There is none.
    Never,
}

/// A request without the right is refused first, then come the faults.
pub(crate) fn effect(server: &Arc<Server>, asked: &Asked) -> Effect {
    let mut world = server.world();
    if let Err(error) = world.refresh() {
        return Effect::Answer(Status::from(error).into());
    }
    let allowed = match (&world.tokens, asked.bearer_token()) {
        (None, _) => true,
        (Some(tokens), Some(token)) => tokens.iter().any(|known| known == token),
        (Some(_), None) => false,
    };
    if !allowed {
        return Effect::Answer(unauthorized());
    }
    if let Err(refused) = asked.may(None) {
        return Effect::Answer(refused.into());
    }
    match world.injector.next(asked.method.as_str(), asked.verb, &asked.path) {
        None => Effect::None,
        Some(Fault::Cut) => Effect::Cut,
        Some(Fault::Silent) => Effect::Never,
        Some(Fault::Slow { slow_ms }) => Effect::Wait(Duration::from_millis(slow_ms)),
        Some(Fault::Nonsense) => Effect::Answer(Reply::json(200, r#"{"kind":"List","metadata":{"resourceVersion":"#)),
        Some(Fault::Gone) if asked.verb == "watch" => Effect::Answer(Reply::Watch(Watch::expired(server))),
        Some(Fault::Gone) => Effect::Answer(expired_token().into()),
        Some(Fault::Forbidden) => Effect::Answer(forbidden(asked)),
        Some(Fault::Unauthorized) => Effect::Answer(unauthorized()),
        Some(Fault::Status { status, retry_after }) => Effect::Answer(failure(status, retry_after)),
    }
}

fn unauthorized() -> Reply {
    Status::new(401, "Unauthorized", "Unauthorized").into()
}

fn forbidden(asked: &Asked) -> Reply {
    match &asked.attributes {
        Some(attributes) => Status::forbidden_by_rbac(attributes).into(),
        None => Status::forbidden_path(asked.verb, &asked.path).into(),
    }
}

fn failure(status: u16, retry_after: Option<u64>) -> Reply {
    let mut reply = match status {
        // Priority and fairness refuses in plain text.
        429 => Reply::text(429, "text/plain; charset=utf-8", "Too many requests, please try again later.\n"),
        503 => Status::new(503, "ServiceUnavailable", "the server is currently unable to handle the request").into(),
        504 => Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout").into(),
        status => Status::new(status, "InternalError", "Internal error occurred: this fails on purpose").into(),
    };
    let retry_after = retry_after.or((status == 429).then_some(1));
    if let (Reply::Whole { headers, .. }, Some(seconds)) = (&mut reply, retry_after) {
        headers.push(("retry-after", seconds.to_string()));
    }
    reply
}

/// A body that ends in an error, after what there is of it was sent.
pub(crate) fn cut(begin: Bytes) -> impl Stream<Item = io::Result<Bytes>> {
    let end = stream::once(async {
        // What is written at once with the error would never leave.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(connection_cut())
    });
    stream::once(async move { Ok(begin) }).chain(end)
}
