//! <https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner/issues/20>: a volume with the policy Retain keeps the
//! provisioner's finalizer, although no disk is to be deleted.

use crate::support::*;

fn asked(phase: &str, policy: &str) -> Looked {
    let world = healthy()
        .held_cluster_wide("v1", "PersistentVolume", "pv-a", "external-provisioner.volume.kubernetes.io/finalizer")
        .change("/api/v1/persistentvolumes", "pv-a", |volume| {
            volume["spec"] = json!({
                "csi": {"driver": "disk.example.com", "volumeHandle": "v"}, "persistentVolumeReclaimPolicy": policy
            });
            volume["status"] = json!({"phase": phase});
        });
    look(world, object("pv", "", "pv-a"))
}

#[test]
fn the_steps_are_those_of_this_policy_and_phase() {
    let has = |looked: &Looked, text: &str| {
        looked.report.roots[0].finding.remedy.steps.iter().any(|step| step.text.contains(text))
    };
    let kept = asked("Released", "Retain");
    assert_eq!(kept.causes(), ["PvProvisionerNotDue"], "{:#?}", kept.report);
    assert!(has(&kept, "the CSI controller of disk.example.com"), "{:#?}", kept.report.roots);
    assert!(!has(&kept, "set persistentVolumeReclaimPolicy to Retain"), "{:#?}", kept.report.roots);
    assert!(
        kept.commands().iter().any(|one| one.starts_with("kubectl patch persistentvolume")),
        "{:?}",
        kept.commands()
    );
    let cleared = asked("Available", "Delete");
    assert_eq!(cleared.causes(), ["PvProvisionerNotDue"], "{:#?}", cleared.report);
    assert!(has(&cleared, "set persistentVolumeReclaimPolicy to Retain"), "{:#?}", cleared.report.roots);
    assert!(!has(&cleared, "the CSI controller of disk.example.com"), "{:#?}", cleared.report.roots);
    for looked in [kept, cleared] {
        assert!(!has(&looked, "If the policy is"), "{:#?}", looked.report.roots);
    }
}
