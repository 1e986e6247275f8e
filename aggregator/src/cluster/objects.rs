//! Lists and single objects.

use kube::Client;
use serde_json::Value;

use super::ask::{Bounds, get};
use super::paths::{part, path};
use crate::state::{Answer, Detail, Facts, Question, Scope, Select};

/// Objects per request. Without a limit a list is charged as if it listed the whole cluster.
const PAGE: usize = 250;

/// Asks page after page. The second value says whether objects were left out.
pub async fn ask(client: &Client, question: &Question, bounds: Bounds) -> (Answer<Facts>, bool) {
    let Question::Objects { resource, scope, select, detail } = question else { return (Answer::Missing, false) };
    let path = path(resource, scope);
    if matches!(scope, Scope::Named(..)) {
        let answer = get(client, &path, accept(*detail, "PartialObjectMetadata"), bounds).await;
        return (answer.and_then(|body| value(&body)).and_then(|object| read(question, vec![object])), false);
    }
    let mut items: Vec<Value> = Vec::new();
    let mut next = String::new();
    loop {
        let answer =
            get(client, &page(&path, select, &next), accept(*detail, "PartialObjectMetadataList"), bounds).await;
        let mut list = match answer.and_then(|body| value(&body)) {
            Answer::Seen(list) => list,
            // The list was too old to go on with; what has come is true all the same.
            Answer::Failed(why) if why.starts_with("410") && !items.is_empty() => return (read(question, items), true),
            other => return (other.map(|_| Facts::Objects(Vec::new())), false),
        };
        if let Some(Value::Array(page)) = list.get_mut("items").map(Value::take) {
            items.extend(page.into_iter().filter(|item| is_wanted(select, item)));
        }
        next = text(&list, &["metadata", "continue"]);
        if next.is_empty() || items.len() >= bounds.objects {
            let cut = !next.is_empty();
            return (read(question, items), cut);
        }
    }
}

fn accept(detail: Detail, shape: &'static str) -> &'static str {
    match (detail, shape) {
        (Detail::Full, _) => "application/json",
        (Detail::Metadata, "PartialObjectMetadata") => {
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        }
        (Detail::Metadata, _) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
    }
}

fn page(path: &str, select: &Select, next: &str) -> String {
    let mut query = format!("{path}?limit={PAGE}");
    match select {
        Select::Fields(selector) => query.push_str(&format!("&fieldSelector={}", part(selector))),
        Select::Labels(selector) => query.push_str(&format!("&labelSelector={}", part(selector))),
        Select::Every | Select::Terminating => {}
    }
    if !next.is_empty() {
        query.push_str(&format!("&continue={}", part(next)));
    }
    query
}

fn is_wanted(select: &Select, item: &Value) -> bool {
    *select != Select::Terminating || !text(item, &["metadata", "deletionTimestamp"]).is_empty()
}

fn read(question: &Question, items: Vec<Value>) -> Answer<Facts> {
    match Facts::read(question, items) {
        Ok(facts) => Answer::Seen(facts),
        Err(error) => Answer::Failed(format!("an object cannot be read: {error}")),
    }
}

fn value(body: &[u8]) -> Answer<Value> {
    match serde_json::from_slice(body) {
        Ok(value) => Answer::Seen(value),
        Err(error) => Answer::Failed(format!("the answer is no JSON: {error}")),
    }
}

fn text(value: &Value, path: &[&str]) -> String {
    let found = path.iter().try_fold(value, |value, field| value.get(field));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}
