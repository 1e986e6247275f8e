//! Whether the controllers act at all, where their Lease says that they do not.

use crate::support::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/leases";

/// Leader election was switched off long ago, and the Lease of that time was left.
fn left_behind(days: i64) -> World {
    let world = healthy();
    let then = world.ago(days * 86_400);
    world.change(LEASES, "kube-controller-manager", |lease| lease["spec"]["renewTime"] = then.into())
}

fn namespace(world: World, written: Option<i64>) -> World {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    let world = world
        .with_custom("example.com", "widgets", "Widget")
        .going("team", failing("NamespaceContentRemaining", remaining))
        .held("example.com/v1", "Widget", "team", "w", &["foregroundDeletion"]);
    let Some(seconds) = written else { return world };
    let then = world.ago(seconds);
    world.change("/api/v1/namespaces", "team", |one| {
        one["metadata"]["managedFields"] = json!([{
            "manager": "kube-controller-manager", "operation": "Update", "time": then, "subresource": "status",
            "fieldsV1": {"f:status": {"f:conditions": {}}}
        }]);
    })
}

#[test]
fn a_controller_manager_that_wrote_after_its_lease_runs() {
    let looked = look(namespace(left_behind(90), Some(500)), everything());
    assert_eq!(looked.causes(), ["GarbageCollectorNotWorking"], "{:#?}", looked.report);
    let note = "wrote to Namespace team";
    assert!(looked.report.notes.iter().any(|one| one.contains(note)), "{:#?}", looked.report.notes);
}

#[test]
fn a_lease_that_is_old_and_nothing_else_leaves_a_doubt() {
    let looked = look(namespace(left_behind(90), None), everything());
    assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.evidence.iter().any(|one| one.says.contains("without leader election")), "{finding:#?}");
}

#[test]
fn a_controller_manager_that_wrote_before_its_lease_ran_out_is_silent() {
    let looked = look(namespace(healthy().without_controller_manager(), Some(700)), everything());
    assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
}
