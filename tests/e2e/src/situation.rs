//! One way to be stuck: made, asked about, cured by what the answer says.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lab::wait_for;
use serde_json::{Value, json};

use crate::answers::{agent, causes, commands, plugin, service};
use crate::cluster::Cluster;
use crate::install::Installed;

/// The pod that is stuck, where a node holds it.
pub const POD: &str = "stuck";

/// What ends it.
pub enum Cure {
    /// The commands of the answer that contain these words, in this order.
    Typed(&'static [&'static str]),
    /// What the answer tells somebody to do who is not here.
    Done(fn(&Cluster, &str) -> anyhow::Result<()>),
}

/// One way to be stuck.
pub struct Situation {
    /// Its name; its namespace is called after it.
    pub name: &'static str,
    /// The cause to be found, and no other.
    pub cause: &'static str,
    /// Whether only the node knows it.
    pub on_node: bool,
    /// Makes it, in this namespace, up to the deletion of the namespace. What must live on is returned.
    pub stage: fn(&Cluster, &str) -> anyhow::Result<Staged>,
    /// What ends it.
    pub cure: Cure,
}

/// What was made outside of the cluster.
#[derive(Default)]
pub struct Staged {
    /// Taken away at the end, whatever happens.
    pub ends: Vec<Box<dyn FnOnce()>>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.ends.drain(..).for_each(|end| end());
    }
}

/// Longer than the agent's patience, and than a kubelet's pause between two tries to unmount (2 min 2 s).
const PATIENCE: Duration = Duration::from_secs(180);

impl Situation {
    /// Returns what was seen, in a line.
    pub fn run(&self, cluster: &Cluster, installed: &Installed) -> anyhow::Result<String> {
        let namespace = format!("e2e-{}", self.name);
        let words = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.apply(&[words])?;
        let staged = (self.stage)(cluster, &namespace).context("stage")?;
        let seen = self.judge(cluster, installed, &namespace);
        if seen.is_err() {
            self.end(cluster, &namespace, None).ok();
        }
        drop(staged);
        seen
    }

    fn judge(&self, cluster: &Cluster, installed: &Installed, namespace: &str) -> anyhow::Result<String> {
        cluster.kubectl(&["delete", "namespace", namespace, "--wait=false"])?;
        let begin = Instant::now();
        let expected = BTreeSet::from([self.cause.to_owned()]);
        let answer = self.until("the plugin", &expected, || plugin(cluster, namespace))?;
        let seconds = begin.elapsed().as_secs();
        let mut steps = commands(&answer);
        if self.on_node {
            let answer = self.until("the agent", &expected, || agent(cluster, namespace, POD))?;
            steps.extend(commands(&answer));
        }
        self.until("the service", &expected, || service(cluster, installed, namespace))?;
        let begin = Instant::now();
        self.end(cluster, namespace, Some(&steps)).context("cure")?;
        let (name, cause) = (self.name, self.cause);
        Ok(format!("{name}: {cause}; told after {seconds} s, gone {} s after the step", begin.elapsed().as_secs()))
    }

    /// Waits until exactly these causes are told.
    fn until(
        &self,
        who: &str,
        expected: &BTreeSet<String>,
        mut ask: impl FnMut() -> anyhow::Result<Value>,
    ) -> anyhow::Result<Value> {
        let mut last = BTreeSet::new();
        let told = wait_for(who, PATIENCE, || {
            std::thread::sleep(Duration::from_secs(1));
            let answer = ask()?;
            last = causes(&answer);
            Ok((last == *expected).then_some(answer))
        });
        told.with_context(|| format!("{who} says {last:?}, not {expected:?}"))
    }

    fn end(&self, cluster: &Cluster, namespace: &str, steps: Option<&BTreeSet<String>>) -> anyhow::Result<()> {
        match (&self.cure, steps) {
            (Cure::Typed(all), Some(steps)) => {
                for words in *all {
                    let step = steps.iter().find(|step| step.contains(words));
                    let step = step.with_context(|| format!("no step with {words:?} among {steps:#?}"))?;
                    cluster.types(step)?;
                }
            }
            (Cure::Typed(_), None) => return Ok(()),
            (Cure::Done(cure), _) => cure(cluster, namespace)?,
        }
        cluster.wait_gone(&["namespace", namespace], PATIENCE)
    }
}
