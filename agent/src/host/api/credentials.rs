//! Who asks, and where.

use std::path::PathBuf;

use client::kubeconfig::{KubeConfigOptions, Kubeconfig};
use client::{Config, Limits, prepare};

use super::kubelet_kubeconfig;
use crate::{host::HostRoot, observation::HostPath};

/// Identifies this program in the API server's audit log and to its priority and fairness.
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
    pub async fn config(self, limits: Limits) -> anyhow::Result<Config> {
        let mut config = match self {
            Credentials::Kubeconfig(path) => from_kubeconfig(Kubeconfig::read_from(path)?).await?,
            Credentials::OfKubelet(host, path) => {
                from_kubeconfig(kubelet_kubeconfig::kubeconfig(&host, &path)?).await?
            }
            Credentials::InCluster => Config::incluster()?,
        };
        // Each question has its own deadline, and who retries a budget for it.
        prepare(&mut config, USER_AGENT, limits.request_timeout)?;
        Ok(config)
    }
}

async fn from_kubeconfig(kubeconfig: Kubeconfig) -> anyhow::Result<Config> {
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
