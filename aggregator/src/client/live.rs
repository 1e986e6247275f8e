//! The agent of a node asked now: `check` is run in its pod, in the container that has no right on the node, with the
//! caller's own right to exec, and only when that was asked for. It asks the reader that runs.

use aggregator_core::state::{AgentEvent, Answer, Facts, Meta};
use findings::event::{ANNOTATION, Carried, Phase};
use findings::{FaultKind, NodeReport};
use jiff::Timestamp;

use super::paths::part;
use super::server::Server;

/// Where the image has it: there is no shell and no PATH.
const PROGRAM: &str = "/why-terminating-agent";
const CONTAINER: &str = "talker";
/// A longer answer is no agent's.
const LONGEST: usize = 1 << 20;
/// More findings of one pod are not kept.
const MOST: usize = 16;

/// Asks the agent in pod `agent` of one pod. Both are namespace and name.
pub async fn ask(server: &Server<'_>, agent: (&str, &str), pod: (&str, &str)) -> Answer<Facts> {
    let which = format!("{}/{}", pod.0, pod.1);
    let command =
        [PROGRAM, "check", "--pod", &which, "--output", "json"].map(|word| format!("&command={}", part(word)));
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}/exec?container={CONTAINER}&stdout=true{}",
        part(agent.0),
        part(agent.1),
        command.concat()
    );
    server.exec(&path, LONGEST).await.and_then(|said| read(&said, pod))
}

/// Whoever can make a pod look like an agent's writes what it likes: it is read as what it should be or not at all, and
/// of that only what an Event could carry is kept.
fn read(said: &[u8], pod: (&str, &str)) -> Answer<Facts> {
    let report: NodeReport = match serde_json::from_slice(said) {
        Ok(report) => report,
        Err(error) => return Answer::failed(FaultKind::Malformed, format!("the agent's answer is none: {error}")),
    };
    if report.schema != NodeReport::SCHEMA {
        return Answer::failed(FaultKind::Malformed, "the agent's answer is of another version");
    }
    let is_it = |namespace: Option<&str>, name: Option<&str>| namespace == Some(pod.0) && name == Some(pod.1);
    let its = report.pods.iter().filter(|one| is_it(one.pod.namespace.as_deref(), one.pod.name.as_deref()));
    let found = its.flat_map(|one| {
        one.findings.iter().map(|finding| {
            let now = Timestamp::now().to_string();
            Carried::new(Phase::Holds, finding, std::slice::from_ref(&one.pod), String::new(), now).to_annotation()
        })
    });
    let event = |carried: String| AgentEvent {
        metadata: Meta { annotations: [(ANNOTATION.to_owned(), carried)].into(), ..Meta::default() },
        event_time: Some(Timestamp::now()),
        ..AgentEvent::default()
    };
    Answer::Seen(Facts::AgentEvents(found.take(MOST).map(event).collect()))
}
