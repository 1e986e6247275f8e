//! Counts the requests that are really sent.

use http::{Method, Request, Response, StatusCode};
use kube::Client;

/// The same client, which passes each request to `count`: its verb, and the status of its answer, if one came.
pub fn counted(
    client: Client,
    count: impl Fn(&'static str, Option<StatusCode>) + Clone + Send + Sync + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| {
        let (client, count, verb) = (client.clone(), count.clone(), verb(&request));
        async move {
            let answer = client.send(request).await;
            count(verb, answer.as_ref().ok().map(Response::status));
            answer
        }
    });
    Client::new(service, namespace)
}

fn verb<B>(request: &Request<B>) -> &'static str {
    let is_watch = || request.uri().query().is_some_and(|query| query.contains("watch=true"));
    match *request.method() {
        Method::GET if is_watch() => "watch",
        Method::GET => "read",
        Method::PATCH => "apply",
        _ => "other",
    }
}
