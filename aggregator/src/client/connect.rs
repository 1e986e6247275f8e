//! A client with the caller's own credentials.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// How to reach the cluster.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Another kubeconfig than kubectl's.
    pub kubeconfig: Option<PathBuf>,
    /// Another context than the current one.
    pub context: Option<String>,
    /// As whom to ask.
    pub impersonate: Option<String>,
    /// How long one request may take.
    pub request_timeout: Duration,
}

/// There is no way to the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig (another one can be named with --kubeconfig or --context)")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// There is neither a kubeconfig nor a service account.
    #[error("found neither a kubeconfig nor a service account (name a kubeconfig with --kubeconfig)")]
    Nowhere(#[from] kube::config::InferConfigError),
    /// No header can hold the token that stands there: kube panics on it.
    #[error("the kubeconfig's {0} holds a character that no header may hold")]
    Token(&'static str),
    /// The client cannot be made.
    #[error("cannot make a client for this cluster")]
    Client(#[from] kube::Error),
}

/// A client, and the namespace that kubectl would use.
pub async fn connect(connection: &Connection) -> Result<(Client, String), ConnectError> {
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &connection.kubeconfig {
        Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        None if connection.context.is_some() => Config::from_kubeconfig(&options).await?,
        None => Config::infer().await?,
    };
    if connection.impersonate.is_some() {
        config.auth_info.impersonate.clone_from(&connection.impersonate);
    }
    // By default kube asks a dead API again for minutes, in silence.
    config.default_retry = false;
    config.connect_timeout = Some(connection.request_timeout);
    config.read_timeout = Some(connection.request_timeout);
    if config.cluster_url.scheme_str() == Some("http") {
        // Else every certificate of the machine would be loaded for nothing.
        config.root_cert = Some(Vec::new());
    }
    check_token(&config.auth_info)?;
    let namespace = config.default_namespace.clone();
    Ok((Client::try_from(config)?, namespace))
}

/// Refuses a token that no header can hold.
fn check_token(auth: &AuthInfo) -> Result<(), ConnectError> {
    let auth = serde_json::to_value(auth).unwrap_or_default();
    for place in ["/token", "/auth-provider/config/id-token", "/auth-provider/config/access-token"] {
        let token = auth.pointer(place).and_then(|token| token.as_str()).unwrap_or_default();
        if HeaderValue::try_from(format!("Bearer {token}")).is_err() {
            return Err(ConnectError::Token(&place[1..]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_odd_token_is_an_error_and_no_panic() {
        for odd in ["a\nb", "a\r\nX-Other: b", "a\0b", "a\u{7f}", "ends\n", "caf\u{e9}", "plain"] {
            for user in [json!({"token": odd}), json!({"auth-provider": {"name": "oidc", "config": {"id-token": odd}}})]
            {
                let file = tempfile::NamedTempFile::new().unwrap();
                let kubeconfig = json!({
                    "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                    "users": [{"name": "u", "user": user}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
                });
                std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
                let connection = Connection { kubeconfig: Some(file.path().to_owned()), ..Connection::default() };
                let connected = connect(&connection).await.map(drop);
                // YAML may refuse it before.
                let is_told = matches!(connected, Err(ConnectError::Token(_) | ConnectError::Kubeconfig(_)));
                assert!(
                    if odd.chars().any(char::is_control) { is_told } else { connected.is_ok() },
                    "{odd:?}: {connected:?}"
                );
            }
        }
    }
}
