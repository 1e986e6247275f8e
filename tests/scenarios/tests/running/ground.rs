//! One staged node for all tests that only break their own API server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use lab::{Node, PodRef, scenario};

use super::{agent::Agent, cluster::Cluster};

/// The node, brought up by the first test that needs it.
#[derive(Clone, Default)]
pub struct Ground(Arc<Mutex<Option<Arc<Staged>>>>);

/// A node with one pod whose cause does not pass by itself.
pub struct Staged {
    /// The node.
    pub node: Node,
    /// The pod that is stuck.
    pub pod: PodRef,
}

/// Why it is stuck.
pub const CAUSE: &str = "VolDataMissing";

impl Ground {
    /// The node.
    pub fn get(&self) -> anyhow::Result<Arc<Staged>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(staged) = &*place {
            return Ok(staged.clone());
        }
        let node = Node::up(&lab::default_dir()).context("bring the node up")?;
        let scenario = scenario::find("vol-data-missing").context("the lab has no such scenario")?;
        let pod = (scenario.stage)(&node)?.pods.pop().context("it stages a pod")?;
        Ok(place.insert(Arc::new(Staged { node, pod })).clone())
    }

    /// Takes the node away, if there is one.
    pub fn down(self) -> anyhow::Result<()> {
        let staged = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A test that has panicked may have kept it; then it goes with the last who has it.
        staged.and_then(Arc::into_inner).map_or(Ok(()), |staged| staged.node.down()).context("take the node down")
    }
}

impl Staged {
    /// An API server of a test's own.
    pub fn cluster(&self, test: &str) -> anyhow::Result<Cluster> {
        Cluster::beside(&self.node, test)
    }

    /// An agent that asks it.
    pub fn agent(&self, cluster: &Cluster, flags: &[&str]) -> anyhow::Result<Agent> {
        let logs: PathBuf = cluster.dir().join("log");
        Agent::start(&self.node, &logs, &cluster.kubeconfig(), flags)
    }

    /// How many Warnings and Normal events name the stuck pod.
    pub fn told(&self, cluster: &Cluster) -> anyhow::Result<(usize, usize)> {
        Ok(cluster.events()?.about(&self.pod.uid).count())
    }

    /// Waits until a Warning names the stuck pod.
    pub fn wait_told(&self, cluster: &Cluster, agent: &Agent) -> anyhow::Result<()> {
        agent.wait("the API server has the report of the stuck pod", || Ok((self.told(cluster)?.0 > 0).then_some(())))
    }
}
