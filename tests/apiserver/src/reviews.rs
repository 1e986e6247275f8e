//! Authentication and authorization: a token has the name of its user, and every user may do everything. A token is made for
//! any requested account.

use axum::{Json, Router, routing::post};
use serde_json::{Value, json};

use crate::guarded;

/// TokenReviews and SubjectAccessReviews, which are answered and kept nowhere.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let reviews = Router::new()
        .route("/apis/authentication.k8s.io/v1/tokenreviews", post(token))
        .route("/apis/authorization.k8s.io/v1/subjectaccessreviews", post(access));
    guarded(reviews)
}

async fn token(Json(review): Json<Value>) -> Json<Value> {
    let user = json!({"username": review["spec"]["token"]});
    let mut status = json!({"authenticated": true, "user": user});
    if let Some(audiences) = review["spec"].get("audiences") {
        status["audiences"] = audiences.clone();
    }
    Json(json!({"status": status}))
}

async fn access() -> Json<Value> {
    Json(json!({"status": {"allowed": true}}))
}
