//! The paths that are served.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::Uri,
    routing::get,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{Store, status::Status};

type Answer = Result<Json<Value>, Status>;

/// Serves `store` on `listener` until the process ends. `version` is the server's `gitVersion`.
pub async fn serve(listener: TcpListener, store: Store, version: String) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/version", get(|| async move { Json(version_object(&version)) }))
        .route("/api/v1/nodes/{name}", get(node))
        .route("/api/v1/persistentvolumes/{name}", get(persistent_volume))
        .route("/api/v1/pods", get(pods))
        .route("/api/v1/namespaces/{namespace}/pods", get(pods_of_namespace))
        .route("/api/v1/namespaces/{namespace}/pods/{name}", get(pod).delete(delete_pod))
        .fallback(|uri: Uri| async move { Status::not_found(format!("this double does not serve {uri}")) })
        .with_state(store);
    Ok(axum::serve(listener, router).await?)
}

fn version_object(version: &str) -> Value {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    json!({"major": major, "minor": minor, "gitVersion": version, "platform": "linux/amd64"})
}

async fn node(State(store): State<Store>, Path(name): Path<String>) -> Answer {
    let node = store.node(&name)?.ok_or_else(|| Status::not_found(format!("nodes \"{name}\" not found")))?;
    Ok(Json(node))
}

async fn persistent_volume(State(store): State<Store>, Path(name): Path<String>) -> Answer {
    let missing = || Status::not_found(format!("persistentvolumes \"{name}\" not found"));
    Ok(Json(store.persistent_volume(&name)?.ok_or_else(missing)?))
}

async fn pod(State(store): State<Store>, Path((namespace, name)): Path<(String, String)>) -> Answer {
    existing_pod(&store, &namespace, &name).map(Json)
}

/// What a list may be asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListQuery {
    #[serde(default)]
    field_selector: String,
    limit: Option<usize>,
    /// Here simply the number of items already given.
    #[serde(rename = "continue")]
    resume: Option<String>,
}

async fn pods(State(store): State<Store>, Query(query): Query<ListQuery>) -> Answer {
    list(&store, &query, |_| true)
}

async fn pods_of_namespace(
    State(store): State<Store>,
    Path(namespace): Path<String>,
    Query(query): Query<ListQuery>,
) -> Answer {
    list(&store, &query, |pod| pod["metadata"]["namespace"] == *namespace)
}

fn list(store: &Store, query: &ListQuery, wanted: impl Fn(&Value) -> bool) -> Answer {
    let matching: Vec<Value> =
        store.pods()?.into_iter().filter(|pod| wanted(pod) && selected(pod, &query.field_selector)).collect();
    let from = query.resume.as_deref().and_then(|token| token.parse().ok()).unwrap_or(0);
    let limit = query.limit.filter(|&limit| limit > 0).unwrap_or(usize::MAX);
    let page: Vec<&Value> = matching.iter().skip(from).take(limit).collect();
    let given = from + page.len();
    let mut metadata = json!({"resourceVersion": "1"});
    if given < matching.len() {
        metadata["continue"] = json!(given.to_string());
        metadata["remainingItemCount"] = json!(matching.len() - given);
    }
    Ok(Json(json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": page})))
}

/// Field selectors are `path=value`, joined by commas.
fn selected(pod: &Value, selector: &str) -> bool {
    selector.split(',').filter(|term| !term.is_empty()).all(|term| {
        let Some((path, value)) = term.split_once('=') else { return false };
        let pointer = format!("/{}", path.replace('.', "/"));
        pod.pointer(&pointer).and_then(Value::as_str) == Some(value.trim_start_matches('='))
    })
}

/// The kubelet deletes with a UID precondition, so that it never hits a new pod of the same name.
async fn delete_pod(
    State(store): State<Store>,
    Path((namespace, name)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let mut pod = existing_pod(&store, &namespace, &name)?;
    let options: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let Some(uid) = options.pointer("/preconditions/uid")
        && *uid != pod["metadata"]["uid"]
    {
        return Err(Status::conflict("the UID in the precondition is not the UID of the pod"));
    }
    // With finalizers left a real server only marks the object.
    if pod.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|left| !left.is_empty()) {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        store.put_pod(&namespace, &name, &pod)?;
    } else {
        store.remove_pod(&namespace, &name)?;
    }
    Ok(Json(pod))
}

fn existing_pod(store: &Store, namespace: &str, name: &str) -> Result<Value, Status> {
    store.pod(namespace, name)?.ok_or_else(|| Status::not_found(format!("pods \"{name}\" not found")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_by_node() {
        let pod = json!({"spec": {"nodeName": "a"}});
        assert!(selected(&pod, ""));
        assert!(selected(&pod, "spec.nodeName=a"));
        assert!(!selected(&pod, "spec.nodeName=b"));
        assert!(!selected(&pod, "status.phase=Running"));
    }

    #[test]
    fn pages_go_on_where_they_ended() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        for name in ["a", "b", "c"] {
            store.put_pod("ns", name, &json!({"metadata": {"name": name}})).unwrap();
        }
        let ask = |resume: Option<&str>| {
            let query = ListQuery { limit: Some(2), resume: resume.map(str::to_owned), ..ListQuery::default() };
            list(&store, &query, |_| true).map(|answer| answer.0).unwrap_or_default()
        };
        let first = ask(None);
        assert_eq!(first["items"].as_array().unwrap().len(), 2);
        let rest = ask(first["metadata"]["continue"].as_str());
        assert_eq!(rest["items"].as_array().unwrap().len(), 1);
        assert!(rest["metadata"].get("continue").is_none());
    }
}
