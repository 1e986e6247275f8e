//! <https://github.com/spidernet-io/cni-plugins/issues/47>: the DEL of a plugin that Multus calls fails, and the pod
//! stays; an Event has its words.

use crate::support::*;

#[test]
fn the_words_of_the_cni_plugin_are_the_root() {
    let killing = r#"error killing pod: failed to "KillPodSandbox" for "18ba147d" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for sandbox \"3bb433e9\": plugin type=\"multus\" name=\"multus-cni-network\" failed (delete): delegateDel: error invoking ConflistDel - \"sriov-overlay\": conflistDel: error in getting result from DelNetworkList: failed to del rule table 500: no such file or directory ""#;
    let world = healthy()
        .going_pod("default", "dao-sriov-overlay", "node-a", "Failed")
        .event(("Pod", "default", "dao-sriov-overlay"), "Normal", "Killing", "Stopping container")
        .event(("Pod", "default", "dao-sriov-overlay"), "Warning", "FailedKillPod", killing);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["PodKillFails"], "{:#?}", looked.report);
    let root = &looked.report.roots[0];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Probable));
    let words = looked.chain(0).pop().unwrap();
    assert!(words.starts_with("CNI plugin on node-a: DEL fails: "), "{words}");
    assert!(words.contains("failed to del rule table 500: no such file or directory"), "{words}");
}
