//! Asking again.

use http::Request;
use kube::Client;
use kube::client::Body;
use kube::client::retry::RetryPolicy;
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder, service_fn};

/// The same client, which asks again while the server says that it is busy. Who asks it sets the deadline.
pub fn retrying(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let send = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move { client.send(request).await.map_err(BoxError::from) }
    });
    Client::new(ServiceBuilder::new().layer(RetryLayer::new(RetryPolicy::server_retry())).service(send), namespace)
}
