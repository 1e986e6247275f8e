//! Raw block volumes: the loop device the kubelet locks them with, and what is built on it.

use findings::{CauseRef, Finding, Gate, Placeholder, PodUid, cause};

use super::{NotLookedFor, finding_builder::of_node, words};
use crate::observation::{LoopDevice, Observation};

/// Loop devices on block volumes of pods that are gone.
pub fn find(seen: &Observation) -> Result<Vec<Finding>, NotLookedFor> {
    // The kubelet names the bind mount after the pod: …/volumeDevices/<volume>/dev/<pod uid>. Only
    // of a pod that nobody knows any more is it certain that the device is left.
    let (Some(api), Some(runtime)) = (seen.api.get().filter(|api| api.stale.is_none()), seen.runtime.get()) else {
        return Err(NotLookedFor(CauseRef(&cause::LOOP_DEVICE_LEFT)));
    };
    let is_known = |uid: &PodUid| {
        api.pods.iter().any(|pod| pod.uid == *uid)
            || runtime.sandboxes.iter().any(|sandbox| sandbox.pod.uid == *uid && sandbox.ready)
    };
    let is_left = |device: &&LoopDevice| {
        let uid = device.file.as_path().file_name().and_then(|name| name.to_str()).and_then(PodUid::parse);
        let is_volume = device.file.as_path().components().any(|part| part.as_os_str() == "volumeDevices");
        is_volume && uid.is_some_and(|uid| !runtime.is_static(&uid) && !is_known(&uid))
    };
    Ok(seen.loops.iter().filter(is_left).map(|device| loop_left(seen, device, None)).collect())
}

/// A loop device on a published block volume is still attached.
pub fn loop_left(seen: &Observation, device: &LoopDevice, gate: Option<Gate>) -> Finding {
    let cause = if device.holders.is_empty() { &cause::LOOP_DEVICE_LEFT } else { &cause::BLOCK_DEVICE_HELD };
    let holders =
        if device.holders.is_empty() { String::new() } else { format!("; used by {}", device.holders.join(", ")) };
    of_node(seen, cause, gate)
        .blame(
            words::loop_device(&device.device),
            format!("its backing file is {}{holders}", words::path(&device.file)),
        )
        .evidence(
            format!("/sys/block/{}/loop/backing_file", device.device.trim_start_matches("/dev/")),
            device.file.show(),
        )
        .name(Placeholder::Device, &device.device)
        .name_if(Placeholder::Path, device.file.as_str())
        .root(&device.device)
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::{
        gates::judge,
        observation::{
            sample::{self, UID, causes, node_causes},
            *,
        },
    };

    #[test]
    fn a_loop_device_of_a_pod_that_runs_is_not_left() {
        let mut seen = sample::running();
        seen.loops = vec![LoopDevice {
            device: "/dev/loop0".into(),
            dev: Dev { major: 7, minor: 0 },
            file: HostPath::from(
                format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev/{UID}").as_str(),
            ),
            deleted: false,
            holders: Vec::new(),
        }];
        assert_eq!(judge(&seen).node_findings, []);
        // Of one that was deleted by force the runtime may know yet.
        let is_left = |seen: &Observation| node_causes(seen).contains(&"LoopDeviceLeft");
        let mut forgotten = seen.clone();
        let Seen::Seen(api) = &mut forgotten.api else { unreachable!() };
        api.pods.clear();
        assert!(!is_left(&forgotten));
        for (seen, left) in [(&mut forgotten, true), (&mut seen, false)] {
            sample::runtime(seen).sandboxes[0].ready = false;
            assert_eq!(is_left(seen), left);
        }
        let mut gone = sample::node();
        gone.loops = seen.loops;
        assert_eq!(judge(&gone).node_findings[0].finding.cause.id, "LoopDeviceLeft");
        gone.loops[0].file = HostPath::from(format!("/srv/disks/{UID}").as_str());
        assert_eq!(judge(&gone).node_findings, [], "it is no volume's");
    }

    #[test]
    fn a_block_device_with_something_built_on_it() {
        let mut seen = sample::mounted("ext4");
        seen.loops.push(LoopDevice {
            device: "/dev/loop0".into(),
            dev: Dev { major: 7, minor: 0 },
            file: HostPath::from(
                format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev/{UID}").as_str(),
            ),
            deleted: false,
            holders: vec!["dm-3".into()],
        });
        assert!(causes(&seen).contains(&"BlockDeviceHeld"));
    }
}
