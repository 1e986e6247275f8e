//! What the held object is made of: what of that is being deleted is waited for, and what fails is the root.

use crate::support::*;

/// A database whose operator runs and reports nothing.
fn database() -> World {
    healthy()
        .with_custom("example.com", "databases", "Database")
        .with_custom("example.com", "backups", "Backup")
        .active("team")
        .active("ops")
        .held("example.com/v1", "Database", "team", "orders", &["example.com/cleanup"])
        .deployment("ops", "op", 1, 1)
        .may_change("ops", "op", "example.com", "databases")
}

fn owned_by(kind: &str, uid: &str) -> Value {
    json!([{"apiVersion": "example.com/v1", "kind": kind, "name": "any", "uid": uid, "controller": true}])
}

fn asked(world: World) -> Looked {
    look(world, object("database", "team", "orders"))
}

/// Another object that is being deleted, whose operator is gone.
fn backup(world: World, change: impl FnOnce(&mut Value)) -> World {
    world
        .held("example.com/v1", "Backup", "team", "nightly", &["other.org/cleanup"])
        .change("/apis/example.com/v1/backups", "nightly", change)
}

#[test]
fn what_belongs_to_it_and_goes_is_waited_for() {
    let by_owner: fn(&mut Value) = |one| one["metadata"]["ownerReferences"] = owned_by("Database", "Database-orders");
    let by_uid: fn(&mut Value) =
        |one| one["metadata"]["labels"] = json!({"example.com/instance-id": "Database-orders"});
    let by_name: fn(&mut Value) = |one| one["metadata"]["labels"] = json!({"example.com/database-name": "orders"});
    for change in [by_owner, by_uid, by_name] {
        let looked = asked(backup(database(), change));
        assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
        looked.assert_chain(0, &["Database team/orders: ", "Backup team/nightly: "]);
    }
    // Of another object of that name, or of no relation.
    let others: [fn(&mut Value); 2] =
        [|one| one["metadata"]["labels"] = json!({"example.com/tenant": "orders"}), |_| {}];
    for change in others {
        assert_eq!(asked(backup(database(), change)).causes(), ["FinalizerControllerFailing"]);
    }
}

#[test]
fn what_its_words_name_and_goes_is_waited_for() {
    let saying = |message: &str| {
        let message = message.to_owned();
        backup(database(), |_| {}).change("/apis/example.com/v1/databases", "orders", |one| {
            one["status"] = json!({"conditions": [
                {"type": "Deleted", "status": "False", "reason": "Waiting", "message": message}
            ]});
        })
    };
    let named = asked(saying("the backups [nightly] should be deleted first"));
    named.assert_chain(0, &["Database team/orders: ", "Backup team/nightly: "]);
    for other in ["the backups [nightly-2] should be deleted first", "the Backup is still there"] {
        assert_eq!(asked(saying(other)).causes(), ["FinalizerControllerFailing"], "{other}");
    }
}

/// Its owner may be called as what it lacks.
#[test]
fn its_owner_is_not_waited_for_because_of_its_name() {
    let world = backup(database(), |one| one["metadata"]["uid"] = "of-nightly".into()).change(
        "/apis/example.com/v1/databases",
        "orders",
        |one| {
            one["metadata"]["ownerReferences"] = owned_by("Backup", "of-nightly");
            one["status"] = json!({"message": "cannot connect to \"nightly\""});
        },
    );
    assert_eq!(asked(world).causes(), ["FinalizerControllerFailing"]);
}

fn job(change: impl FnOnce(&mut Value)) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "orders-cleanup", "namespace": "team", "uid": "job",
            "ownerReferences": owned_by("Database", "Database-orders")
        },
        "status": {}
    });
    change(&mut job);
    job
}

fn pod_of(owner: Value, status: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "orders-cleanup-x", "namespace": "team", "uid": "pod", "ownerReferences": owner},
        "spec": {"nodeName": "node-a"}, "status": status
    })
}

fn of_job() -> Value {
    json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "orders-cleanup", "uid": "job", "controller": true}])
}

#[test]
fn a_job_of_it_that_fails_is_the_root() {
    let condition = |kind: &str| {
        let kind = kind.to_owned();
        job(|job| {
            job["status"]["conditions"] =
                json!([{"type": kind, "status": "True", "reason": "Because", "message": "of that"}]);
        })
    };
    for (world, last) in [
        (database().with(condition("Failed")), "its controller needs it: failed (Because)"),
        (database().with(job(|job| job["spec"]["suspend"] = true.into())), "its controller needs it: suspended"),
        (
            database().with(job(|_| {})).with(pod_of(
                of_job(),
                json!({"phase": "Pending", "containerStatuses": [
                    {"name": "main", "state": {"waiting": {"reason": "CreateContainerError", "message": "no such device"}}}
                ]}),
            )),
            "of Job team/orders-cleanup: container main waits: CreateContainerError \"no such device\"",
        ),
    ] {
        let looked = asked(world);
        assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
        let chain = looked.chain(0);
        assert!(["Job team/orders-cleanup: ", "Pod team/orders-cleanup-x: "].iter().any(|at| chain.last().unwrap().starts_with(at)) && chain.last().unwrap().contains(last), "{chain:?}");
    }
    let complete = database().with(condition("Complete"));
    assert_eq!(asked(complete).causes(), ["FinalizerControllerFailing"]);
    // What failed before the deletion is of another task.
    let before = database();
    let then = before.ago(7200);
    let mut old = condition("Failed");
    old["status"]["conditions"][0]["lastTransitionTime"] = then.into();
    assert_eq!(asked(before.with(old)).causes(), ["FinalizerControllerFailing"]);
}

