//! The fake API server as a process.

use std::fs;

use anyhow::Context as _;

use crate::Layout;
use crate::node::{default_dir, kubelet_version};

/// Serves the node's objects on a free port of 127.0.0.1.
#[derive(Debug, clap::Args)]
pub struct ServeApi {}

impl ServeApi {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let layout = Layout::new(default_dir());
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        executor.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("listen on 127.0.0.1")?;
            // Renamed, because someone waits for the file.
            let unfinished = layout.api_address().with_extension("unfinished");
            fs::write(&unfinished, listener.local_addr()?.to_string()).context("write the address")?;
            fs::rename(&unfinished, layout.api_address()).context("write the address")?;
            apiserver::serve(listener, apiserver::Store::new(layout.api()), kubelet_version()).await
        })
    }
}
