//! <https://github.com/percona/percona-server-mongodb-operator/pull/2137>: of the conditions one is a switch that is off.

use crate::support::*;

#[test]
fn a_switch_that_is_off_is_no_reason() {
    let group = "psmdb.percona.com";
    let world = healthy().active("db");
    let before = world.ago(90_000);
    let world = world
        .with_custom(group, "perconaservermongodbs", "PerconaServerMongoDB")
        .held("psmdb.percona.com/v1", "PerconaServerMongoDB", "db", "m", &["percona.com/delete-psmdb-pods-in-order"])
        .reports(
            "/apis/psmdb.percona.com/v1/perconaservermongodbs",
            "m",
            json!({"conditions": [{"type": "sharding", "status": "False", "lastTransitionTime": before}]}),
        )
        .deployment("db", "percona-server-mongodb-operator", 1, 1)
        .may_change("db", "percona-server-mongodb-operator", group, "perconaservermongodbs");
    let looked = look(world, object("perconaservermongodb", "db", "m"));
    assert!(!looked.chain(0).pop().unwrap().contains("sharding"), "{:#?}", looked.chain(0));
}
