//! How a client is made, from any source of credentials.

use std::time::Duration;

use http::HeaderValue;
use kube::Config;
use kube::config::AuthInfo;

/// No header can hold the token that stands there: kube panics on it.
#[derive(Debug, thiserror::Error)]
#[error("the kubeconfig's {0} holds a character that no header may hold")]
pub struct TokenError(&'static str);

/// Bounds what kube does by itself. `user_agent` identifies the program in the API server's audit log and fairness.
pub fn prepare(config: &mut Config, user_agent: &'static str, connect_timeout: Duration) -> Result<(), TokenError> {
    check_token(&config.auth_info)?;
    if !user_agent.is_empty() {
        config.headers.push((http::header::USER_AGENT, HeaderValue::from_static(user_agent)));
    }
    // By default kube asks a dead API again for minutes, in silence.
    config.default_retry = false;
    config.connect_timeout = Some(connect_timeout);
    // Each request is bounded as a whole, and a watch is silent for as long as nothing changes.
    config.read_timeout = None;
    if config.cluster_url.scheme_str() == Some("http") {
        // Else every certificate of the machine would be loaded for nothing.
        config.root_cert = Some(Vec::new());
    }
    Ok(())
}

/// Refuses a token that no header can hold.
fn check_token(auth: &AuthInfo) -> Result<(), TokenError> {
    let auth = serde_json::to_value(auth).unwrap_or_default();
    for place in ["/token", "/auth-provider/config/id-token", "/auth-provider/config/access-token"] {
        let token = auth.pointer(place).and_then(|token| token.as_str()).unwrap_or_default();
        if HeaderValue::try_from(format!("Bearer {token}")).is_err() {
            return Err(TokenError(&place[1..]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kube::config::{KubeConfigOptions, Kubeconfig};
    use serde_json::{Value, json};

    use super::*;

    fn kubeconfig(user: &Value) -> Kubeconfig {
        serde_json::from_value(json!({
            "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn an_odd_token_is_an_error_and_no_panic() {
        for odd in ["a\nb", "a\r\nX-Other: b", "a\0b", "a\u{7f}", "ends\n", "caf\u{e9}", "plain"] {
            for user in [json!({"token": odd}), json!({"auth-provider": {"name": "oidc", "config": {"id-token": odd}}})]
            {
                let options = KubeConfigOptions::default();
                let mut config = Config::from_custom_kubeconfig(kubeconfig(&user), &options).await.unwrap();
                let prepared = prepare(&mut config, "", Duration::from_secs(1));
                assert_eq!(prepared.is_ok(), !odd.chars().any(char::is_control), "{odd:?}");
                // What passes makes a client.
                assert!(prepared.is_err() || kube::Client::try_from(config).is_ok(), "{odd:?}");
            }
        }
    }
}
