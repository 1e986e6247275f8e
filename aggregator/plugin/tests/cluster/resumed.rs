//! A deletion that has stopped, because its controller does not work: what continues when that works again.

use aggregator_core::known_finalizers;
use aggregator_core::report::Root;

use crate::support::*;

/// What is noted below steps that let a deletion continue.
const NOTE: &str = "The deletion cannot be undone";

/// A custom object with this finalizer, and its controller.
fn held(kind: &str, finalizer: &str, controller: Option<(i64, i64)>) -> Looked {
    let plural = format!("{}s", kind.to_lowercase());
    let world = healthy()
        .with_custom("data.example.com", &plural, kind)
        .active("shop")
        .held("data.example.com/v1", kind, "shop", "main", &[finalizer])
        .may_change("ops", "op", "data.example.com", &plural);
    let world = match controller {
        Some((replicas, ready)) => world.deployment("ops", "op", replicas, ready),
        None => world,
    };
    look(world, object(&kind.to_lowercase(), "shop", "main"))
}

fn note(root: &Root) -> &str {
    root.finding.remedy.note.as_deref().unwrap_or_default()
}

/// Rook, "Restoring CRDs After Deletion": a CephCluster in use that was deleted by mistake can be made again, as long as
/// its deletion does not continue.
#[test]
fn a_ceph_cluster_that_was_deleted_by_mistake() {
    let world = |replicas, ready| {
        healthy()
            .with_custom("ceph.rook.io", "cephclusters", "CephCluster")
            .active("rook-ceph")
            .held("ceph.rook.io/v1", "CephCluster", "rook-ceph", "main", &["cephcluster.ceph.rook.io"])
            .deployment("rook-ceph", "rook-ceph-operator", replicas, ready)
            .may_change("rook-ceph", "rook-ceph-operator", "ceph.rook.io", "cephclusters")
    };
    for (replicas, ready, expected) in
        [(0, 0, "FinalizerControllerGone"), (1, 0, "FinalizerControllerNotReady"), (1, 1, "ControllerCleanupPending")]
    {
        let looked = look(world(replicas, ready), object("cephcluster", "rook-ceph", "main"));
        assert_eq!(looked.causes(), [expected], "{:#?}", looked.report);
        let root = &looked.report.roots[0];
        let noted = note(root);
        for says in [NOTE, "its disks are wiped if its cleanupPolicy says so", "Restoring CRDs After Deletion"] {
            assert!(noted.contains(says), "{expected}: {noted}");
        }
        let breaks = &root.finding.remedy.breaks;
        assert!(breaks.contains("deletes all that the CephCluster owns"), "{breaks}");
        let scales = looked.commands().iter().any(|one| one.contains("scale deployment/rook-ceph-operator"));
        assert_eq!(scales, replicas == 0, "{:?}", looked.commands());
    }
}

/// Where the controller of a known finalizer is brought back, the answer notes what that will do.
#[test]
fn what_goes_on_is_told_of_every_known_finalizer() {
    // These have a decision of their own, or little goes on: they wait for the last user of the object, or remove a record.
    let own = ["ArgoCdFinalizer", "RookFinalizer", "ProtectedWhileInUse", "ExternalResourceFinalizer"];
    for known in known_finalizers().filter(|known| !known.in_controller_manager) {
        let kind = known.only.first().copied().unwrap_or("Store");
        let shown = known.names[0].to_string();
        let finalizer = shown.rsplit(", ").next().unwrap_or(&shown);
        for controller in [None, Some((0, 0)), Some((1, 0)), Some((1, 1))] {
            let looked = held(kind, finalizer, controller);
            let root = &looked.report.roots[0];
            let noted = note(root);
            let id = root.finding.cause.id;
            let is_noted = noted.starts_with(NOTE) && noted.contains(known.when);
            assert!(is_noted || own.contains(&id) || known.is_empty, "{finalizer} with {controller:?}: {id}: {noted}");
        }
    }
}

#[test]
fn what_goes_on_of_an_unknown_finalizer_may_be_anything() {
    for controller in [None, Some((0, 0)), Some((1, 0)), Some((1, 1))] {
        let looked = held("Store", "stores.data.example.com/cleanup", controller);
        assert!(note(&looked.report.roots[0]).starts_with(NOTE), "{:#?}", looked.report);
    }
}
