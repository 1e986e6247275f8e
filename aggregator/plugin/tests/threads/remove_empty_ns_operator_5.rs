//! <https://github.com/rgeraskin/remove-empty-ns-operator/issues/5>: an operator made with kopf marks every
//! namespace, and was not running when some were deleted.

use crate::support::*;

fn marked() -> World {
    healthy().going("release-testing", all_false()).change("/api/v1/namespaces", "release-testing", |one| {
        one["spec"]["finalizers"] = json!(null);
        one["metadata"]["finalizers"] = json!(["kopf.zalando.org/KopfFinalizerMarker"]);
    })
}

/// Every operator made with kopf sets this one: the namespace does not show which. The server's record does.
#[test]
fn which_operator_set_it_is_the_question() {
    let looked = look(marked(), object("ns", "", "release-testing"));
    assert_eq!(looked.report.verdict, Verdict::Stuck, "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("kopf.zalando.org/KopfFinalizerMarker"), "{:?}", looked.chain(0));
    let question = "kubectl get namespace release-testing -o yaml --show-managed-fields";
    assert!(looked.commands().iter().any(|command| command == question), "{:?}", looked.commands());
}

#[test]
fn the_record_names_the_operator_that_was_scaled_down() {
    let world = marked()
        .change("/api/v1/namespaces", "release-testing", |one| {
            one["metadata"]["managedFields"] = json!([{
                "manager": "remove-empty-ns-operator", "operation": "Update", "time": "2026-01-01T00:00:00Z",
                "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"kopf.zalando.org/KopfFinalizerMarker\"": {}}}}
            }]);
        })
        .deployment("tools", "remove-empty-ns-operator", 0, 0);
    let looked = look(world, object("ns", "", "release-testing"));
    looked.assert_chain(0, &["Namespace release-testing: ", "Deployment tools/remove-empty-ns-operator: scaled to 0"]);
}
