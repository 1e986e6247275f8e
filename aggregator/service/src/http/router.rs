//! Which path is answered by what.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::caller::METRICS_PATH;
use super::{Shared, metrics, openapi, page, routes};

pub fn router(shared: Shared) -> Router {
    let api = routes::routes().into_iter().fold(Router::new(), |api, route| api.route(route.path, route.handler));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route(METRICS_PATH, get(metrics::render))
        .nest(openapi::PREFIX, api)
        .merge(page::router())
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(shared)
}

/// Ready after the first judgement; an API server that is away does not make a replica unready that can still show the last
/// one.
async fn ready(State(shared): State<Shared>) -> (StatusCode, &'static str) {
    match shared.served.published.borrow().report {
        Some(_) => (StatusCode::OK, "ok\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "nothing has been judged yet\n"),
    }
}
