//! <https://github.com/crossplane/crossplane/issues/5962>: a claim names its composite, that names its parts, and one of these, a
//! Usage, waits for the composite to be deleted.

use crate::support::*;

#[test]
fn a_usage_and_its_composite_wait_for_each_other() {
    let owner = json!([{
        "apiVersion": "example.org/v1", "kind": "XA", "name": "my-1", "uid": "XA-my-1", "blockOwnerDeletion": true
    }]);
    let spec = |key: &'static str, value: Value| move |one: &mut Value| one["spec"][key] = value;
    let part = |kind: &str, name: &str| json!({"apiVersion": "example.org/v1", "kind": kind, "name": name});
    let world = healthy()
        .active("team")
        .active("crossplane-system")
        .with_custom("example.org", "as", "A")
        .with_cluster_wide("example.org", "xas", "XA")
        .with_cluster_wide("apiextensions.crossplane.io", "usages", "Usage")
        .held("example.org/v1", "A", "team", "my", &["finalizer.apiextensions.crossplane.io"])
        .change("/apis/example.org/v1/as", "my", spec("resourceRef", part("XA", "my-1")))
        .held("example.org/v1", "XA", "", "my-1", &["composite.apiextensions.crossplane.io"])
        .change("/apis/example.org/v1/xas", "my-1", spec("resourceRefs", json!([part("Usage", "a-uses-b")])))
        .held("apiextensions.crossplane.io/v1", "Usage", "", "a-uses-b", &["usage.apiextensions.crossplane.io"])
        .change("/apis/apiextensions.crossplane.io/v1/usages", "a-uses-b", |one| {
            one["metadata"]["ownerReferences"] = owner
        })
        .deployment("crossplane-system", "crossplane", 1, 1)
        .may_change("crossplane-system", "crossplane", "*", "*");
    let now = world.ago(20);
    let mut world = world.with(json!({
        "kind": "Event", "metadata": {"name": "e1", "namespace": "default"}, "type": "Normal", "reason": "WaitingUsingDeleted",
        "message": "Waiting for the using resource (which is a \"XA\" named \"my-1\") to be deleted.", "lastTimestamp": now,
        "involvedObject": {"kind": "Usage", "name": "a-uses-b"}
    }));
    for path in ["/apis/example.org/v1/xas", "/apis/apiextensions.crossplane.io/v1/usages"] {
        for one in world.list(path) {
            one["metadata"].as_object_mut().unwrap().remove("namespace");
        }
    }
    let looked = look(world, object("as.example.org", "team", "my"));
    assert_eq!(looked.causes(), ["DeletionsWaitForEachOther"], "{:#?}", looked.report);
}
