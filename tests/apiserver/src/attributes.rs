//! What RBAC is asked about a request, taken from its path as an API server does
//! (`staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`).

use std::collections::HashMap;

use axum::http::Method;
use percent_encoding::percent_decode_str;

/// One request for a resource, whether or not there is such a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) verb: &'static str,
    pub(crate) group: String,
    /// With its subresource: `pods/exec`.
    pub(crate) resource: String,
    pub(crate) namespace: Option<String>,
    /// Empty for a collection.
    pub(crate) name: String,
}

impl Attributes {
    /// `None` where the path is no resource's, such as `/version` or `/apis/apps/v1`.
    pub(crate) fn of(method: &Method, path: &str, query: &HashMap<String, String>) -> Option<Self> {
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // A namespace is in itself.
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize"] => (Some(*namespace), rest),
            ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let (resource, mut name) = match rest {
            [] => return None,
            [resource] => ((*resource).to_owned(), String::new()),
            [resource, name] => ((*resource).to_owned(), (*name).to_owned()),
            [resource, name, subresource, ..] => (format!("{resource}/{subresource}"), (*name).to_owned()),
        };
        let verb = verb(method, query, name.is_empty());
        let selector = query.get("fieldSelector").map(String::as_str).unwrap_or_default();
        if let Some(selected) = selector.split(',').find_map(|one| one.strip_prefix("metadata.name=")) {
            name = selected.trim_start_matches('=').to_owned();
        }
        Some(Self { verb, group: group.to_owned(), resource, namespace: namespace.map(str::to_owned), name })
    }
}

fn verb(method: &Method, query: &HashMap<String, String>, is_collection: bool) -> &'static str {
    let is_watch = || query.get("watch").is_some_and(|value| matches!(value.as_str(), "true" | "1"));
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ if !is_collection => "get",
        _ if is_watch() => "watch",
        _ => "list",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, path: &str, query: &[(&str, &str)]) -> String {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Attributes::of(&method, path, &query).map_or_else(String::new, |asked| {
            let Attributes { verb, group, resource, namespace, name } = asked;
            format!("{verb} {resource}.{group} {}/{name}", namespace.unwrap_or_default())
        })
    }

    #[test]
    fn a_path_says_what_is_asked_for() {
        let get = |path: &str| asked(Method::GET, path, &[]);
        assert_eq!(get("/api/v1/pods"), "list pods. /");
        assert_eq!(get("/api/v1/namespaces"), "list namespaces. /");
        assert_eq!(get("/api/v1/namespaces/a"), "get namespaces. a/a");
        assert_eq!(get("/api/v1/namespaces/a/finalize"), "get namespaces/finalize. a/a");
        assert_eq!(get("/api/v1/namespaces/a/pods/b"), "get pods. a/b");
        assert_eq!(get("/api/v1/namespaces/a/pods/b/exec"), "get pods/exec. a/b");
        assert_eq!(get("/api/v1/nodes/a/proxy/logs/"), "get nodes/proxy. /a");
        assert_eq!(get("/apis/example.com/v1/widgets/a%2Fb"), "get widgets.example.com /a/b");
        for path in ["/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v3"] {
            assert_eq!(get(path), "", "{path}");
        }
    }

    #[test]
    fn a_list_of_one_is_of_its_name() {
        let path = "/api/v1/namespaces/a/pods";
        assert_eq!(asked(Method::GET, path, &[("watch", "1")]), "watch pods. a/");
        let one = ("fieldSelector", "spec.nodeName=n,metadata.name=b");
        assert_eq!(asked(Method::GET, path, &[one]), "list pods. a/b");
        assert_eq!(asked(Method::DELETE, path, &[]), "deletecollection pods. a/");
        assert_eq!(asked(Method::PATCH, "/api/v1/nodes/b", &[]), "patch nodes. /b");
    }
}
