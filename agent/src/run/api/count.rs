//! Counts the requests that are really sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Method, Request, Response};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};

/// Requests by verb and answer.
pub type Requests = Family<Labels, Counter>;

/// How a request was answered.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Labels {
    pub(in crate::run) verb: &'static str,
    pub(in crate::run) code: String,
}

/// Wraps the client's service.
pub struct Layer(pub Arc<Requests>);

impl<S> tower::Layer<S> for Layer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, requests: self.0.clone() }
    }
}

/// A service whose answers are counted.
pub struct Counted<S> {
    inner: S,
    requests: Arc<Requests>,
}

impl<S, A, B> tower::Service<Request<A>> for Counted<S>
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
        let verb = verb(&request);
        let (requests, answer) = (self.requests.clone(), self.inner.call(request));
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or("none".to_owned(), |answer| answer.status().as_u16().to_string());
            requests.get_or_create(&Labels { verb, code }).inc();
            answer
        })
    }
}

/// Whether it asks to be told of changes.
fn is_watch<A>(request: &Request<A>) -> bool {
    *request.method() == Method::GET && request.uri().query().is_some_and(|query| query.contains("watch=true"))
}

fn verb<A>(request: &Request<A>) -> &'static str {
    match *request.method() {
        Method::GET if is_watch(request) => "watch",
        Method::GET => "read",
        Method::PATCH => "apply",
        _ => "other",
    }
}