#[test]
fn a_pod_of_it_that_fails_is_the_root() {
    let own = || owned_by("Database", "Database-orders");
    let failed = json!({"phase": "Failed", "containerStatuses": [
        {"name": "main", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "AccessDenied"}}}
    ]});
    let unscheduled = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "2 Insufficient cpu"}
    ]});
    for (status, words) in [
        (failed, "ended with exit code 1: Error \"AccessDenied\""),
        (unscheduled, "not scheduled: \"2 Insufficient cpu\""),
    ] {
        let looked = asked(database().with(pod_of(own(), status)));
        assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
        let chain = looked.chain(0);
        assert!(
            chain.last().unwrap().starts_with("Pod team/orders-cleanup-x: ") && chain.last().unwrap().contains(words),
            "{chain:?}"
        );
    }
    let running = json!({"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]});
    assert_eq!(asked(database().with(pod_of(own(), running))).causes(), ["FinalizerControllerFailing"]);
}

/// A finalizer whose controller says nothing, and what the object names is not there.
#[test]
fn what_it_names_and_is_gone_is_probably_missed() {
    let naming = |spec: Value, status: Value| {
        database().change("/apis/example.com/v1/databases", "orders", |one| {
            one["spec"] = spec;
            one["status"] = status;
        })
    };
    let credential = || json!({"identityRef": {"kind": "Backup", "name": "identity"}});
    let looked = asked(naming(credential(), json!({})));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    assert!(
        looked.chain(0).last().unwrap().starts_with("Backup team/identity: does not exist"),
        "{:?}",
        looked.chain(0)
    );
    // Its own words come first.
    let said = json!({"conditions": [{"type": "Deleted", "status": "False", "reason": "Failed", "message": "the disk is busy"}]});
    assert_eq!(asked(naming(credential(), said)).causes(), ["FinalizerControllerFailing"]);
    let unknown = json!({"identityRef": {"kind": "Unserved", "name": "identity"}});
    assert_eq!(asked(naming(unknown, json!({}))).causes(), ["FinalizerControllerFailing"]);
}

/// An object beside the database that is not being deleted.
fn restore(world: World, change: impl FnOnce(&mut Value)) -> World {
    let made = world.ago(300);
    let mut restore = json!({
        "apiVersion": "example.com/v1", "kind": "Backup",
        "metadata": {"name": "nightly", "namespace": "team", "uid": "nightly", "creationTimestamp": made},
        "spec": {}, "status": {}
    });
    change(&mut restore);
    world.with(restore)
}

/// openshift/hive: a ClusterDeprovision is made for the deletion of a ClusterDeployment.
#[test]
fn what_its_controller_made_for_the_clean_up_and_fails_is_the_root() {
    let made = |seconds_ago: i64, status: &str| {
        let world = database();
        let made = world.ago(seconds_ago);
        let status = status.to_owned();
        restore(world, |one| {
            one["metadata"]["creationTimestamp"] = made.into();
            one["metadata"]["ownerReferences"] = owned_by("Database", "Database-orders");
            one["status"] = json!({"conditions": [
                {"type": "AuthenticationFailure", "status": status, "reason": "Denied", "message": "no credentials"}
            ]});
        })
    };
    let looked = asked(made(300, "True"));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let last = "Backup team/nightly: its controller needs it: AuthenticationFailure=True";
    looked.assert_chain(0, &["Database team/orders: ", "Deployment ops/op: runs", last]);
    // Made before the deletion, or without a failure.
    for world in [made(3600, "True"), made(300, "False")] {
        assert_eq!(asked(world).causes(), ["FinalizerControllerFailing"]);
    }
}

/// sap-btp-service-operator, open-cluster-management, rook: the object counts what uses it, and names none.
#[test]
fn what_uses_it_by_its_own_words_is_named() {
    let saying = |message: &str, spec: Value| {
        let message = message.to_owned();
        let world = database().change("/apis/example.com/v1/databases", "orders", |one| {
            one["status"] = json!({"conditions": [
                {"type": "Deleted", "status": "False", "reason": "InUse", "message": message}
            ]});
        });
        restore(world, |one| one["spec"] = spec)
    };
    let looked = asked(saying("cannot be deleted: 1 backup still exists", json!({"databaseName": "orders"})));
    assert_eq!(looked.causes(), ["ProtectedWhileInUse"], "{:#?}", looked.report);
    let last = "Backup team/nightly: is left, and is not being deleted";
    looked.assert_chain(0, &["Database team/orders: ", "Deployment ops/op: runs", last]);
    assert!(looked.commands().iter().any(|command| command.contains("nightly")), "{:?}", looked.commands());
    for (message, spec) in [
        ("cannot be deleted: 1 backup still exists", json!({"databaseName": "other"})),
        ("cannot be deleted: 1 replica still exists", json!({"databaseName": "orders"})),
        ("the backup failed: no space", json!({"databaseName": "orders"})),
    ] {
        let looked = asked(saying(message, spec));
        assert!(looked.chain(0).iter().all(|link| !link.contains("nightly")), "{message}: {:?}", looked.chain(0));
    }
}
