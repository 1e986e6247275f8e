//! Asks the API server what the judgement wants to know.

use std::io::IsTerminal as _;
use std::time::Instant;

use aggregator_core::judgement::judge;
use aggregator_core::state::{Question, State, Subject};
use jiff::Timestamp;

use super::args::Flags;
use client::{BoundedClient, Bounds, Client, Unreachable, answer, gather, reach};

/// Asks until the judgement has all it needs.
pub async fn query(client: &Client, subject: &Subject, flags: &Flags) -> Result<State, Unreachable> {
    let mut state = State::new(subject.clone(), Timestamp::now());
    state.kubelet_log = flags.kubelet_log;
    state.all_kinds = flags.all_kinds;
    state.live = flags.live;
    reach(client, &mut state, bounds(subject, flags)).await?;
    complete_state(client, &mut state, flags).await;
    Ok(state)
}

/// The same, about the caller's own namespace where that is all that may be seen, and without `--before` about what is
/// being deleted already.
pub async fn query_visible(
    client: &Client,
    subject: &mut Subject,
    own: &str,
    flags: &Flags,
) -> Result<State, Unreachable> {
    let state = query(client, subject, flags).await?;
    match subject {
        Subject::Everything { namespace: namespace @ None, .. }
            if !flags.all_namespaces && state.refuses_all_namespaces() =>
        {
            eprintln!(
                "note: no permission to list pods in all namespaces; this is about namespace {own} (as -n {own})"
            );
            *namespace = Some(own.to_owned());
            query(client, subject, flags).await
        }
        Subject::Before { word, namespace, name } if judge(&state).is_deleted_already => {
            eprintln!("note: it is being deleted already: this is what holds it, as without --before");
            *subject = Subject::Object { word: word.clone(), namespace: namespace.clone(), name: name.clone() };
            query(client, subject, flags).await
        }
        _ => Ok(state),
    }
}

/// Asks which Kubernetes it is, which the judgement seldom needs to know.
pub async fn add_version(client: &Client, state: &mut State, flags: &Flags) {
    let server = BoundedClient::new(client, bounds(&state.subject, flags));
    state.add(answer(&server, Question::Version).await);
}

fn bounds(subject: &Subject, flags: &Flags) -> Bounds {
    let is_whole = flags.all_kinds || matches!(subject, Subject::Kind { .. });
    let scan = Bounds::default().scan.filter(|_| !is_whole);
    Bounds { request_timeout: flags.connection.request_timeout, scan, ..Bounds::default() }
}

/// Asks what a state still lacks.
pub async fn complete_state(client: &Client, state: &mut State, flags: &Flags) {
    let (started, bounds) = (Instant::now(), bounds(&state.subject, flags));
    gather(client, state, bounds, |round, questions| {
        if started.elapsed().as_secs() >= 1 && std::io::stderr().is_terminal() {
            eprintln!("round {}: {questions} questions to the API server", round + 1);
        }
    })
    .await;
}
