//! <https://github.com/arangodb/kube-arangodb/issues/220>: pods of a database keep the finalizers of its operator, and so does the
//! object that owns them.

use crate::support::*;

#[test]
fn the_operator_that_lets_the_servers_end_is_named() {
    let group = "database.arangodb.com";
    let world = |ready: i64| {
        let world = healthy()
            .active("platform")
            .active("ops")
            .with_custom(group, "arangodeployments", "ArangoDeployment")
            .held(
                "database.arangodb.com/v1",
                "ArangoDeployment",
                "platform",
                "a",
                &["database.arangodb.com/remove-child-finalizers"],
            )
            .going_pod("platform", "a-prmr-1", "node-a", "Succeeded")
            .change("/api/v1/pods", "a-prmr-1", |pod| {
                pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                pod["metadata"]["finalizers"] = json!(["dbserver.database.arangodb.com/drain"]);
            })
            .deployment("ops", "arango-deployment-operator", 1, ready)
            .grants(
                "arango-deployment-operator",
                &[group, ""],
                &["arangodeployments", "pods"],
                &["get", "update"],
                json!([sa("ops", "arango-deployment-operator")]),
            );
        look(world, object("pod", "platform", "a-prmr-1"))
    };
    let looked = world(1);
    assert!(
        looked.chain(0)[0].contains("the ArangoDB operator removes it when the server may end"),
        "{:?}",
        looked.chain(0)
    );
    assert!(looked.chain(0)[1].starts_with("Deployment ops/arango-deployment-operator: runs"), "{:?}", looked.chain(0));
    assert_eq!(world(0).causes(), ["FinalizerControllerNotReady"]);
}
