//! Keeps watches apart.
//!
//! kube's watcher waits after an error, but not after a watch that was answered and ended at once,
//! as by a proxy without a server behind it: it would ask a thousand times per second.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::{Instant, sleep_until};

use super::count::is_watch;

/// Between the beginnings of two watches.
const APART: Duration = Duration::from_secs(1);

/// Wraps the client's service.
pub struct Layer;

impl<S> tower::Layer<S> for Layer {
    type Service = Throttled<S>;

    fn layer(&self, inner: S) -> Throttled<S> {
        Throttled { inner, next: Instant::now() }
    }
}

/// A service that is not asked for watches in quick succession.
pub struct Throttled<S> {
    inner: S,
    next: Instant,
}

impl<S, A, B> tower::Service<Request<A>> for Throttled<S>
where
    S: tower::Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let throttled = is_watch(&request);
        // Nothing is sent before it is polled.
        let answer = self.inner.call(request);
        if !throttled {
            return Box::pin(answer);
        }
        let at = self.next.max(Instant::now());
        self.next = at + APART;
        Box::pin(async move {
            sleep_until(at).await;
            answer.await
        })
    }
}
