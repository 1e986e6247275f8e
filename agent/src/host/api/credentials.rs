//! Who asks, and where.

use std::path::PathBuf;

use http::HeaderValue;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use super::{Deadlines, kubelet_kubeconfig, token};
use crate::{host::HostRoot, observation::HostPath};

/// By this the API server's audit log and its fairness tell us from others.
const USER_AGENT: &str = concat!("why-terminating-agent/", env!("CARGO_PKG_VERSION"));

/// With which credentials to ask.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A kubeconfig file the user named.
    Kubeconfig(PathBuf),
    /// The kubelet's own, and how the host is seen. Nothing it names is run.
    OfKubelet(HostRoot, HostPath),
    /// The service account of the pod the agent runs in.
    InCluster,
}

impl Credentials {
    /// How to reach the API server with them; nothing is asked yet.
    pub async fn config(self, deadlines: Deadlines) -> anyhow::Result<Config> {
        let mut config = match self {
            Credentials::Kubeconfig(path) => from_kubeconfig(Kubeconfig::read_from(path)?).await?,
            Credentials::OfKubelet(host, path) => {
                from_kubeconfig(kubelet_kubeconfig::kubeconfig(&host, &path)?).await?
            }
            Credentials::InCluster => Config::incluster()?,
        };
        token::check(&config.auth_info)?;
        if config.cluster_url.scheme_str() == Some("http") {
            // Else every certificate of the machine would be loaded for nothing.
            config.root_cert = Some(Vec::new());
        }
        config.headers.push((http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
        config.connect_timeout = Some(deadlines.connect);
        // A watch is silent for minutes; each question has its own deadline.
        config.read_timeout = None;
        // Who retries has a budget for it; nobody does behind its back.
        config.default_retry = false;
        Ok(config)
    }
}

async fn from_kubeconfig(kubeconfig: Kubeconfig) -> anyhow::Result<Config> {
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
