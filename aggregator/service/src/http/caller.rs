//! Who asks: the bearer of a token that the API server knows. No header of a proxy is believed.

use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::{StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::peer::Peer;
use super::review::{MAX_TOKEN_BYTES, NotReviewed, Reviews, Taken, User};
use super::unread_answers::Asker;

/// The only path that always accepts the API server's own tokens: Prometheus has no other.
pub const METRICS_PATH: &str = "/metrics";

/// A user that the API server knows.
pub struct Caller {
    pub user: User,
    /// With which token; it is kept as long as the request lasts.
    pub token: Token,
}

/// A bearer token. It is never shown.
pub struct Token(String, Taken);

impl Token {
    /// Whose it is now.
    pub async fn user(&self, reviews: &Reviews) -> Result<Option<User>, NotReviewed> {
        reviews.user(&self.0, self.1).await
    }
}

/// Why a request is refused.
pub enum Refused {
    Nobody,
    /// The API server does not say whose it is.
    Unreviewed,
    TooMany(Duration),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Refused::Nobody => (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response(),
            Refused::Unreviewed => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Refused::TooMany(wait) => {
                let seconds = wait.as_secs().saturating_add(1).to_string();
                (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)]).into_response()
            }
        }
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Self::Rejection> {
        let mut tokens = parts.headers.get_all(header::AUTHORIZATION).iter();
        let (Some(only), None) = (tokens.next(), tokens.next()) else { return Err(Refused::Nobody) };
        let token = only.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let token = token.filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES);
        let Some(token) = token else { return Err(Refused::Nobody) };
        // Prometheus shows a token of its account, which is made for the API server.
        let takes_others = shared.served.accepts_api_tokens || parts.uri.path() == METRICS_PATH;
        let taken = if takes_others { Taken::ApiServers } else { Taken::Own };
        let now = Instant::now();
        // A token that has to be asked for costs a request: who guesses them is slowed, and those who are known are not.
        if shared.reviews.known(token, taken).is_none()
            && let Some(peer) = parts.extensions.get::<Peer>()
        {
            shared.limits.unknown.take(*peer, now).map_err(Refused::TooMany)?;
        }
        let user = match shared.reviews.user(token, taken).await {
            Ok(Some(user)) => user,
            Ok(None) => return Err(Refused::Nobody),
            Err(_) => return Err(Refused::Unreviewed),
        };
        if let Some(asker) = parts.extensions.get::<Asker>() {
            asker.is(&user.username);
        }
        shared.limits.known.take(user.username.clone(), now).map_err(Refused::TooMany)?;
        Ok(Caller { user, token: Token(token.to_owned(), taken) })
    }
}
