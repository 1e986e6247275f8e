//! Where to look up who deleted an object: it does not say so itself.

use aggregator_core::state::ObjectRef;
use findings::render::Page;

/// Adds the queries of the audit logs of clouds (docs/kubectl.md has where each is kept).
pub fn lines(page: &mut Page, object: &ObjectRef) {
    page.filled("  Deleted by: ", "not recorded in the object; in the audit log of the API server, if one is kept");
    for query in queries(object) {
        page.line(&format!("    {query}"));
    }
}

fn queries(object: &ObjectRef) -> Vec<String> {
    let (resource, name) = (&*object.resource.plural, &*object.name);
    let namespace = object.namespace.as_deref();
    // Other names would have to be quoted in four languages.
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    if ![resource, name, namespace.unwrap_or_default()].into_iter().all(is_plain) {
        return Vec::new();
    }
    let within = |field: &str, equals: &str, and: &str| {
        namespace.map_or(String::new(), |namespace| format!(" {and} {field} {equals} \"{namespace}\""))
    };
    let path = namespace.map_or(String::new(), |namespace| format!("namespaces/{namespace}/"));
    vec![
        format!(
            "EKS: filter @logStream like /audit/ and verb = \"delete\" and objectRef.resource = \"{resource}\" and \
             objectRef.name = \"{name}\"{} | fields @timestamp, user.username, userAgent",
            within("objectRef.namespace", "=", "and")
        ),
        format!(
            "GKE: gcloud logging read --freshness=30d 'resource.type=\"k8s_cluster\" \
             protoPayload.methodName:\"{resource}.delete\" protoPayload.resourceName:\"{path}{resource}/{name}\"'"
        ),
        format!(
            "AKS: AKSAuditAdmin | where Verb == \"delete\" and ObjectRef.resource == \"{resource}\" and \
             ObjectRef.name == \"{name}\"{} | project TimeGenerated, User.username, UserAgent",
            within("ObjectRef.namespace", "==", "and")
        ),
        format!(
            "OpenShift: oc adm node-logs NODE --path=kube-apiserver/audit.log | jq 'select(.verb == \"delete\" and \
             .objectRef.resource == \"{resource}\" and .objectRef.name == \"{name}\"{}) | .user.username'",
            within(".objectRef.namespace", "==", "and")
        ),
    ]
}
