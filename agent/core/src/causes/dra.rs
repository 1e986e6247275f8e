//! Gate `DevicesUnprepared`: the DRA drivers that must release what the pod has claimed.

use std::collections::BTreeSet;

use findings::Subject;

use super::kubelet_operations;
use super::prelude::*;

const GATE: Option<Gate> = Some(Gate::DevicesUnprepared);

/// What keeps the pod's devices.
pub fn find(view: &PodView) -> Vec<Finding> {
    if !view.holds_devices() {
        return not_generated(view).into_iter().collect();
    }
    let claims: Vec<&DraClaim> =
        view.seen.node.dra_claims.iter().filter(|claim| claim.pods.contains(view.uid())).collect();
    let drivers: BTreeSet<&String> = claims.iter().flat_map(|claim| &claim.drivers).collect();
    if drivers.is_empty() {
        return vec![unnamed(view)];
    }
    let mut findings: Vec<Finding> = drivers.iter().filter_map(|driver| gone(view, &claims, driver)).collect();
    if findings.is_empty() {
        findings.extend(drivers.iter().map(|driver| fails(view, &claims, driver, drivers.len() == 1)));
    }
    findings
}

/// Whether the kubelet stops at this gate.
pub fn is_blocked(view: &PodView) -> bool {
    view.holds_devices() || not_generated(view).is_some()
}

fn subject(driver: &str) -> Subject {
    Subject::from(format!("DRA driver {}", findings::clean(driver, 80)))
}

fn begin(view: &PodView, cause: &'static findings::Cause, claims: &[&DraClaim], driver: &str) -> FindingBuilder {
    let its = claims.iter().filter(|claim| claim.drivers.iter().any(|one| one == driver)).take(8);
    let names: Vec<String> = its.map(|claim| findings::clean(&claim.name, 120)).collect();
    pod_finding(view, cause, GATE, &[])
        .link(format!("resource claim {}", names.join(", ")), "prepared for this pod")
        .evidence("dra_manager_state", format!("still lists this pod; driver {}", findings::clean(driver, 80)))
        .name(Placeholder::Driver, driver)
        .name(Placeholder::Claim, names.join(", "))
        .name_if(Placeholder::PluginDir, view.seen.node.kubelet_root.join("plugins").join(driver).as_str())
        .root(format!("{}:{driver}", view.uid()))
}

/// It is not registered with the kubelet, or nothing listens where it should. A socket file alone is no driver.
fn gone(view: &PodView, claims: &[&DraClaim], driver: &str) -> Option<Finding> {
    let others = view.csi_drivers();
    // Its registration socket may be one of those that gave no name.
    let is_silent = |kind: FaultKind| kind != FaultKind::Refused;
    let faults = others.into_iter().flatten().filter_map(|other| other.info.fault());
    let silent = faults.filter(|fault| is_silent(fault.kind)).count();
    let mut its = view.seen.dra_drivers.iter().filter_map(|one| one.info.get()).filter(|info| info.name == driver);
    let (state, lacks) = match its.next() {
        Some(info) if info.listens.get() == Some(&false) => ("registered, but nothing listens on its socket", None),
        Some(info) if info.listens == crate::observation::Seen::Missing => {
            ("registered, but its socket does not exist", None)
        }
        Some(_) => return None,
        None if others.is_none() => ("not known to be registered", Some("which drivers are registered")),
        None if silent > 0 => {
            ("no registration socket gave this name", Some("the names behind registration sockets that gave none"))
        }
        None => ("not registered with the kubelet", None),
    };
    let draft = begin(view, &cause::DRA_DRIVER_GONE, claims, driver)
        .blame(subject(driver), state)
        .evidence(view.seen.node.kubelet_root.join("plugins_registry").show(), state);
    Some(counted(view, driver, lacks.into_iter().fold(draft, FindingBuilder::probable)).finish())
}

