//! Follows the objects that a question asks for.

use aggregator_core::state::{Answer, Detail, Question, Scope, Select};
use kube::Client;
use serde::Deserialize;

use super::bounds::Bounds;
use super::list::readable;
use super::paths::path;
use super::retry_after::ask;
use crate::path::{Selector, selected};
use crate::request::METADATA_LIST;
use crate::{Changes, Fault, Watch};

/// What has changed since a version; without one all there is, and then its changes.
pub async fn watch(client: &Client, question: &Question, since: Option<&str>, bounds: Bounds) -> Result<Watch, Fault> {
    let (path, selector) = collection(question);
    let changes = Changes {
        path: &path,
        selector,
        since,
        metadata_only: matches!(question, Question::Objects { detail: Detail::Metadata, .. }),
        terminating_only: matches!(question, Question::Objects { select: Select::Terminating, .. }),
    };
    Watch::begin(client, changes, bounds.request_timeout).await
}

/// The version a watch may begin at: what is listed later has all that the watch leaves out.
pub async fn version(client: &Client, question: &Question, bounds: Bounds) -> Answer<String> {
    #[derive(Deserialize)]
    struct List {
        metadata: Meta,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Meta {
        resource_version: String,
    }
    let (path, selector) = collection(question);
    let path = format!("{}limit=1", selected(&path, selector));
    let answer = ask(client, &path, METADATA_LIST, bounds).await;
    let list = answer.and_then(|response| readable(serde_json::from_slice::<List>(&response.body)));
    list.map(|list| list.metadata.resource_version)
}

fn collection(question: &Question) -> (String, Selector<'_>) {
    let Question::Objects { resource, scope, select, .. } = question else { return (String::new(), Selector::Every) };
    (path(resource, if matches!(scope, Scope::Named(..)) { &Scope::All } else { scope }), select.into())
}
