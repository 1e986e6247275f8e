//! Who asks: the bearer of a token that the API server knows. No header of a proxy is believed.

use axum::extract::FromRequestParts;
use axum::http::{StatusCode, header, request::Parts};

use super::Shared;
use super::review::{LONGEST_TOKEN, User};

/// Somebody the API server knows.
pub struct Caller(pub User);

impl FromRequestParts<Shared> for Caller {
    type Rejection = (StatusCode, [(header::HeaderName, &'static str); 1]);

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Self::Rejection> {
        let refuse = |code: StatusCode| (code, [(header::WWW_AUTHENTICATE, "Bearer")]);
        let mut tokens = parts.headers.get_all(header::AUTHORIZATION).iter();
        let (Some(only), None) = (tokens.next(), tokens.next()) else { return Err(refuse(StatusCode::UNAUTHORIZED)) };
        let token = only.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let token = token.filter(|token| !token.is_empty() && token.len() <= LONGEST_TOKEN);
        let Some(token) = token else { return Err(refuse(StatusCode::UNAUTHORIZED)) };
        match shared.reviews.user(token).await {
            Ok(Some(user)) => Ok(Caller(user)),
            Ok(None) => Err(refuse(StatusCode::UNAUTHORIZED)),
            Err(_) => Err(refuse(StatusCode::SERVICE_UNAVAILABLE)),
        }
    }
}
