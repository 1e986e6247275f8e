//! The fake inside a test.

use std::{net::SocketAddr, thread};

use anyhow::Context as _;
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

use crate::{Store, serve};

/// The version of Kubernetes the fake claims to be.
pub const VERSION: &str = "v1.36.2";

/// A running fake, in a thread of its own; it stops when it is dropped.
#[derive(Debug)]
pub struct FakeApiServer {
    address: SocketAddr,
    store: Store,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<anyhow::Result<()>>>,
}

impl FakeApiServer {
    /// Serves `store` on a free port of 127.0.0.1.
    pub fn start(store: Store) -> anyhow::Result<Self> {
        Self::start_at(store, "127.0.0.1:0")
    }

    /// Serves `store` at `address`, such as that of a fake that was stopped.
    pub fn start_at(store: Store, address: &str) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind(address).with_context(|| format!("listen on {address}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let served = store.clone();
        let thread = thread::Builder::new().name("apiserver".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            // Open connections end with the runtime.
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                tokio::select! {
                    served = serve(listener, served, VERSION.to_owned()) => served,
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { address, store, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://…`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its files.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A kubeconfig that leads to it, with the first of the store's tokens if it has any.
    pub fn kubeconfig_json(&self) -> anyhow::Result<String> {
        let token = self.store.tokens()?.and_then(|tokens| tokens.into_iter().next());
        Ok(kubeconfig(&self.address.to_string(), token.as_deref()))
    }

    /// Stops it and says whether it had failed.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.end()
    }

    fn end(&mut self) -> anyhow::Result<()> {
        drop(self.stop.take());
        match self.thread.take().map(thread::JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(anyhow::anyhow!("the fake API server panicked")),
            None => Ok(()),
        }
    }
}

impl Drop for FakeApiServer {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("the fake API server: {error:#}");
        }
    }
}

/// A kubeconfig for the fake at `address`.
pub fn kubeconfig(address: &str, token: Option<&str>) -> String {
    let user = token.map_or_else(|| json!({}), |token| json!({"token": token}));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "fake",
        "clusters": [{"name": "fake", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "fake", "user": user}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
    });
    format!("{config:#}\n")
}
