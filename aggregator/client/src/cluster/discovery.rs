//! What the server serves. A dead group is a fact, asked for once, never a failure of the whole.

use futures::StreamExt as _;
use serde_json::Value;

use super::bounded_client::BoundedClient;
use super::list::readable;
use aggregator_core::state::{Answer, Discovery, Facts};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Asks `/api` and `/apis`; a server that cannot aggregate (before 1.26) is asked group by group.
pub async fn ask(server: &BoundedClient<'_>) -> Answer<Facts> {
    let mut discovery = Discovery::default();
    for root in ["/api", "/apis"] {
        let answer = server.get(root, AGGREGATED).await;
        let list: Value = seen!(answer.and_then(|body| readable(serde_json::from_slice(&body))));
        if list.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList") {
            discovery.add_aggregated(&list);
        } else {
            one_by_one(server, root, &list, &mut discovery).await;
        }
    }
    Answer::Seen(Facts::Discovery(discovery))
}

async fn one_by_one(server: &BoundedClient<'_>, root: &str, list: &Value, discovery: &mut Discovery) {
    let asked = futures::stream::iter(versions(list))
        .map(|(group, version)| async move {
            let path = if group.is_empty() { format!("{root}/{version}") } else { format!("{root}/{group}/{version}") };
            let answer = server.get(&path, "application/json").await;
            let list = answer.seen().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
            (group, version, list)
        })
        .buffered(server.bounds.in_flight)
        .collect::<Vec<_>>()
        .await;
    for (group, version, list) in asked {
        discovery.add_legacy(&group, &version, list.as_ref());
    }
}

/// Groups with their versions, the preferred one first.
fn versions(list: &Value) -> Vec<(String, String)> {
    let strings = |value: &Value, field: &str| -> Vec<Value> {
        value.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut found: Vec<(String, String)> = strings(list, "versions")
        .iter()
        .filter_map(Value::as_str)
        .map(|version| (String::new(), version.to_owned()))
        .collect();
    for group in strings(list, "groups") {
        let name = group.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let preferred =
            group.pointer("/preferredVersion/version").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut versions: Vec<String> = strings(&group, "versions")
            .iter()
            .filter_map(|version| Some(version.get("version")?.as_str()?.to_owned()))
            .collect();
        versions.sort_by_key(|version| *version != preferred);
        found.extend(versions.into_iter().map(|version| (name.clone(), version)));
    }
    found
}
