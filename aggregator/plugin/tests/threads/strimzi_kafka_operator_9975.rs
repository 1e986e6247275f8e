//! <https://github.com/strimzi/strimzi-kafka-operator/issues/9975>: the Topic Operator runs and the brokers do not answer. It is
//! a container of the Entity Operator of the Kafka that the topic's label names.

use crate::support::*;

fn world() -> World {
    let group = "kafka.strimzi.io";
    let says =
        "org.apache.kafka.common.errors.TimeoutException: Call(callName=deleteTopics, deadlineMs=1, tries=1) timed out";
    healthy()
        .active("data")
        .with_custom(group, "kafkatopics", "KafkaTopic")
        .with_custom(group, "kafkas", "Kafka")
        .held("kafka.strimzi.io/v1", "KafkaTopic", "data", "orders", &["strimzi.io/topic-operator"])
        .change("/apis/kafka.strimzi.io/v1/kafkatopics", "orders", |topic| {
            topic["metadata"]["labels"] = json!({"strimzi.io/cluster": "events"});
            topic["status"] = json!({"conditions": [
                {"type": "Ready", "status": "False", "reason": "KafkaError", "message": says}
            ]});
        })
}

fn kafka(conditions: Value) -> World {
    world().with(json!({
        "apiVersion": "kafka.strimzi.io/v1", "kind": "Kafka", "metadata": {"name": "events", "namespace": "data"},
        "status": {"conditions": conditions}
    }))
}

#[test]
fn what_the_kafka_of_the_topic_reports_ends_the_chain() {
    let with = |world: World| {
        let world = world.deployment("data", "events-entity-operator", 1, 1);
        look(
            world.may_change("data", "events-entity-operator", "kafka.strimzi.io", "kafkatopics"),
            object("kafkatopic", "data", "orders"),
        )
    };
    let broken = json!([{"type": "NotReady", "status": "True", "reason": "TimeoutException", "message": "waiting for Pod events-broker-0"}]);
    let looked = with(kafka(broken));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "KafkaTopic data/orders: held by finalizer strimzi.io/topic-operator",
            "Deployment data/events-entity-operator: runs (1 of 1 pods ready)",
            "Kafka data/events: ",
        ],
    );
    assert!(looked.chain(0)[2].contains("NotReady=True TimeoutException"), "{:?}", looked.chain(0));
    let describe = "kubectl describe kafkas.kafka.strimzi.io/events -n data";
    assert!(looked.commands().iter().any(|one| one == describe), "{:?}", looked.commands());
    // Without it, or with one that reports nothing wrong, its operator is looked at.
    let looked = with(world());
    assert!(looked.chain(0)[2].starts_with("Kafka data/events: does not exist"), "{:?}", looked.chain(0));
    let looked = with(kafka(json!([{"type": "Ready", "status": "True"}])));
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["KafkaTopic data/orders: ", "Deployment data/events-entity-operator: runs (1 of 1 pods ready)"],
    );
}
