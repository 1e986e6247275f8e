//! The `Status` object that a Kubernetes API server answers errors with.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

/// An answer that is no object.
pub(crate) struct Status {
    code: StatusCode,
    reason: &'static str,
    message: String,
}

impl Status {
    /// There is no such object or path.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: StatusCode::NOT_FOUND, reason: "NotFound", message: message.into() }
    }

    /// The precondition of a write does not hold.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self { code: StatusCode::CONFLICT, reason: "Conflict", message: message.into() }
    }
}

impl From<anyhow::Error> for Status {
    fn from(error: anyhow::Error) -> Self {
        Self { code: StatusCode::INTERNAL_SERVER_ERROR, reason: "InternalError", message: format!("{error:#}") }
    }
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        });
        (self.code, Json(body)).into_response()
    }
}
