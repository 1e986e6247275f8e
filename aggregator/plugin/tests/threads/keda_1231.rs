//! <https://github.com/kedacore/keda/issues/1231>: in a private GKE cluster the firewall does not let the control plane
//! reach KEDA's metrics API on port 6443 of the nodes. Reported as a missing route, it sent people to the wrong place.

use crate::support::*;

#[test]
fn a_firewall_port_is_not_a_missing_route() {
    let group = "external.metrics.k8s.io/v1beta1";
    let world = healthy()
        .aggregated(
            "external.metrics.k8s.io",
            "v1beta1",
            "keda/keda-metrics-apiserver",
            no_answer("10.1.1.1:6443", group),
        )
        .service("keda", "keda-metrics-apiserver", Some("node-a"))
        .aggregated("metrics.k8s.io", "v1beta1", "addon/metrics-server", json!({"status": "True"}))
        .service("addon", "metrics-server", Some("node-a"))
        .going("test", stale(group));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ApiServiceUnreachable"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let last = looked.chain(0).pop().unwrap();
    assert!(last.contains("a firewall between control plane and nodes does not let 10.1.1.1:6443 through"), "{last}");
    let says = &root.finding.evidence;
    assert!(says.iter().any(|one| one.says.contains("dial tcp 10.1.1.1:6443: i/o timeout")), "{says:#?}");
    let steps = &root.finding.remedy.steps;
    assert!(
        steps.iter().any(|step| step.text.contains("open the port from the control plane to the nodes")),
        "{steps:#?}"
    );
}
