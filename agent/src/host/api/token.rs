//! Tokens before they become headers.

use anyhow::bail;
use http::HeaderValue;
use kube::config::AuthInfo;
use serde_json::Value;

/// Refuses a token that no header can hold: kube panics on it, and that would be the agent's end.
pub(super) fn check(auth: &AuthInfo) -> anyhow::Result<()> {
    let auth = serde_json::to_value(auth)?;
    for place in ["/token", "/auth-provider/config/id-token", "/auth-provider/config/access-token"] {
        let token = auth.pointer(place).and_then(Value::as_str).unwrap_or_default();
        if HeaderValue::try_from(format!("Bearer {token}")).is_err() {
            bail!("the kubeconfig's {} holds a character that no header may hold", &place[1..]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kube::{
        Client,
        config::{Config, KubeConfigOptions, Kubeconfig},
    };

    use super::*;

    fn kubeconfig(user: Value) -> Kubeconfig {
        serde_json::from_value(serde_json::json!({
            "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn an_odd_token_is_an_error_and_no_panic() {
        for odd in ["a\nb", "a\r\nX-Other: b", "a\0b", "a\u{7f}", "ends\n", "caf\u{e9}", "plain"] {
            for user in [
                serde_json::json!({"token": odd}),
                serde_json::json!({"auth-provider": {"name": "oidc", "config": {"id-token": odd}}}),
            ] {
                let options = KubeConfigOptions::default();
                let config = Config::from_custom_kubeconfig(kubeconfig(user), &options).await.unwrap();
                let checked = check(&config.auth_info);
                assert_eq!(checked.is_ok(), !odd.chars().any(|c| c.is_control()), "{odd:?}");
                // What passes makes a client.
                assert!(checked.is_err() || Client::try_from(config).is_ok(), "{odd:?}");
            }
        }
    }
}
