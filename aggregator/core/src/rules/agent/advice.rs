//! What to do on the node. An Event brings values only: the words and commands around them are those of
//! our own registry, and a value that names a place must name one that is the pod's.

use findings::{Advice, Cause, PodUid, Remedy, Step, Values, clean, quote_for_shell};

use super::{believed_events::Claim, trust::Trusted};
use crate::diagnosis::ToldBy;
use crate::messages::kubelet;
use crate::state::{Node, Pod};

/// These commands only read. They, and `umount`, may be shown for a mount elsewhere that the finding names in its chain,
/// such as that of a FUSE server.
const LOOK: &[&str] = &["dmesg", "findmnt", "grep", "ls", "lsattr", "readlink", "systemd-cgls"];

/// Where a finding was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Event,
    /// In the answer of the agent, asked now.
    Agent,
    /// In that of a check that was run once on the node, where no agent is.
    NodeCheck,
}

/// The one command that is always true, and what the agent says.
pub fn steps(claim: &Claim, pod: &Pod, on: &Node, by: &ToldBy, source: Source) -> Remedy {
    let finding = &claim.carried.finding;
    let cause: &'static Cause = finding.cause.0;
    let mut told = finding.values.clone();
    if claim.disputed {
        told = Values::new();
    }
    let uid = PodUid::parse(&pod.metadata.uid);
    let is_verified = by.unverified.is_none();
    let trusted = Trusted::new(&told, uid.as_ref(), &finding.chain);
    let told = cause.safe.iter().filter(|advice| advice.when.is_empty() && (is_verified || is_read_only(advice)));
    let filled = told.filter_map(|advice| {
        let values = if is_read_only(advice) || program(advice) == Some("umount") {
            &trusted.to_look
        } else {
            &trusted.to_change
        };
        advice.fill(values).map(|step| Step { on_the_node: true, ..step })
    });
    // A command in a pod of the node takes its kubelet and its runtime.
    let first = match source != Source::Event || kubelet::runs_pods(on) {
        true => ask_the_node(pod, &by.node, source),
        false => see_node(&by.node),
    };
    let steps = first.into_iter().chain(filled).collect();
    let (dont, breaks) = (cause.danger.action.to_owned(), cause.danger.breaks_and_when(cause.danger.breaks));
    Remedy { steps, note: None, dont, breaks }
}

/// It queries the node itself, so no Event has a say in what it answers.
fn ask_the_node(pod: &Pod, node: &str, source: Source) -> Option<Step> {
    let node = clean(node, 253);
    let (text, command) = match source {
        Source::Agent => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let name = quote_for_shell(&format!("{namespace}/{}", pod.metadata.name))?;
            (format!("Verify it on {node}"), format!("why-terminating-agent check --pod {name}"))
        }
        Source::NodeCheck => (format!("Verify it: check once more on {node}"), plugin_command(pod, "--on-node")?),
        Source::Event => {
            let text =
                format!("Verify first: query the agent on {node} itself, which needs pods/exec in its namespace");
            (text, live_command(pod)?)
        }
    };
    let on_the_node = source == Source::Agent;
    Some(Step { text, command: Some(command), on_the_node, is_check: true, tested: true })
}

/// What the API server still knows of a node on which nothing can be run from here.
fn see_node(node: &str) -> Option<Step> {
    let text = "The node is not ready, so its agent cannot be queried from here: see what the node reports".to_owned();
    let command = format!("kubectl describe node {}", quote_for_shell(node)?);
    Some(Step { text, command: Some(command), on_the_node: false, is_check: true, tested: true })
}

/// Queries the agent of a pod's node.
pub(super) fn live_command(pod: &Pod) -> Option<String> {
    plugin_command(pod, "--live")
}

fn plugin_command(pod: &Pod, flag: &str) -> Option<String> {
    let name = quote_for_shell(&format!("pod/{}", pod.metadata.name))?;
    let namespace = quote_for_shell(pod.metadata.namespace.as_deref().unwrap_or_default())?;
    Some(format!("kubectl why-terminating {name} -n {namespace} {flag}"))
}

/// Whether it only reads. Of an unverified claim nothing else is shown: even a step in words, or one that names what is the
/// pod's, is for a cause and with values that its writer chose.
fn is_read_only(advice: &Advice) -> bool {
    program(advice).is_some_and(|program| LOOK.contains(&program))
}

fn program(advice: &Advice) -> Option<&'static str> {
    advice.command?.split(' ').next()
}
