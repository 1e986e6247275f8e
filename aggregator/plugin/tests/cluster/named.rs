//! What the user names: several objects, a word that is nearly a kind, a name that is in another namespace.

use aggregator_core::state::{NamedObject, Subject};

use crate::support::*;

fn several(names: &[(&str, &str)]) -> Subject {
    let objects = names.iter().map(|(word, name)| NamedObject { word: (*word).to_owned(), name: (*name).to_owned() });
    Subject::Objects { objects: objects.collect(), namespace: "shop".to_owned() }
}

/// A pod of a lost node, its claim, and a pod that is well.
fn shop() -> World {
    let claim = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    healthy()
        .going_pod("shop", "db-0", "node-a", "Running")
        .change("/api/v1/pods", "db-0", |pod| pod["spec"]["volumes"] = claim)
        .held("v1", "PersistentVolumeClaim", "shop", "data", &["kubernetes.io/pvc-protection"])
        .with(json!([
            {"kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop", "uid": "w"},
             "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}}
        ]))
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "stopped posting")
}

#[test]
fn several_objects_are_one_answer_and_a_root_of_both_is_told_once() {
    let looked = look(shop(), several(&[("pod", "db-0"), ("pvc", "data"), ("pod", "web-0"), ("pod", "none")]));
    assert_eq!((looked.causes(), looked.report.refused.as_deref()), (vec!["NodeUnreachable"], None));
    assert_eq!(looked.report.counts.stuck, 2, "{:#?}", looked.report);
    let words: Vec<String> =
        looked.report.unexplained.iter().map(|held| format!("{} {}", held.thing, held.words)).collect();
    assert!(words.iter().any(|words| words == "Pod shop/none does not exist"), "{words:?}");
    assert!(words.iter().any(|words| words.starts_with("Pod shop/web-0 is not being deleted")), "{words:?}");
    // No more than these is queried.
    assert!(looked.scan_requests.is_empty(), "{:#?}", looked.scan_requests);
}

#[test]
fn of_several_that_do_not_exist_nothing_is_said_to_be_well() {
    let looked = look(shop(), several(&[("pod", "none"), ("pvc", "neither")]));
    let words = "Pod shop/none does not exist; PersistentVolumeClaim shop/neither does not exist";
    assert_eq!(looked.report.refused.as_deref(), Some(words));
}

#[test]
fn a_mistyped_kind_is_named_as_it_is_written() {
    let refused = |word: &str| {
        let world = shop().with_custom("example.com", "widgets", "Widget");
        look(world, object(word, "shop", "x")).report.refused.unwrap()
    };
    assert!(refused("widegt").contains("(did you mean widget?)"), "{}", refused("widegt"));
    assert!(refused("widgtes").contains("(did you mean widgets?)"), "{}", refused("widgtes"));
    assert!(!refused("zzz").contains("did you mean"), "{}", refused("zzz"));
}

#[test]
fn a_mistyped_name_or_namespace_is_offered() {
    let refused = |subject: Subject| look(shop(), subject).report.refused.unwrap();
    assert_eq!(
        refused(object("pvc", "shop", "dtaa")),
        "PersistentVolumeClaim shop/dtaa does not exist (did you mean data?)"
    );
    assert_eq!(refused(object("pod", "shop", "wbe-0")), "Pod shop/wbe-0 does not exist (did you mean web-0?)");
    assert_eq!(refused(object("node", "", "nod-a")), "Node nod-a does not exist (did you mean node-a?)");
    // Another pod of the same controller is not meant.
    assert_eq!(refused(object("pod", "shop", "web-1")), "Pod shop/web-1 does not exist");
    let world = || shop().active("shop");
    let namespace = Subject::Everything { namespace: Some("shpo".to_owned()), all_kinds: false };
    for subject in
        [namespace, Subject::Kind { word: "pods".to_owned(), namespace: Some("shpo".to_owned()), selector: None }]
    {
        let refused = look(world(), subject).report.refused.unwrap();
        assert!(refused.starts_with("namespace \"shpo\" not found (did you mean shop?); "), "{refused}");
    }
}

#[test]
fn what_is_in_another_namespace_is_named() {
    let refused = |world: World| look(world, object("pod", "default", "db-0")).report.refused.unwrap();
    assert_eq!(refused(shop()), "Pod default/db-0 does not exist; there is one in shop (Terminating)");
    let also = shop().with(json!({"kind": "Pod", "metadata": {"name": "db-0", "namespace": "pay", "uid": "p"}}));
    assert_eq!(refused(also), "Pod default/db-0 does not exist; there are some in pay, shop (Terminating)");
    // Who has no permission to list them learns nothing of it.
    let hidden = shop().refuse("/api/v1/pods", 403, "pods is forbidden");
    assert_eq!(refused(hidden), "Pod default/db-0 does not exist");
}

/// It is not being deleted because that fails; what its namespace waits for is the answer.
#[test]
fn an_object_left_in_a_namespace_that_is_being_deleted_leads_to_what_holds_that() {
    let error = "etcdserver: request timed out";
    let left = || json!({"kind": "ConfigMap", "metadata": {"name": "gone", "namespace": "dev-anna", "uid": "c"}});
    let stuck =
        look(healthy().going("dev-anna", content_failure(error)).with(left()), object("cm", "dev-anna", "gone"));
    assert_eq!(stuck.causes(), ["EtcdNotWorking"], "{:#?}", stuck.report);
    assert!(stuck.chain(0)[0].contains("is not being deleted, and its namespace"), "{:?}", stuck.chain(0));
    let pod =
        json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "dev-anna"}, "status": {"phase": "Running"}});
    let guarded = healthy().going("dev-anna", all_false()).with(pod).webhook("DELETE", "", "pods");
    let looked = look(guarded, object("pod", "dev-anna", "p"));
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    let namespace = json!({"kind": "Namespace", "metadata": {"name": "dev-anna"}, "status": {"phase": "Active"}});
    let well = look(healthy().with(namespace).with(left()), object("cm", "dev-anna", "gone"));
    assert!(well.causes().is_empty(), "{:#?}", well.report);
}
