//! One way to be stuck: made, asked about, cured by what the answer says.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use findings::cause::{self, Cause};
use lab::wait_for;
use serde_json::{Value, json};

use crate::answers::{agent, causes, commands, events, live, on_node, plugin, service};
use crate::cluster::Cluster;
use crate::install::Installed;

/// The pod that is stuck, where a node holds it.
pub const POD: &str = "stuck";

/// Makes it, in this namespace, up to the deletion of the namespace. What must live on is returned.
pub type Stage = fn(&Cluster, &str) -> anyhow::Result<Staged>;

/// What ends it.
pub enum Cure {
    /// The commands of the answer that contain these words, in this order.
    Typed(&'static [&'static str]),
    /// The answer leaves the step to a person; the test takes it. What must live on is returned.
    Done(Stage),
    /// Nothing: it is not stuck.
    None,
}

impl Cure {
    /// What the commands contain that are typed.
    fn typed(&self) -> &'static [&'static str] {
        match self {
            Cure::Typed(all) => all,
            Cure::Done(_) | Cure::None => &[],
        }
    }
}

/// Beside which others one may be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// All.
    Together,
    /// All that are not of these.
    OneOf(&'static str),
    /// None: it changes what all others need.
    Alone,
}

/// One way to be stuck.
pub struct Situation {
    /// Its name; its namespace is called after it.
    pub name: &'static str,
    /// The cause to be found, and no other.
    pub cause: &'static str,
    /// Makes it.
    stage: Stage,
    /// What ends it.
    cure: Cure,
    /// Whether only the node knows it.
    is_on_node: bool,
    /// Whether the agent may read the kubelet's counters.
    pub with_counters: bool,
    /// Whether its step names what is not the pod's: no Event is trusted for that, so only the node reports it.
    is_elsewhere: bool,
    /// Beside which others it may be tried.
    pub turn: Turn,
    /// What every answer must say.
    says: &'static [&'static str],
}

/// What was made outside of the cluster.
#[derive(Default)]
pub struct Staged {
    /// Taken away at the end, whatever happens.
    pub ends: Vec<Box<dyn FnOnce()>>,
}

impl Staged {
    /// Keeps it until the end.
    pub fn until_the_end<T: 'static>(thing: T) -> Self {
        Self { ends: vec![Box::new(move || drop(thing))] }
    }

    /// Does this at the end.
    pub fn at_the_end(end: impl FnOnce() + 'static) -> Self {
        Self { ends: vec![Box::new(end)] }
    }

    /// Both.
    pub fn and(mut self, mut other: Self) -> Self {
        self.ends.append(&mut other.ends);
        self
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.ends.drain(..).for_each(|end| end());
    }
}

/// What was seen of one.
pub struct Seen {
    /// The situation.
    pub name: &'static str,
    /// The cause that was named.
    pub cause: &'static str,
    /// From the deletion of the namespace to the plugin's answer.
    pub told: Duration,
    /// From the step to the end of the namespace.
    pub gone: Duration,
}

/// What is only probable is reported after the kubelet's longest pause between two tries (2 min 2 s), and when it was seen
/// three times.
const PATIENCE: Duration = Duration::from_secs(360);
/// Between two questions: several situations are tried at a time.
const PAUSE: Duration = Duration::from_secs(2);

impl Situation {
    /// One that the API server knows all of.
    pub const fn of_api(name: &'static str, cause: &'static str, stage: Stage, cure: Cure) -> Self {
        Self {
            name,
            cause,
            stage,
            cure,
            is_on_node: false,
            with_counters: false,
            is_elsewhere: false,
            turn: Turn::Together,
            says: &[],
        }
    }

    /// One that only the node knows.
    pub const fn of_node(name: &'static str, cause: &'static str, stage: Stage, cure: Cure) -> Self {
        Self { is_on_node: true, ..Self::of_api(name, cause, stage, cure) }
    }

    /// With the right to read the kubelet's counters.
    pub const fn with_counters(self) -> Self {
        Self { with_counters: true, ..self }
    }

    /// Its step names what is not the pod's.
    pub const fn elsewhere(self) -> Self {
        Self { is_elsewhere: true, ..self }
    }

    /// While nothing else is tried.
    pub const fn alone(self) -> Self {
        Self { turn: Turn::Alone, ..self }
    }

    /// One after the other of these.
    pub const fn one_of(self, what: &'static str) -> Self {
        Self { turn: Turn::OneOf(what), ..self }
    }

