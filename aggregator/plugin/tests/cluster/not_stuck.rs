//! What looks like a deletion that is stuck and is something else.

use crate::support::*;

/// A ConfigMap of namespace `a` that is not being deleted, with this owner.
fn owned(owner: Value) -> World {
    healthy().with(json!([
        {"kind": "Namespace", "metadata": {"name": "a"}},
        {"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "a", "uid": "x1", "ownerReferences": [owner]}}
    ]))
}

fn owner(version: &str, kind: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": "boss", "uid": "boss-1"})
}

/// A ConfigMap called like the owner, in another namespace.
fn boss(uid: &str) -> Value {
    json!([
        {"kind": "Namespace", "metadata": {"name": "b"}},
        {"kind": "ConfigMap", "metadata": {"name": "boss", "namespace": "b", "uid": uid}}
    ])
}

fn collected(name: &str, uid: &str) -> Value {
    json!({
        "kind": "Event", "metadata": {"name": "e", "namespace": "a"}, "type": "Warning",
        "reason": "OwnerRefInvalidNamespace",
        "message": "ownerRef [v1/ConfigMap, namespace: a, name: boss, uid: boss-1] does not exist in namespace \"a\"",
        "involvedObject": {"kind": "ConfigMap", "name": name, "uid": uid}
    })
}

fn notes(looked: &Looked) -> String {
    looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n")
}

/// The one cause, which is no deletion that is stuck.
fn looks_like(looked: &Looked, cause: &str, confidence: Confidence) {
    assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, confidence);
}

