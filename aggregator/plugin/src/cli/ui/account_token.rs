//! A token of a ServiceAccount that only the service accepts (TokenRequest), renewed before it expires.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use client::{ApiClient, Content, Response, SERVICE_AUDIENCE, part};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The shortest lifetime that the API server allows.
const LIFETIME: Duration = Duration::from_secs(600);
/// An older token is replaced.
const MAX_AGE: Duration = Duration::from_secs(480);

pub struct AccountToken {
    api: ApiClient,
    account: (String, String),
    current: Mutex<(String, Instant)>,
}

impl AccountToken {
    /// Requests the first one.
    pub async fn request(api: ApiClient, account: (String, String)) -> Result<Self> {
        let first = request(&api, &account).await?;
        Ok(AccountToken { api, account, current: Mutex::new((first, Instant::now())) })
    }

    /// The token, which is valid for some more minutes.
    pub async fn current(&self) -> Result<String> {
        let mut current = self.current.lock().await;
        if current.1.elapsed() > MAX_AGE {
            *current = (request(&self.api, &self.account).await?, Instant::now());
        }
        Ok(current.0.clone())
    }
}

async fn request(api: &ApiClient, (namespace, name): &(String, String)) -> Result<String> {
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/{}/token", part(namespace), part(name));
    let spec = json!({"audiences": [SERVICE_AUDIENCE], "expirationSeconds": LIFETIME.as_secs()});
    let wanted = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let sent = api.send(Method::POST, &path, Content::Json(&wanted)).await;
    let answer = sent.and_then(Response::success).and_then(|answer| answer.json::<Value>());
    let answer = answer.with_context(|| format!("request a token for ServiceAccount {namespace}/{name}"))?;
    let token = answer["status"]["token"].as_str().filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    Ok(token.context("the API server returned no token")?.to_owned())
}
