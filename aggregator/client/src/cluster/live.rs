//! The agent of a node asked now: `check` is run in its pod, in the container that has no right on the node, with the
//! caller's own right to exec, and only when that was asked for. It asks the reader that runs.

use aggregator_core::state::{AgentEvent, Answer, Facts, Meta, Texts};
use findings::event::{ANNOTATION, FindingAnnotation, Phase};
use findings::{FaultKind, NodeReport, PodRef, Verdict, clean};
use jiff::Timestamp;

use super::bounded_client::BoundedClient;
use crate::path::part;

/// Where the image has it: there is no shell and no PATH.
pub const PROGRAM: &str = "/why-terminating-agent";
const CONTAINER: &str = "talker";
/// A longer answer is no agent's.
const LONGEST: usize = 1 << 20;
/// More findings of one pod are not kept.
const MOST: usize = 16;

/// Asks the agent in pod `agent` of one pod. Both are namespace and name. `before` is for a pod that is not being
/// deleted.
pub async fn ask(server: &BoundedClient<'_>, agent: (&str, &str), pod: (&str, &str), before: bool) -> Answer<Facts> {
    let which = format!("{}/{}", pod.0, pod.1);
    let words = [PROGRAM, "check", "--pod", &which, "--output", "json"];
    let words = words.into_iter().chain(before.then_some("--before"));
    let command: Vec<String> = words.map(|word| format!("&command={}", part(word))).collect();
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/exec?container={CONTAINER}&stdout=true{}",
        part(agent.0),
        part(agent.1),
        command.concat()
    );
    server.exec(&path, LONGEST).await.and_then(|said| match said.as_slice() {
        [] if before => Answer::failed(FaultKind::Malformed, "it wrote nothing: an older agent knows no --before"),
        said => read_report(said, pod),
    })
}

/// Another program may pose as an agent's pod and write anything: the report is parsed strictly, and only what an Event
/// could carry is kept.
pub fn read_report(said: &[u8], pod: (&str, &str)) -> Answer<Facts> {
    let report: NodeReport = match serde_json::from_slice(said) {
        Ok(report) => report,
        Err(error) => return Answer::failed(FaultKind::Malformed, format!("the agent's answer is none: {error}")),
    };
    if report.schema != NodeReport::SCHEMA {
        return Answer::failed(FaultKind::Malformed, "the agent's answer is of another version");
    }
    let is_it = |named: &PodRef| named.namespace.as_deref() == Some(pod.0) && named.name.as_deref() == Some(pod.1);
    let its = || report.pods.iter().filter(|one| is_it(&one.pod));
    // What could not be looked at is not reported as absent.
    if report.verdict == Verdict::CannotTell && its().all(|one| one.findings.is_empty()) {
        let hidden = report.unknown.iter().chain(its().flat_map(|one| &one.unknown)).next();
        let why = hidden.map(|unknown| format!("{}: {}", unknown.source, unknown.why)).or(report.notes.last().cloned());
        let why = clean(&why.unwrap_or_default(), 300);
        return Answer::failed(FaultKind::NotAsked, format!("unknown: {why}"));
    }
    let of_node =
        report.node_findings.iter().filter_map(|one| Some((one.pods.iter().find(|pod| is_it(pod))?, &one.finding)));
    let own = its().flat_map(|one| one.findings.iter().map(|finding| (&one.pod, finding)));
    let found = own.chain(of_node).map(|(pod, finding)| {
        let now = Timestamp::now().to_string();
        FindingAnnotation::new(Phase::Holds, finding, std::slice::from_ref(pod), String::new(), now).to_json()
    });
    let event = |carried: String| AgentEvent {
        metadata: Meta { annotations: Texts::from_iter([(ANNOTATION.to_owned(), carried)]), ..Meta::default() },
        event_time: Some(Timestamp::now()),
        ..AgentEvent::default()
    };
    Answer::Seen(Facts::AgentEvents(found.take(MOST).map(event).collect()))
}
