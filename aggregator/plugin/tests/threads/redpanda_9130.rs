//! <https://github.com/redpanda-data/redpanda/issues/9130>: a validating webhook of the operator itself refuses the update
//! that removes the finalizer, since the Secret is gone that the object names. The refusal has the words of an object that
//! its schema refuses, and the CRD's schema is not the reason.

use crate::support::*;

#[test]
fn a_webhook_that_writes_as_the_schema_does_is_the_root() {
    let group = "redpanda.vectorized.io";
    let world = healthy()
        .with_custom(group, "consoles", "Console")
        .active("console")
        .held("redpanda.vectorized.io/v1", "Console", "console", "test", &["consoles.redpanda.vectorized.io/finalizer"])
        .deployment("redpanda-system", "redpanda-operator", 1, 1)
        .may_change("redpanda-system", "redpanda-operator", group, "consoles")
        .webhook("UPDATE", group, "consoles")
        .service("guard", "guard", Some("node-a"))
        .with(json!({
            "kind": "Event", "metadata": {"name": "e", "namespace": "console"}, "type": "Warning",
            "reason": "ReconcileError", "involvedObject": {"kind": "Console", "name": "test"},
            "message": "admission webhook \"guard.example.com\" denied the request: Console.redpanda.vectorized.io \"test\" is \
                        invalid: spec.passwordRef: Invalid value: \"test-prom-password\": secret does not exist"
        }));
    let looked = look(world, object("console", "console", "test"));
    assert_eq!(looked.causes(), ["WebhookRefusesDelete"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("secret does not exist"), "{:?}", looked.chain(0));
}