/// It is registered and listens, and the devices stay prepared.
fn fails(view: &PodView, claims: &[&DraClaim], driver: &str, is_alone: bool) -> Finding {
    let (calls, pods) = (kubelet_operations::unprepare(view, driver), kubelet_operations::release_of_devices(view));
    let failure = calls.as_ref().and_then(|tries| Some((tries.failure()?, tries.proves_failure())));
    let fails = pods.as_ref().filter(|tries| tries.failure().is_some());
    let (state, is_proven) = match (failure, fails) {
        (Some((code, is_proven)), _) => {
            (format!("answers {} to NodeUnprepareResources", findings::clean(code, 40)), is_proven)
        }
        (None, Some(tries)) => {
            let state = "registered; the release of its devices fails".to_owned();
            (state, is_alone && tries.proves_failure())
        }
        (None, None) => ("registered; its devices are not released".to_owned(), false),
    };
    let draft = begin(view, &cause::DRA_DRIVER_FAILS, claims, driver)
        .blame(subject(driver), state)
        .probable_unless(is_proven, "the driver's answers: the kubelet's counters do not show each of them");
    counted(view, driver, draft).finish()
}

fn counted(view: &PodView, driver: &str, draft: FindingBuilder) -> FindingBuilder {
    let draft = kubelet_operations::add_evidence(view, kubelet_operations::unprepare(view, driver).as_ref(), draft);
    match kubelet_operations::release_of_devices(view) {
        Some(tries) => kubelet_operations::add_evidence(view, Some(&tries), draft),
        None => draft,
    }
}

/// The kubelet's file does not show which driver it is.
fn unnamed(view: &PodView) -> Finding {
    let claims = view.api.map(|pod| pod.claims.join(", ")).unwrap_or_default();
    let draft = pod_finding(view, &cause::DRA_DRIVER_GONE, GATE, &[])
        .probable("which DRA driver it is, and whether it is gone or refuses")
        .blame(format!("resource claims {claims}"), "the kubelet has not been able to unprepare them")
        .evidence("dra_manager_state", "still lists this pod")
        .name_if(Placeholder::Claim, (!claims.is_empty()).then_some(claims))
        .root(view.uid());
    kubelet_operations::add_evidence(view, kubelet_operations::release_of_devices(view).as_ref(), draft).finish()
}

