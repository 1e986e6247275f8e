//! Pods that appear, stick and resolve.

use std::{process::Command, thread, time::Duration};

use anyhow::{Context as _, ensure};
use lab::scenario::{REPEATED, Repeated, Staged};
use lab::{Node, mounts, wait_for};

use crate::incidents::{Incident, Told};
use crate::state::State;

/// So many stick at a time.
pub const AT_ONCE: usize = 4;
/// How long a report may take, with the patience of all waits four times that: the agent may be killed several times, and
/// the API be away.
const TOLD: Duration = Duration::from_secs(60);
const GONE: Duration = Duration::from_secs(15);
/// One in so many is resolved before it is reported.
const HASTY: u32 = 4;

/// Makes one pod after another stick and resolve.
pub fn churn(state: &State, thread: usize, mut random: fastrand::Rng) -> anyhow::Result<()> {
    let node = Node::open(&lab::default_dir())?;
    (0..).take_while(|_| !state.is_over()).try_for_each(|number| {
        let possible: Vec<&Repeated> = REPEATED.iter().filter(|one| one.is_possible()).collect();
        let like = possible[random.usize(..possible.len())];
        let name = format!("soak-{thread}-{number}-{}", like.like);
        let outcome = one(&node, state, like, &name, &mut random);
        outcome.with_context(|| format!("{name}; {}", agents_log(&node))).with_context(|| asked(&node, state))
    })
}

/// For a person who wants to know why: what `check` says.
fn asked(node: &Node, state: &State) -> String {
    let answer = Command::new(&state.agent).arg("check").args(node.agent_args()).output();
    let text = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    format!("`check` says: {}", text.unwrap_or_else(|error| error.to_string()))
}

/// What the agents have logged, each file in the order in which it was written.
fn agents_log(node: &Node) -> String {
    let logs = std::fs::read_dir(node.layout().dir().join("log")).into_iter().flatten().flatten();
    let of_agents = logs.filter(|log| log.file_name().to_string_lossy().starts_with("agent-"));
    let texts = of_agents.filter_map(|log| std::fs::read_to_string(log.path()).ok());
    format!("the agents have logged:\n{}", texts.collect::<Vec<_>>().join("\n"))
}

fn one(node: &Node, state: &State, like: &Repeated, name: &str, random: &mut fastrand::Rng) -> anyhow::Result<()> {
    let staged = {
        let _runtime = state.runtime(node)?;
        (like.stage)(node, name).context("stage it")?
    };
    let (pod, expect) = staged.pods.first().zip(staged.expect.first()).context("it stages a pod that sticks")?;
    let cause = expect.cause.context("it sticks for a cause")?;
    let is_hasty = random.u32(..HASTY) == 0;
    if is_hasty {
        thread::sleep(Duration::from_secs(random.u64(..8)));
    } else {
        wait_told(node, &pod.uid, cause, false)?;
        state.held().insert(pod.uid.clone(), cause);
        thread::sleep(Duration::from_secs(random.u64(..30)));
        state.held().remove(&pod.uid);
    }
    cure(node, state, &staged, name)?;
    state.incidents().push(Incident { pod: pod.uid.clone(), cause, waited_for: !is_hasty });
    if is_hasty { wait_quiet(node, &pod.uid) } else { wait_told(node, &pod.uid, cause, true) }
}

fn cure(node: &Node, state: &State, staged: &Staged, name: &str) -> anyhow::Result<()> {
    let _runtime = state.runtime(node)?;
    for command in &staged.known_good {
        let status = Command::new("sh").args(["-c", command]).status().context("run sh")?;
        ensure!(status.success(), "`{command}` failed: {status}");
    }
    staged.pods.iter().try_for_each(|pod| node.wait_gone(pod, GONE))?;
    // Of a FUSE server without requests; the pod had only a copy.
    mounts::unmount_all(&node.layout().mnt(&format!("media-of-{name}")))
}

fn told_of(node: &Node, pod: &str) -> anyhow::Result<Vec<Told>> {
    let events = node.store().events()?;
    events.iter().filter(|event| event["related"]["uid"] == pod).map(Told::read).collect()
}

fn wait_told(node: &Node, pod: &str, cause: &str, over: bool) -> anyhow::Result<()> {
    let what = if over { "the end of" } else { "the beginning of" };
    wait_for(&format!("{what} {cause} is reported"), TOLD, || {
        thread::sleep(Duration::from_millis(300));
        Ok(told_of(node, pod)?.iter().any(|one| one.cause == cause && one.over == over).then_some(()))
    })
}

/// Waits until every finding that was reported of a deleted pod has its end reported.
fn wait_quiet(node: &Node, pod: &str) -> anyhow::Result<()> {
    wait_for("all that was reported of a pod that is gone has ended", TOLD, || {
        thread::sleep(Duration::from_millis(300));
        let (over, begun): (Vec<_>, Vec<_>) = told_of(node, pod)?.into_iter().partition(|one| one.over);
        Ok((over.len() >= begun.len()).then_some(()))
    })
}