/// No cause, and the answer of before.
fn looks_like_nothing(looked: &Looked) {
    assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{:#?}", looked.report);
}

#[test]
fn an_owner_in_another_namespace() {
    let of = |world| look(world, object("cm", "a", "x"));
    let elsewhere = of(owned(owner("v1", "ConfigMap")).with(boss("boss-1")));
    looks_like(&elsewhere, "OwnerInOtherNamespace", Confidence::Proven);
    assert!(elsewhere.chain(0)[0].contains("is in namespace b"), "{:?}", elsewhere.chain(0));
    // By its name, wherever it is: not by a list of everything.
    let named = |path: &&String| path.contains("metadata.name%3Dboss");
    assert_eq!(elsewhere.requests.iter().filter(named).count(), 1, "{:#?}", elsewhere.requests);
    let said = of(owned(owner("v1", "ConfigMap")).with(collected("x", "x1")));
    looks_like(&said, "OwnerInOtherNamespace", Confidence::Proven);
    assert!(said.report.roots[0].finding.evidence[0].says.contains("does not exist in namespace"));
}

#[test]
fn a_namesake_is_not_the_owner() {
    let looked = look(owned(owner("v1", "ConfigMap")).with(boss("other")), object("cm", "a", "x"));
    looks_like_nothing(&looked);
    assert!(notes(&looked).contains("Its owner does not exist (any more): ConfigMap boss"), "{}", notes(&looked));
    let here = json!({"kind": "ConfigMap", "metadata": {"name": "boss", "namespace": "a", "uid": "boss-1"}});
    let looked = look(owned(owner("v1", "ConfigMap")).with(here), object("cm", "a", "x"));
    looks_like_nothing(&looked);
    assert!(looked.report.notes.is_empty(), "{}", notes(&looked));
}

#[test]
fn an_object_that_was_collected_again() {
    let looked = look(healthy().with(collected("gone", "g1")), object("cm", "a", "gone"));
    looks_like(&looked, "OwnerInOtherNamespace", Confidence::Proven);
    assert_eq!(looked.report.refused, None);
    let nothing = look(healthy().with(collected("other", "g1")), object("cm", "a", "gone"));
    assert_eq!(nothing.report.refused.as_deref(), Some("ConfigMap a/gone does not exist"));
}

#[test]
fn why_an_object_is_being_deleted_that_nobody_deleted() {
    let world = owned(owner("v1", "ConfigMap")).with(collected("x", "x1"));
    let asked = world.ago(600);
    let world = world.change("/api/v1/configmaps", "x", |one| {
        one["metadata"]["deletionTimestamp"] = asked.into();
        one["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    let looked = look(world, object("cm", "a", "x"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert!(
        notes(&looked).contains("Why ConfigMap a/x is being deleted: its owner ConfigMap boss"),
        "{}",
        notes(&looked)
    );
}

#[test]
fn an_owner_of_a_kind_that_is_not_served() {
    let looked = look(owned(owner("gone.example.com/v1", "Widget")), object("cm", "a", "x"));
    looks_like(&looked, "OwnerKindUnknown", Confidence::Proven);
    // The kind is served, and not in this version.
    let looked = look(owned(owner("apps/v1beta1", "Deployment")), object("cm", "a", "x"));
    looks_like(&looked, "OwnerKindUnknown", Confidence::Proven);
    // Its API does not answer: what it serves is unknown.
    let stale = owned(owner("gone.example.com/v1", "Widget")).change_groups(|groups| {
        groups.push(
            json!({"metadata": {"name": "gone.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]}),
        );
    });
    looks_like_nothing(&look(stale, object("cm", "a", "x")));
}

#[test]
fn a_cluster_wide_object_with_an_owner_in_a_namespace() {
    let world = healthy().with(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "ownerReferences": [owner("v1", "ConfigMap")]}
    }));
    let looked = look(world, object("clusterrole", "default", "r"));
    looks_like(&looked, "OwnerKindUnknown", Confidence::Proven);
    assert!(looked.chain(0)[0].contains("is cluster-scoped"), "{:?}", looked.chain(0));
}

#[test]
fn what_may_not_be_seen_does_not_change_the_verdict() {
    let world = owned(owner("v1", "ConfigMap")).refuse("/api/v1/namespaces/a/events", 403, "events is forbidden");
    let looked = look(world, object("cm", "a", "x"));
    looks_like_nothing(&looked);
    assert!(notes(&looked).contains("Not readable with these permissions"), "{}", notes(&looked));
}

/// A pod of StatefulSet `db` that was made two hours after it.
fn replacement(ready_since: i64) -> World {
    let world = healthy();
    let (made, since) = (world.ago(ready_since), world.ago(ready_since));
    world
        .with(json!([
            {
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "metadata": {"name": "db", "namespace": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
            },
            {
                "kind": "Pod",
                "metadata": {
                    "name": "db-0", "namespace": "a", "uid": "new", "creationTimestamp": made,
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s"}]
                },
                "spec": {"nodeName": "node-a"},
                "status": {"phase": "Running", "conditions": [{
                    "type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": since,
                    "message": "containers with unready status: [vault]"
                }]}
            }
        ]))
        .change("/apis/apps/v1/statefulsets", "db", |set| set["metadata"]["uid"] = "s".into())
}

fn evicted() -> Value {
    json!({
        "kind": "Event", "metadata": {"name": "e", "namespace": "a"}, "reason": "TaintManagerEviction",
        "involvedObject": {"kind": "Pod", "name": "db-0", "uid": "old"}
    })
}

#[test]
fn a_replacement_that_is_not_ready() {
    let looked = look(replacement(600).with(evicted()), object("pod", "a", "db-0"));
    looks_like(&looked, "ReplacementNotReady", Confidence::Proven);
    assert!(looked.chain(0)[0].contains("containers with unready status: [vault]"), "{:?}", looked.chain(0));
    // Nothing is left that shows the first one; the new one has Events of its own.
    let mut own = evicted();
    own["involvedObject"]["uid"] = "new".into();
    let looked = look(replacement(600).with(own), object("pod", "a", "db-0"));
    looks_like(&looked, "ReplacementNotReady", Confidence::Probable);
}

#[test]
fn a_replacement_that_will_be_collected_is_told_as_that() {
    let world = replacement(600)
        .with(evicted())
        .with(boss("boss-1"))
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}));
    let world = world.change("/api/v1/pods", "db-0", |pod| {
        pod["metadata"]["ownerReferences"].as_array_mut().unwrap().push(owner("v1", "ConfigMap"));
    });
    looks_like(&look(world, object("pod", "a", "db-0")), "OwnerInOtherNamespace", Confidence::Proven);
}

#[test]
fn a_pod_that_starts_or_is_ready_is_no_replacement_in_trouble() {
    looks_like_nothing(&look(replacement(30).with(evicted()), object("pod", "a", "db-0")));
    let ready = replacement(600).with(evicted()).change("/api/v1/pods", "db-0", |pod| {
        pod["status"]["conditions"][0]["status"] = "True".into();
    });
    looks_like_nothing(&look(ready, object("pod", "a", "db-0")));
    // The set and its first pod were made together.
    let first = replacement(600).change("/apis/apps/v1/statefulsets", "db", |set| {
        set["metadata"]["creationTimestamp"] = json!(null);
    });
    looks_like_nothing(&look(first, object("pod", "a", "db-0")));
}

#[test]
fn a_replacement_whose_data_is_on_a_lost_node() {
    let name = "sts-scenario-1-0";
    let unscheduled = || {
        let world = recording("unreachable-node-pvc-chain");
        let made = world.ago(600);
        let world = world.change("/api/v1/pods", name, |pod| {
            pod["metadata"]["deletionTimestamp"] = json!(null);
            pod["metadata"]["creationTimestamp"] = made.clone().into();
            pod["spec"]["nodeName"] = "".into();
            pod["status"]["conditions"] = json!([{
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": made,
                "message": "0/2 nodes are available: 1 node(s) had untolerated taint, 1 node(s) had volume node affinity conflict."
            }]);
        });
        world.with(json!({
            "kind": "Event", "metadata": {"name": "e", "namespace": "e2e-scenario-1"}, "reason": "TaintManagerEviction",
            "involvedObject": {"kind": "Pod", "name": name, "uid": "old"}
        }))
    };
    let looked = look(unscheduled(), object("pod", "e2e-scenario-1", name));
    looks_like(&looked, "ReplacementNotReady", Confidence::Proven);
    looked.assert_chain(
        0,
        &[
            "Pod e2e-scenario-1/sts-scenario-1-0: is not being deleted; recreated, and not ready for 10m: \
             Unschedulable",
            "PersistentVolume pv-scenario-1: local to node-b",
            "Node node-b: is not ready",
        ],
    );
    // A node that is ready is not why.
    let looked =
        look(unscheduled().node_ready("node-b", "True", "KubeletReady", ""), object("pod", "e2e-scenario-1", name));
    looks_like(&looked, "ReplacementNotReady", Confidence::Proven);
    assert_eq!(looked.chain(0).len(), 1, "{:?}", looked.chain(0));
    // Nor is one that is called otherwise than its label kubernetes.io/hostname, which the volume names.
    let named = |status: &str| {
        let world = unscheduled().node_ready("node-b", status, "Because", "");
        let world = world.change("/api/v1/nodes", "node-b", |node| {
            node["metadata"]["labels"]["kubernetes.io/hostname"] = "host-b".into();
        });
        let world = world.change("/api/v1/persistentvolumes", "pv-scenario-1", |volume| {
            let terms = &mut volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
            terms[0]["matchExpressions"][0] =
                json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["host-b"]});
        });
        look(world, object("pod", "e2e-scenario-1", name))
    };
    assert_eq!(named("True").chain(0).len(), 1, "{:?}", named("True").chain(0));
    assert!(named("Unknown").chain(0).pop().unwrap().starts_with("Node node-b: is not ready"));
}

#[test]
fn the_other_pods_of_a_set_are_named_beside_its_victim() {
    let world = recording("unreachable-node-pvc-chain").change("/apis/apps/v1/statefulsets", "sts-scenario-1", |set| {
        set["spec"]["replicas"] = json!(3);
        set["status"]["readyReplicas"] = json!(1);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"]);
    assert!(notes(&looked).contains("sts-scenario-1 has 1 of 3 pods ready"), "{}", notes(&looked));
}
