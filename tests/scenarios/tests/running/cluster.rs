//! An API server of a test's own, beside the one of the lab's node.
//!
//! Several tests then use the same stuck pods at the same time, and each breaks only its own server.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use apiserver::{FakeApiServer, Faults, Request, Store, kubeconfig};
use lab::{NODE_NAME, Node};
use serde_json::Value;

use super::events::Events;

/// A fake that knows what the lab's own knew when it was made.
pub struct Cluster {
    dir: PathBuf,
    store: Store,
    address: SocketAddr,
    fake: Option<FakeApiServer>,
}

impl Cluster {
    /// Starts one; `name` distinguishes the tests.
    pub fn beside(node: &Node, name: &str) -> anyhow::Result<Self> {
        let dir = node.layout().dir().join("clusters").join(name);
        let store = Store::new(dir.join("api"));
        for kind in ["nodes", "pods", "persistentvolumes"] {
            copy(&node.layout().api().join(kind), &store.root().join(kind))?;
        }
        let fake = FakeApiServer::start(store.clone())?;
        let cluster = Cluster { dir, store, address: fake.address(), fake: Some(fake) };
        fs::write(cluster.kubeconfig(), kubeconfig(&cluster.address.to_string(), None))?;
        Ok(cluster)
    }

    /// Where the test's files are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How to reach it.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Stops the API server, so that its port refuses connections.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.fake.take().map_or(Ok(()), FakeApiServer::stop)
    }

    /// It listens again, where it did.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.fake = Some(FakeApiServer::start_at(self.store.clone(), &self.address.to_string())?);
        Ok(())
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: impl Into<Faults>) -> anyhow::Result<()> {
        self.store.set_faults(&faults.into())
    }

    /// All Events.
    pub fn events(&self) -> anyhow::Result<Events> {
        Events::of(&self.store)
    }

    /// The requests that wanted to write.
    pub fn writes(&self) -> anyhow::Result<Vec<Request>> {
        Ok(self.store.requests()?.into_iter().filter(|request| request.verb == "patch").collect())
    }

    /// The Node's uid.
    pub fn node_uid(&self) -> anyhow::Result<String> {
        let node = self.store.node(NODE_NAME)?.context("the lab has a Node")?;
        Ok(node["metadata"]["uid"].as_str().context("it has a uid")?.to_owned())
    }

    /// The Node was deleted and has joined again.
    pub fn make_node_anew(&self, uid: &str) -> anyhow::Result<()> {
        let mut node = self.store.node(NODE_NAME)?.context("the lab has a Node")?;
        node["metadata"]["uid"] = Value::from(uid);
        self.store.put_node(NODE_NAME, &node)
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry?.path();
        let target = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).with_context(|| format!("copy {}", path.display()))?;
        }
    }
    Ok(())
}
