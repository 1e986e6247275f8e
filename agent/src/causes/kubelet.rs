//! The kubelet itself: not running, or running and doing nothing.

use findings::{Finding, Placeholder, cause};

use super::{Found, runtime, words};
use crate::observation::{Observation, Seen};

/// No kubelet runs, so nothing that is asked of it happens.
pub fn not_running(seen: &Observation) -> Option<Finding> {
    if seen.node.kubelet != Seen::Missing {
        return None;
    }
    let cause = &cause::KUBELET_NOT_RUNNING;
    let found = runtime::node_named(seen, Found::new(cause, None))
        .blame("kubelet", "no process of it was found")
        .evidence("/proc/*/comm", "no kubelet, k3s, rke2 or kubelite outside of pods")
        .root("kubelet");
    Some(found.finish())
}

/// It runs and its sync loop does not: it says so itself, or it is stopped.
pub fn hung(seen: &Observation) -> Option<Finding> {
    let kubelet = seen.node.kubelet.get()?;
    let cause = &cause::KUBELET_SYNC_LOOP_HUNG;
    let unhealthy = kubelet.healthz.get().filter(|healthz| healthz.status != 200 && healthz.body.contains("syncloop"));
    let (source, says) = match (kubelet.state, unhealthy) {
        ('T' | 't', _) => (format!("/proc/{}/stat", kubelet.pid), words::state(kubelet.state).to_owned()),
        (_, Some(healthz)) => ("/healthz of the kubelet".to_owned(), healthz.body.clone()),
        _ => return None,
    };
    let found = runtime::node_named(seen, Found::new(cause, None))
        .blame(words::pid(kubelet.pid, &kubelet.comm, kubelet.state), &says)
        .evidence(source, says)
        .name(Placeholder::Pid, kubelet.pid)
        .root("kubelet");
    Some(found.finish())
}

/// The runtime answers, and says that its relist is stale.
pub fn pleg(seen: &Observation) -> Option<Finding> {
    let kubelet = seen.node.kubelet.get()?;
    let healthz =
        kubelet.healthz.get().filter(|healthz| healthz.status != 200 && healthz.body.contains("pleg was last seen"))?;
    let cause = &cause::PLEG_STALLED;
    let found = runtime::node_named(seen, Found::new(cause, None))
        .blame(words::pid(kubelet.pid, &kubelet.comm, kubelet.state), &healthz.body)
        .evidence("/healthz of the kubelet", &healthz.body)
        .name(Placeholder::Pid, kubelet.pid)
        .root("kubelet");
    Some(found.finish())
}
