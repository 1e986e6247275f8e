//! A client with the caller's own credentials.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
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
    let namespace = config.default_namespace.clone();
    Ok((Client::try_from(config)?, namespace))
}
