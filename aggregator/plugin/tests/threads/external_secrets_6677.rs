//! <https://github.com/external-secrets/external-secrets/issues/6677>: a namespace was labelled so that a
//! ClusterExternalSecret selects it no more; the controller forgets the finalizer that it had put on the namespace.

use crate::support::*;

#[test]
fn the_controller_that_forgot_its_finalizer_on_a_namespace_is_named() {
    let group = "external-secrets.io";
    let world = healthy()
        .with_cluster_wide(group, "clusterexternalsecrets", "ClusterExternalSecret")
        .going("repro", all_false())
        .change("/api/v1/namespaces", "repro", |one| {
            one["spec"]["finalizers"] = json!(null);
            one["metadata"]["finalizers"] = json!(["externalsecrets.external-secrets.io/ces-repro"]);
        })
        .grants(
            "external-secrets-controller",
            &[group],
            &["clusterexternalsecrets", "clusterexternalsecrets/finalizers", "clusterexternalsecrets/status"],
            &["get", "update", "patch"],
            json!([sa("external-secrets", "external-secrets")]),
        )
        .grants(
            "external-secrets-namespaces",
            &[""],
            &["namespaces"],
            &["get", "update", "patch"],
            json!([sa("external-secrets", "external-secrets")]),
        )
        .deployment("external-secrets", "external-secrets", 1, 1);
    let looked = look(world, object("ns", "", "repro"));
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable), "{root:#?}");
    looked.assert_chain(
        0,
        &["Namespace repro: ", "Deployment external-secrets/external-secrets: runs (1 of 1 pods ready)"],
    );
}
