//! Pins of network namespaces, from observations made after the reference.

use crate::observation::{
    sample::{self, NOW, causes, mount, verdict},
    *,
};

fn sandbox(seen: &mut Observation) -> &mut Sandbox {
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    &mut runtime.sandboxes[0]
}

fn network(pinned: bool, missing: bool) -> Seen<NetworkNamespace> {
    Seen::Seen(NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned, missing })
}

/// Everything ended with a boot an hour ago, and the namespace with it.
fn after_a_boot() -> Observation {
    let mut seen = sample::mounted("ext4");
    sample::set_phase(&mut seen, "Running");
    sample::table(&mut seen).clear();
    let Seen::Seen(dirs) = &mut seen.pod_dirs else { unreachable!() };
    let Seen::Seen(volumes) = &mut dirs[0].volumes else { unreachable!() };
    volumes[0].mounted = Seen::Seen(false);
    seen.uptime_ms = 3_600_000;
    sandbox(&mut seen).network = network(false, true);
    seen
}

#[test]
fn a_namespace_that_a_boot_has_taken() {
    let seen = after_a_boot();
    assert_eq!(causes(&seen), ["NetnsPathMissing"]);
    assert_eq!(verdict(&seen), findings::Verdict::Stuck);
}

#[test]
fn a_missing_namespace_alone_is_the_rule_and_no_cause() {
    let mut seen = after_a_boot();
    sample::set_phase(&mut seen, "Failed");
    assert_eq!(causes(&seen), ["CsiUnpublishFails"], "the sandboxes were stopped");
    let mut seen = after_a_boot();
    sandbox(&mut seen).created_ms = NOW - 60_000;
    assert_eq!(causes(&seen), ["CsiUnpublishFails"], "the sandbox is of this boot");
    let mut seen = after_a_boot();
    sandbox(&mut seen).network = Seen::Missing;
    assert_eq!(causes(&seen), ["CsiUnpublishFails"], "it has no network of its own");
    let mut seen = after_a_boot();
    seen.pod_dirs = Seen::Seen(Vec::new());
    assert_eq!(causes(&seen), ["StatusNotReported"], "the kubelet came further");
}

#[test]
fn cri_o_with_a_sandbox_that_has_lost_its_namespace() {
    let mut seen = sample::running();
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    runtime.containers[0].state = ContainerState::Exited;
    runtime.sandboxes[0].network = network(false, true);
    assert_eq!(causes(&seen), ["SandboxNotStopped"], "containerd ends the sandbox first");
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    runtime.name = "cri-o".into();
    assert_eq!(causes(&seen), ["NetnsPathMissing"]);
    sandbox(&mut seen).network = network(true, false);
    assert_eq!(causes(&seen), ["SandboxNotStopped"]);
}

fn copy(path: &str) -> MountCopy {
    let mount = mount(90, "0:3", path, "proc");
    MountCopy { mount, ns: 900, pid: 700, comm: "ntpd".into(), state: 'S', owner: Owner::Unit("ntpd.service".into()) }
}

#[test]
fn a_namespace_that_is_mounted_elsewhere_on_an_old_kernel() {
    let mut seen = sample::mounted("ext4");
    sandbox(&mut seen).network = network(false, false);
    seen.mount_copies = vec![copy("/host/run/netns/cni-1")];
    assert!(!causes(&seen).contains(&"NetnsBusy"), "today's kernels detach it");
    seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
    assert_eq!(causes(&seen), ["NetnsBusy"]);
    let text = serde_json::to_string(&crate::gates::judge(&seen)).unwrap();
    assert!(text.contains("ntpd.service") && text.contains("may_detach_mounts"), "{text}");
    seen.node.may_detach_mounts = Seen::Seen(true);
    assert!(!causes(&seen).contains(&"NetnsBusy"));
    seen.node.may_detach_mounts = Seen::Seen(false);
    seen.mount_copies = vec![copy("/host/run/netns/cni-10")];
    assert!(!causes(&seen).contains(&"NetnsBusy"), "it is another pod's");
    seen.mount_copies = vec![copy("/host/run/netns/cni-1")];
    sandbox(&mut seen).network = network(false, true);
    assert!(!causes(&seen).contains(&"NetnsBusy"), "the file is gone");
}

/// Saved by an agent that did not know of these fields.
#[test]
fn an_older_observation_loads_and_claims_nothing() {
    let mut seen = sample::mounted("ext4");
    sandbox(&mut seen).network = network(false, true);
    let mut saved = serde_json::to_value(&seen).unwrap();
    saved.as_object_mut().unwrap().remove("elsewhere");
    saved["node"].as_object_mut().unwrap().remove("may_detach_mounts");
    saved.pointer_mut("/runtime/Seen/sandboxes/0/network/Seen").unwrap().as_object_mut().unwrap().remove("missing");
    let loaded: Observation = serde_json::from_value(saved).unwrap();
    assert!(!causes(&loaded).iter().any(|cause| cause.starts_with("Netns")));
}
