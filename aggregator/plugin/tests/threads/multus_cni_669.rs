//! <https://github.com/k8snetworkplumbingwg/multus-cni/issues/669>: the DEL of Multus fails, and the pod stays; an Event
//! has its words.

use crate::support::*;

#[test]
fn the_words_of_the_cni_plugin_are_the_root() {
    let killing = r#"error killing pod: failed to "KillPodSandbox" for "f2b7d50b" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for pod sandbox k8s_piraeus-etcd-0_storage-operators_f2b7d50b_0(b60c2337): network \"multus-cni-network\" requested interface name \"eth0\" already assigned""#;
    let world = healthy()
        .going_pod("storage-operators", "piraeus-etcd-0", "node-a", "Failed")
        .event(("Pod", "storage-operators", "piraeus-etcd-0"), "Normal", "Killing", "Stopping container")
        .event(("Pod", "storage-operators", "piraeus-etcd-0"), "Warning", "FailedKillPod", killing);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodKillFails"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let words = looked.chain(0).pop().unwrap();
    assert!(words.starts_with("CNI plugin on node-a: DEL fails: "), "{words}");
    assert!(words.contains("network 'multus-cni-network' requested interface name 'eth0' already assigned"), "{words}");
}
