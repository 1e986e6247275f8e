//! Waits until something of what was asked about has changed.

use std::collections::HashSet;
use std::time::Duration;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::{
    Answer, Answered, ApiResource, Detail, Question, Resource, Scope, Select, State, Subject, known,
};
use futures::future::{join_all, select_all};
use kube::Client;

use super::bounds::Bounds;
use super::watch::{version, watch};
use crate::Change;

/// More watches are not kept: the next scan sees what they would report.
const MOST: usize = 12;
/// What is listed whole for other rules as well; of it only what is being deleted is followed.
const LISTED_WHOLE: [ApiResource; 3] = [known::VOLUMES, known::ATTACHMENTS, known::CRDS];

/// What to follow: the lists that the objects come from, or the objects that were named.
pub fn followed(state: &State, report: &ClusterReport) -> Vec<Question> {
    let mut questions: Vec<Question> = match state.subject {
        Subject::Object { .. } | Subject::Objects { .. } | Subject::Before { .. } => {
            let victims = report.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held));
            // What was named is the first of them.
            let normal = report.terminating_normally.iter().take(1).map(|one| &one.held);
            let things = victims.chain(&report.unexplained).chain(normal).map(|held| &held.thing);
            let one = |thing: &aggregator_core::state::ObjectRef| {
                let scope = thing.namespace.clone().map_or(Scope::All, Scope::Namespace);
                metadata(&thing.resource, &scope, Select::Fields(format!("metadata.name={}", thing.name)))
            };
            things.map(one).collect()
        }
        Subject::Everything { .. } | Subject::Kind { .. } => {
            state.answers.values().filter(|answered| !is_empty_scan(answered)).filter_map(going).collect()
        }
    };
    questions.sort_unstable();
    questions.dedup();
    questions.truncate(MOST);
    questions
}

/// There are hundreds of kinds, and mostly nothing of them is being deleted.
fn is_empty_scan(answered: &Answered) -> bool {
    answered.question.is_scan() && answered.answer.as_ref().seen().is_none_or(|facts| facts.count() == 0)
}

/// The same objects as far as they are being deleted, by their metadata.
fn going(answered: &Answered) -> Option<Question> {
    let Question::Objects { resource, scope, select, .. } = &answered.question else { return None };
    let is = |known: &ApiResource| *resource == Resource::from(*known);
    match (select, scope) {
        (Select::Terminating, _) => Some(metadata(resource, scope, Select::Terminating)),
        (Select::Fields(_), Scope::All) if is(&known::NAMESPACES) => Some(metadata(resource, scope, select.clone())),
        (Select::Every, Scope::All) if LISTED_WHOLE.iter().any(is) => {
            Some(metadata(resource, scope, Select::Terminating))
        }
        _ => None,
    }
}

fn metadata(resource: &Resource, scope: &Scope, select: Select) -> Question {
    Question::Objects { resource: resource.clone(), scope: scope.clone(), select, detail: Detail::Metadata }
}

/// Questions, each with the version to follow it from; none for what may not be listed or watched.
pub type WatchStarts = Vec<(Question, Option<String>)>;

/// Where to follow from. What is looked at after this is not missed.
pub async fn versions(client: &Client, questions: &[Question], bounds: Bounds) -> WatchStarts {
    let asked = questions.iter().map(async |question| {
        let found = match version(client, question, bounds).await {
            Answer::Seen(version) => Some(version),
            Answer::Missing | Answer::Failed(_) | Answer::Unasked => None,
        };
        (question.clone(), found)
    });
    join_all(asked).await
}

/// Waits for the first change of something that is being deleted, and for no longer than `most`. `seen` are the uids
/// of what was met: others come and go without a word. What cannot be followed is waited for as long as `poll`.
pub async fn changed(
    client: &Client,
    from: WatchStarts,
    seen: &HashSet<String>,
    bounds: Bounds,
    poll: Duration,
    most: Duration,
) {
    if from.is_empty() || from.iter().any(|(_, version)| version.is_none()) {
        return tokio::time::sleep(poll).await;
    }
    let each = from.iter().filter_map(|(question, version)| Some((question, version.as_deref()?)));
    let watches = each.map(|(question, version)| Box::pin(one(client, question, version, seen, bounds)));
    let first = async {
        // A watch that may not be, or that breaks off, is followed by a look.
        if select_all(watches).await.0.is_err() {
            tokio::time::sleep(poll).await;
        }
    };
    let _ = tokio::time::timeout(most, first).await;
}

struct Failed;

async fn one(
    client: &Client,
    question: &Question,
    version: &str,
    seen: &HashSet<String>,
    bounds: Bounds,
) -> Result<(), Failed> {
    let mut version = version.to_owned();
    loop {
        let mut watch = watch(client, question, Some(&version), bounds).await.map_err(|_| Failed)?;
        while let Some(change) = watch.next().await.map_err(|_| Failed)? {
            match change {
                Change::Deleted { uid, .. } if !seen.contains(&uid) => {}
                Change::Listed => {}
                Change::Deleted { .. } | Change::Applied(_) => return Ok(()),
            }
        }
        version = watch.version().to_owned();
    }
}