    /// Every answer must say this.
    pub const fn saying(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    /// Returns what was seen.
    pub fn run(&self, cluster: &Cluster, installed: &Installed) -> anyhow::Result<Seen> {
        let namespace = format!("e2e-{}", self.name);
        let words = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.apply(&[words])?;
        let staged = (self.stage)(cluster, &namespace).context("stage").inspect_err(|_| {
            let _ = cluster.kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
        })?;
        let seen = self.judge(cluster, installed, &namespace);
        match (&seen, &self.cure) {
            (Err(_), Cure::Done(cure)) => {
                let lives_on = cure(cluster, &namespace);
                let _ = cluster.wait_gone(&["namespace", &namespace], PATIENCE);
                drop((staged, lives_on));
            }
            (Err(_), _) => {
                drop(staged);
                let _ = cluster.wait_gone(&["namespace", &namespace], PATIENCE);
            }
            (Ok(_), _) => drop(staged),
        }
        seen
    }

    fn judge(&self, cluster: &Cluster, installed: &Installed, namespace: &str) -> anyhow::Result<Seen> {
        let uid = cluster.json(&["get", "namespace", namespace])?["metadata"]["uid"].clone();
        let uid = uid.as_str().context("a namespace without a uid")?;
        cluster.kubectl(&["delete", "namespace", namespace, "--wait=false"])?;
        let begin = Instant::now();
        if let Cure::None = self.cure {
            cluster.wait_gone(&["namespace", namespace], PATIENCE)?;
            let Self { name, cause, .. } = *self;
            return Ok(Seen { name, cause, told: Duration::ZERO, gone: begin.elapsed() });
        }
        let mut steps = commands(&self.until("plugin", || plugin(cluster, namespace))?);
        let told = begin.elapsed();
        if self.is_on_node {
            let of_plugin = &steps;
            let tells = cluster.has_event_policy() && !self.is_elsewhere;
            for words in self.cure.typed().iter().filter(|_| tells) {
                anyhow::ensure!(of_plugin.iter().any(|step| step.contains(words)), "no {words:?} in {of_plugin:#?}");
            }
            steps.extend(commands(&self.until("agent", || agent(cluster, namespace, POD))?));
            self.tells_cure(&self.until("live", || live(cluster, namespace))?)?;
            // The others stop what starts a pod.
            if self.turn != Turn::Alone {
                self.tells_cure(&self.until("on-node", || on_node(cluster, namespace, POD))?)?;
            }
        }
        self.until("service", || service(cluster, installed, namespace))?;
        let shown = || events(cluster, namespace, uid);
        let cause = cause::find(self.cause).context("no such cause")?;
        let held = ["Warning", cause.event_reason, &format!("This namespace is held: {}.", cause.title)];
        let before = Self::announced(held, shown).context("while it is held")?;
        let begin = Instant::now();
        let lives_on = self.end(cluster, namespace, &steps).context("cure")?;
        cluster.wait_gone(&["namespace", namespace], PATIENCE).context("after the cure")?;
        let gone = begin.elapsed();
        drop(lives_on);
        let over = ["Normal", "NamespaceNoLongerHeld", &format!("it was held by {}", self.cause)];
        let all = Self::announced(over, shown).context("when it has ended")?;
        // What the API alone shows is reported until the agent has an answer, and not after.
        let is_until_then = |other: &&Cause| other.only_the_node_knows || other.is_outranked_by(cause);
        let api_alone: Vec<&str> = cause::all().filter(is_until_then).map(|one| one.event_reason).collect();
        let is_its = |event: &[String; 3]| {
            event[1] == cause.event_reason || (api_alone.contains(&event[1].as_str()) && before.contains(event))
        };
        let others: Vec<_> = all.iter().filter(|event| event[0] == "Warning" && !is_its(event)).collect();
        anyhow::ensure!(others.is_empty(), "Events name another root: {others:#?}");
        Ok(Seen { name: self.name, cause: self.cause, told, gone })
    }

    /// That an agent that was asked now gives the commands that are typed, where they name what is the pod's.
    fn tells_cure(&self, answer: &Value) -> anyhow::Result<()> {
        let all = commands(answer);
        for words in self.cure.typed().iter().filter(|_| !self.is_elsewhere) {
            anyhow::ensure!(all.iter().any(|step| step.contains(words)), "no {words:?} in {all:#?}");
        }
        Ok(())
    }

    /// Waits until an Event has these: its type, its reason, and words in what it says. Returns all.
    fn announced(
        wanted: [&str; 3],
        mut shown: impl FnMut() -> anyhow::Result<Vec<[String; 3]>>,
    ) -> anyhow::Result<Vec<[String; 3]>> {
        let [kind, reason, words] = wanted;
        let mut all = Vec::new();
        let told = wait_for("the service's Event", PATIENCE, || {
            std::thread::sleep(PAUSE);
            all = shown()?;
            let is_told = all.iter().any(|event| event[0] == kind && event[1] == reason && event[2].contains(words));
            Ok(is_told.then_some(()))
        });
        told.with_context(|| format!("no Event {wanted:?} among {all:#?}"))?;
        Ok(all)
    }

    /// Waits until exactly this cause is reported, in these words.
    fn until(&self, who: &str, mut ask: impl FnMut() -> anyhow::Result<Value>) -> anyhow::Result<Value> {
        let expected = BTreeSet::from([self.cause.to_owned()]);
        let (mut last, mut lacks, mut text) = (BTreeSet::new(), "", String::new());
        let told = wait_for(who, PATIENCE, || {
            std::thread::sleep(PAUSE);
            let answer = ask()?;
            last = causes(&answer);
            text = format!("{answer:#}");
            lacks = self.says.iter().find(|words| !text.contains(**words)).unwrap_or(&"");
            // In its first minute a cause is named without steps.
            let has_steps = self.cure.typed().is_empty() || !commands(&answer).is_empty();
            Ok((last == expected && lacks.is_empty() && has_steps).then_some(answer))
        });
        if let Some(dir) = std::env::var_os("ANSWERS") {
            std::fs::create_dir_all(&dir)?;
            std::fs::write(Path::new(&dir).join(format!("{}-{who}.json", self.name)), &text)?;
        }
        told.with_context(|| format!("{who} says {last:?}, not {expected:?} with {lacks:?}"))
    }

    fn end(&self, cluster: &Cluster, namespace: &str, steps: &BTreeSet<String>) -> anyhow::Result<Staged> {
        match self.cure {
            Cure::Typed(all) => {
                for words in all {
                    let step = steps.iter().find(|step| step.contains(words));
                    let step = step.with_context(|| format!("no step with {words:?} among {steps:#?}"))?;
                    cluster.types(step)?;
                }
                Ok(Staged::default())
            }
            Cure::Done(cure) => cure(cluster, namespace),
            Cure::None => Ok(Staged::default()),
        }
    }
}
