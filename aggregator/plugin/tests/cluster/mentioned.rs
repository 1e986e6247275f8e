//! Other objects that an object's metadata names: in its finalizer, and as its owner. And finalizers that a person set.

use crate::setters::{asked, evidence, operator_role, runs, set_by, widget};
use crate::support::*;

const GROUP: &str = "infra.example.com";
const PATH: &str = "/apis/infra.example.com/v1/terraforms";

/// A Terraform that waits for another, by a finalizer with the name of that.
fn vpc() -> World {
    let world = healthy().with_custom(GROUP, "terraforms", "Terraform").active("shop");
    let world = world.held(&format!("{GROUP}/v1"), "Terraform", "shop", "vpc", &["tf.dependency.of.rds-testdb1"]);
    world.deployment("flux", "tofu-controller", 1, 1).may_change("flux", "tofu-controller", GROUP, "terraforms")
}

fn ask(world: World) -> Looked {
    look(world, object("terraform", "shop", "vpc"))
}

#[test]
fn an_object_that_the_finalizer_is_named_after_is_followed_or_said() {
    let going = ask(vpc().held(&format!("{GROUP}/v1"), "Terraform", "shop", "rds-testdb1", &["example.com/hold"]));
    assert!(going.chain(0).iter().any(|link| link.starts_with("Terraform shop/rds-testdb1")), "{:?}", going.chain(0));
    let there = vpc().with(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Terraform",
        "metadata": {"name": "rds-testdb1", "namespace": "shop", "uid": "t"}
    }));
    let there = ask(there);
    assert!(evidence(&there).contains("has that of Terraform shop/rds-testdb1, which exists"), "{}", evidence(&there));
    // Its own words name the one that is gone.
    let blocked = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Deletion",
        "message": "Deletion in progress, but blocked. Please delete rds-testdb1 to resume"}]});
    let gone = ask(vpc().reports(PATH, "vpc", blocked));
    let says = "has that of Terraform shop/rds-testdb1, which does not exist";
    assert!(evidence(&gone).contains(says) && gone.chain(0)[0].contains(says), "{:?}", gone.chain(0));
    // A word that is no object is none that is gone.
    assert!(!evidence(&ask(vpc())).contains("has that of"), "{}", evidence(&ask(vpc())));
}

#[test]
fn a_kind_and_a_name_in_the_finalizer_of_a_namespace() {
    let group = "external-secrets.example.com";
    let world = |with: bool| {
        let world = healthy()
            .with_cluster_wide(group, "ces", "ClusterExternalSecret")
            .going("repro", all_false())
            .change("/api/v1/namespaces", "repro", |one| {
                one["spec"]["finalizers"] = json!(null);
                one["metadata"]["finalizers"] = json!([format!("externalsecrets.{group}/ces-team-1")]);
            });
        match with {
            true => world.with(json!({
                "apiVersion": format!("{group}/v1"), "kind": "ClusterExternalSecret", "metadata": {"name": "team-1", "uid": "c"}
            })),
            false => world,
        }
    };
    for (with, state) in [(true, "exists"), (false, "does not exist")] {
        let looked = look(world(with), object("ns", "", "repro"));
        let says = format!("has that of ClusterExternalSecret team-1, which {state}");
        assert!(evidence(&looked).contains(&says), "{}", evidence(&looked));
    }
}

#[test]
fn an_owner_that_does_not_exist_is_said() {
    let world = |uid: Option<&str>| {
        let world = widget().with_custom("db.example.com", "deployments", "DbDeployment");
        let world = world.change("/apis/example.com/v1/widgets", "w", |one| {
            one["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "db.example.com/v1", "kind": "DbDeployment", "name": "cluster", "uid": "first"
            }]);
        });
        let world = runs(operator_role(world, json!([sa("ops", "op")])), "ops", "op", "op", 1);
        let owner = uid.map(|uid| {
            json!({"apiVersion": "db.example.com/v1", "kind": "DbDeployment",
                "metadata": {"name": "cluster", "namespace": "shop", "uid": uid}})
        });
        owner.into_iter().fold(world, World::with)
    };
    let gone = asked(world(None));
    assert!(gone.chain(0)[0].contains("its owner DbDeployment cluster does not exist"), "{:?}", gone.chain(0));
    assert!(asked(world(Some("other"))).chain(0)[0].contains("its uid differs"));
    let there = asked(world(Some("first")));
    assert!(
        !evidence(&there).contains("its owner") && !there.chain(0)[0].contains("its owner"),
        "{:?}",
        there.chain(0)
    );
    // In a namespace that is being deleted an owner may go first.
    let emptied = world(None).without("/api/v1/namespaces", "shop").going("shop", all_false());
    let emptied = asked(emptied);
    assert!(evidence(&emptied).contains("its owner DbDeployment"), "{}", evidence(&emptied));
    assert!(!emptied.chain(0)[0].contains("its owner"), "{:?}", emptied.chain(0));
}

#[test]
fn a_finalizer_that_a_person_set_is_no_sign_of_a_controller_that_is_gone() {
    for manager in ["kubectl-edit", "kubectl-patch"] {
        let looked = asked(set_by(widget(), manager));
        assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
        let words = format!("set by {manager} at 2026-01-01T00:00:00Z: a person, with {manager}");
        assert!(looked.chain(0)[0].contains(&words), "{:?}", looked.chain(0));
    }
    for manager in ["widget-operator", "helm", "kubectl-client-side-apply"] {
        assert_eq!(asked(set_by(widget(), manager)).causes(), ["FinalizerControllerGone"], "{manager}");
    }
}