/// A claim that is to be made from a template, and never was: the kubelet cannot tell its name, and stops at that also
/// where no device is prepared.
fn not_generated(view: &PodView) -> Option<Finding> {
    let pod = view.api.filter(|pod| !pod.claims_not_generated.is_empty() && !view.is_stale())?;
    let has_passed = view.is_reported_ended() == Some(true) || view.kubelet.tests_together();
    if has_passed || view.runs() || !super::api_side::is_open(&pod.phase) {
        return None;
    }
    let names: Vec<String> = pod.claims_not_generated.iter().take(8).map(|name| findings::clean(name, 120)).collect();
    let draft = pod_finding(view, &cause::DRA_CLAIM_NOT_GENERATED, GATE, &[])
        .probable("that the kubelet stops at this: only its log shows it")
        .link("this node", "all containers have ended, and the kubelet holds no device for the pod")
        .blame(format!("resource claim {}", names.join(", ")), "was never generated from its template")
        .evidence("status.resourceClaimStatuses", format!("has no entry for {}", names.join(", ")))
        .name(Placeholder::Claim, names.join(", "))
        .root(view.uid());
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn held() -> Observation {
        let mut seen = sample::deleted();
        sample::set_phase(&mut seen, "Running");
        seen.node.dra_pods = Seen::Seen(vec![sample::pod().uid]);
        seen.node.dra_claims = vec![DraClaim {
            namespace: "shop".into(),
            name: "db-0-gpu-x7".into(),
            pods: vec![sample::pod().uid],
            drivers: vec!["gpu.example.com".into()],
        }];
        seen.csi = sample::mounted("ext4").csi;
        seen
    }

    fn register(seen: &mut Observation, listens: Seen<bool>) {
        let mut driver = seen.csi.get().unwrap()[0].clone();
        let info = driver.info.get_mut().unwrap();
        (info.name, info.listens, info.is_dra) = ("gpu.example.com".into(), listens, true);
        seen.dra_drivers = vec![driver];
    }

    fn finding(seen: &Observation) -> findings::Finding {
        judge(seen).pods.remove(0).findings.remove(0)
    }

    fn count(seen: &mut Observation, of: Operation, outcome: &str, counts: [u64; 2]) {
        let read = |at_ms: u64, count: u64| CounterRead {
            at_ms,
            counters: vec![Counter { of: of.clone(), outcome: outcome.into(), count }],
        };
        let (earlier, last) = (read(sample::NOW - 20_000, counts[0]), read(sample::NOW, counts[1]));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier: Some(earlier) });
    }

    fn unprepare() -> Operation {
        let method = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources".to_owned();
        Operation::Dra { driver: "gpu.example.com".into(), method }
    }

    fn of_all_pods() -> Operation {
        Operation::Devices { name: "UnprepareResources".into() }
    }

    #[test]
    fn a_driver_that_is_not_registered_is_named_with_its_claim() {
        let mut seen = held();
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverGone"], Confidence::Proven));
        let text = serde_json::to_string(&finding(&seen)).unwrap();
        assert!(text.contains("DRA driver gpu.example.com") && text.contains("claim db-0-gpu-x7"), "{text}");
        // A socket file that is left is no driver.
        for listens in [Seen::Seen(false), Seen::Missing] {
            register(&mut seen, listens);
            assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverGone"], Confidence::Proven));
        }
        // One of those that gave no name may be it.
        seen.dra_drivers.clear();
        let silent = Fault::new("/reg.sock", (FaultKind::TimedOut, "did not answer"));
        seen.csi.get_mut().unwrap()[0].info = Seen::Failed(silent);
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverGone"], Confidence::Probable));
        seen.csi = Seen::Missing;
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverGone"], Confidence::Probable));
    }

    #[test]
    fn a_driver_that_is_registered_and_answers_with_an_error_is_not_gone() {
        let mut seen = held();
        register(&mut seen, Seen::Seen(true));
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverFails"], Confidence::Probable));
        count(&mut seen, unprepare(), "Internal", [3, 5]);
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverFails"], Confidence::Proven));
        let state = |seen: &Observation| finding(seen).roots().next().unwrap().state.clone();
        assert_eq!(state(&seen), "answers Internal to NodeUnprepareResources");
        // The call is OK, and the error of the claim is in the answer.
        count(&mut seen, of_all_pods(), "error", [3, 5]);
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        assert_eq!(state(&seen), "registered; the release of its devices fails");
        // It is counted for all pods of the node, and for all drivers of the pod.
        let other = findings::PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba2").unwrap();
        seen.node.dra_claims[0].pods.push(other);
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        seen.node.dra_claims[0].pods.pop();
        seen.node.dra_claims[0].drivers.push("nic.example.com".into());
        assert_eq!(causes(&seen), ["DraDriverGone"], "the other is not registered");
        seen.dra_drivers.push(seen.dra_drivers[0].clone());
        seen.dra_drivers[1].info.get_mut().unwrap().name = "nic.example.com".into();
        assert_eq!(causes(&seen), ["DraDriverFails", "DraDriverFails"]);
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
    }

    #[test]
    fn a_driver_that_the_file_does_not_name() {
        let mut seen = held();
        seen.node.dra_claims.clear();
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraDriverGone"], Confidence::Probable));
        let steps = |seen: &Observation| serde_json::to_string(&finding(seen).remedy.steps).unwrap();
        assert!(!steps(&seen).contains("see which driver"), "no claim is known");
        seen.api.get_mut().unwrap().pods[0].claims = vec!["gpu-1".into()];
        assert!(steps(&seen).contains("see which driver the claim gpu-1 was allocated from"));
    }

    #[test]
    fn a_claim_that_was_never_generated() {
        let mut seen = sample::deleted();
        sample::set_phase(&mut seen, "Running");
        seen.node.dra_pods = Seen::Seen(Vec::new());
        assert_eq!(causes(&seen), ["StatusNotReported"]);
        seen.api.get_mut().unwrap().pods[0].claims_not_generated = vec!["gpu".into()];
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["DraClaimNotGenerated"], Confidence::Probable));
        // The kubelet has come further.
        sample::set_phase(&mut seen, "Failed");
        assert_eq!(causes(&seen), ["ObjectNotDeleted"]);
    }
}
