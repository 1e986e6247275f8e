//! <https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2200>: the controller was removed, or does not run, and its
//! finalizers stay on built-in kinds.

use crate::support::*;

fn held(kind: &str, version: &str, finalizer: &str) -> World {
    healthy().active("shop").held(version, kind, "shop", "web", &[finalizer])
}

#[test]
fn the_state_of_the_controller_is_the_answer() {
    for (kind, version, finalizer) in [
        ("Service", "v1", "service.k8s.aws/resources"),
        ("Ingress", "networking.k8s.io/v1", "ingress.k8s.aws/resources"),
        ("Ingress", "networking.k8s.io/v1", "group.ingress.k8s.aws/shop"),
    ] {
        let ask = |world| look(world, object(kind, "shop", "web"));
        let gone = ask(held(kind, version, finalizer));
        assert_eq!(gone.causes(), ["FinalizerControllerGone"], "{:#?}", gone.report);
        assert_eq!(gone.report.roots[0].finding.confidence, Confidence::Probable);
        let told = gone.chain(0).concat();
        assert!(told.contains("no Deployment or StatefulSet is named aws-load-balancer-controller"), "{told}");
        let breaks = &gone.report.roots[0].finding.remedy.breaks;
        assert!(breaks.contains("stay in AWS and cost money"), "{breaks}");
        // A chart may put its release before the name.
        for name in ["aws-load-balancer-controller", "prod-aws-load-balancer-controller"] {
            for (replicas, cause, words) in
                [(0, "FinalizerControllerGone", "scaled to 0"), (1, "FinalizerControllerNotReady", "0 of 1 pods ready")]
            {
                let world = held(kind, version, finalizer).deployment("kube-system", name, replicas, 0);
                let world = world.change("/apis/apps/v1/deployments", name, |one| {
                    one["metadata"]["labels"] = json!({"app.kubernetes.io/name": "aws-load-balancer-controller"});
                });
                let looked = ask(world);
                assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
                let root = looked.chain(0).pop().unwrap();
                assert!(root.starts_with(&format!("Deployment kube-system/{name}: {words}")), "{root}");
            }
        }
        // What cannot be listed may be there.
        let hidden = ask(held(kind, version, finalizer).refuse("/apis/apps/v1/deployments", 403, "forbidden"));
        assert_eq!(hidden.causes(), ["ExternalResourceFinalizer"], "{:#?}", hidden.report);
    }
}
