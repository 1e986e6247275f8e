//! `--on-node`: the agent's check, run once on the node of a pod, in a pod that is created for it and deleted.

mod check_pod;

use std::io::{IsTerminal as _, Write as _};

use aggregator_core::lister::Lister;
use aggregator_core::state::{Answer, Answered, Node, NodeCheck, Pod, Question, State, Subject, is_true, known};
use anyhow::{Context as _, Result, bail};
use client::{ApiClient, Client, Limits, read_report};

use super::args::Flags;
use check_pod::CheckPod;

/// A check's answer is shorter.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The pod that was named, and its node.
struct Target {
    pod: (String, String),
    node: String,
}

/// Runs the check and adds its answer to the state. Nothing is created unless the user agrees.
pub async fn check(client: &Client, state: &mut State, flags: &Flags) -> Result<()> {
    let target = target(state)?;
    let namespace = &flags.on_node_namespace;
    if *namespace == target.pod.0 && is_being_deleted(state, namespace) {
        bail!(
            "namespace {namespace} is being deleted and accepts no new pod: give another one with --on-node-namespace"
        );
    }
    let api = ApiClient::new(client.clone(), Limits::new(flags.connection.request_timeout, MAX_ANSWER_BYTES));
    for left in check_pod::left_behind(&api, namespace).await {
        eprintln!("note: pod {left} of an earlier --on-node is still there: kubectl -n {namespace} delete pod {left}");
    }
    if !flags.yes && !agrees(&target.node)? {
        bail!("nothing was created");
    }
    let pod = (target.pod.0.as_str(), target.pod.1.as_str());
    let interrupted = interrupted().context("wait for Ctrl-C")?;
    let check_pod = CheckPod::create(api, namespace, &target.node, &flags.agent_image, pod).await?;
    let ended = tokio::select! {
        ended = check_pod.log() => ended,
        () = interrupted => Err(anyhow::anyhow!("interrupted")),
    };
    // Whatever came of it.
    let ran_in = check_pod.delete().await?;
    let log = ended.with_context(|| format!("checking {} with --on-node", target.node))?;
    let answer = match log.find("\n{").map(|before| before + 1).or(log.starts_with('{').then_some(0)) {
        Some(from) => read_report(&log.as_bytes()[from..], pod),
        None => bail!("the check on {} failed: {}", target.node, findings::clean(&log, 300)),
    };
    if let Answer::Failed(fault) = &answer {
        bail!("the check on {} failed: {fault}", target.node);
    }
    state
        .add(Answered::whole(Question::Live { agent: ran_in.clone(), pod: target.pod.clone(), before: false }, answer));
    state.node_check = Some(NodeCheck { ran_in, pod: target.pod });
    Ok(())
}

fn target(state: &State) -> Result<Target> {
    const ONE: &str = "--on-node checks one pod: give it as pod/NAME -n NAMESPACE";
    let Subject::Object { word, namespace, name } = &state.subject else { bail!("{ONE}") };
    if !matches!(word.as_str(), "pod" | "pods" | "po") {
        bail!("{ONE}");
    }
    let lister = Lister::new(state);
    let found = lister.get::<Pod>(known::PODS, Some(namespace), name);
    let pod = found.seen().with_context(|| format!("pod {namespace}/{name} is not there, or not visible to you"))?;
    let node = &pod.spec.node_name;
    if node.is_empty() {
        bail!("pod {namespace}/{name} is bound to no node");
    }
    let on = lister.get::<Node>(known::NODES, None, node).seen();
    let on = on.with_context(|| format!("node {node} is not there, or not visible to you"))?;
    if on.is_no_linux_machine() {
        bail!("node {node} does not run Linux, by its labels: the agent cannot run there");
    }
    if !is_true(&on.status.conditions, "Ready") {
        bail!("node {node} is not Ready, so its kubelet would not start a pod: kubectl describe node {node}");
    }
    Ok(Target { pod: (namespace.clone(), name.clone()), node: node.clone() })
}

fn is_being_deleted(state: &State, namespace: &str) -> bool {
    let namespace = Lister::new(state).namespace(namespace);
    namespace.seen().is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
}

fn agrees(node: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("--on-node creates a privileged pod on {node}, and there is no terminal to ask on: add --yes to agree");
    }
    eprint!("This creates a privileged pod on {} for about 10 s. Continue? [y/N] ", findings::clean(node, 253));
    std::io::stderr().flush()?;
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed).context("reading the answer")?;
    Ok(matches!(typed.trim(), "y" | "Y" | "yes"))
}

/// Ends with Ctrl-C, or another request to end. It listens from the call on, so that none is missed while the pod is made.
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        })
    }
    #[cfg(windows)]
    {
        let mut ctrl_c = tokio::signal::windows::ctrl_c()?;
        Ok(async move {
            ctrl_c.recv().await;
        })
    }
}
