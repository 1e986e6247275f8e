//! Which pods should be gone.

use std::collections::{BTreeMap, BTreeSet};

use findings::{PodRef, PodUid};

use crate::facts::Facts;
use crate::observation::{ApiPod, Container, ContainerState, Deletion, Observation, Owner, Process, Question, Thread};
use crate::view::RETRY_WINDOW_MS;

/// A pod that should be gone, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub pod: PodRef,
    /// How it is known.
    pub why: DeletionReason,
}

/// How it is known that a pod should be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionReason {
    /// The API server has a deletion request.
    DeletionRequested(Deletion),
    /// Its containers ended then, it is not being deleted, and it still has a volume mounted here: a pod that waits for that
    /// volume waits for it.
    Completed {
        /// When the last container ended.
        finished_ms: u64,
    },
    /// The API server does not know it any more, and it still has something here: it was deleted
    /// by force, or the kubelet could not clean up after it.
    NotInApi,
    /// It should not be gone. The question is what would hold it if it were deleted now.
    Assumed,
    /// The API server was not asked. A process of it has a SIGKILL pending, or hangs on its way out.
    BeingKilled,
    /// The API server was not asked. Everything of it has ended, and something is left.
    Ended,
}

/// The pods that should be gone, by uid.
///
/// With the API server's answer: those with a deletion request, and those it does not know. Without
/// it only pods that show by themselves that they are being stopped: nothing is guessed of a pod
/// that looks like any running one.
pub fn candidates(seen: &Observation) -> Vec<Candidate> {
    candidates_by(&Facts::complete(seen))
}

/// The same, of what is known by now.
pub(crate) fn candidates_by(seen: &Facts<'_>) -> Vec<Candidate> {
    let local = local_pods(seen);
    match seen.api.get() {
        Some(api) => {
            let requested = api.pods.iter().filter_map(|pod| {
                Some(Candidate { pod: pod.to_ref(), why: DeletionReason::DeletionRequested(pod.deletion?) })
            });
            let uids: BTreeSet<&PodUid> = api.pods.iter().map(|pod| &pod.uid).collect();
            let known = |uid: &PodUid| uids.contains(uid);
            let is_static =
                |uid: &PodUid| uid.is_static() || seen.runtime.get().is_some_and(|runtime| runtime.is_static(uid));
            let unknown = local.into_iter().filter(|(uid, _)| !known(uid) && !is_static(uid));
            let forgotten = |pod: PodRef| match &api.stale {
                None => Some(Candidate { pod, why: DeletionReason::NotInApi }),
                Some(_) => local_candidate(seen, pod),
            };
            let superseded = superseded(seen).into_iter().filter(|pod| !known(&pod.uid));
            let killed = superseded.filter_map(|pod| being_killed(seen, pod));
            let requested = requested.chain(completed(seen, &api.pods)).chain(assumed(seen, &api.pods));
            requested.chain(unknown.filter_map(|(_, pod)| forgotten(pod))).chain(killed).collect()
        }
        None => local.into_values().filter_map(|pod| local_candidate(seen, pod)).collect(),
    }
}

/// Pods that have ended some time ago and still have volumes mounted. The kubelet unmounts them at once, and it takes
/// a moment.
fn completed<'a>(seen: &'a Observation, pods: &'a [ApiPod]) -> impl Iterator<Item = Candidate> + 'a {
    let ended = |pod: &'a ApiPod| {
        let is_over = pod.deletion.is_none() && !pod.mirror && has_ended(pod);
        let finished_ms = pod.finished_ms.filter(|_| is_over)?;
        (seen.at_ms.saturating_sub(finished_ms) >= RETRY_WINDOW_MS).then_some((pod, finished_ms))
    };
    let ended: Vec<(&ApiPod, u64)> = pods.iter().filter_map(ended).collect();
    let mounted = if ended.is_empty() { BTreeSet::new() } else { pods_with_volumes(seen) };
    let left = ended.into_iter().filter(move |(pod, _)| mounted.contains(pod.uid.as_str()));
    left.map(|(pod, finished_ms)| Candidate { pod: pod.to_ref(), why: DeletionReason::Completed { finished_ms } })
}

/// Pods that are not to go, where their deletion is assumed. A static pod's is not: the API server cannot delete it.
fn assumed<'a>(seen: &Observation, pods: &'a [ApiPod]) -> impl Iterator<Item = Candidate> + 'a {
    let pods = if seen.before { pods } else { &[] };
    let runs = pods.iter().filter(|pod| pod.deletion.is_none() && !pod.mirror && !has_ended(pod));
    runs.map(|pod| Candidate { pod: pod.to_ref(), why: DeletionReason::Assumed })
}

fn has_ended(pod: &ApiPod) -> bool {
    matches!(pod.phase.as_str(), "Succeeded" | "Failed")
}

/// The uids below which a volume is mounted.
fn pods_with_volumes(seen: &Observation) -> BTreeSet<&str> {
    let mounts = seen.mounts.kubelet.get().into_iter().flat_map(|table| &table.mounts);
    let uid = |path: &'_ str| -> Option<(usize, usize)> {
        let start = path.find("/pods/")? + "/pods/".len();
        let length = path.get(start..)?.find("/volume")?;
        Some((start, start + length))
    };
    mounts
        .filter_map(|mount| mount.mount_point.as_str())
        .filter_map(|path| uid(path).and_then(|(a, b)| path.get(a..b)))
        .collect()
}

/// Every pod that has left a trace on this node.
fn local_pods(seen: &Observation) -> BTreeMap<PodUid, PodRef> {
    let mut pods: BTreeMap<PodUid, PodRef> = BTreeMap::new();
    if let Some(runtime) = seen.runtime.get() {
        let named = runtime.sandboxes.iter().map(|s| &s.pod).chain(runtime.containers.iter().map(|c| &c.pod));
        for pod in named {
            pods.entry(pod.uid.clone()).or_insert_with(|| pod.clone());
        }
    }
    let nameless = |uid: &PodUid| PodRef { namespace: None, name: None, uid: uid.clone() };
    for dir in seen.pod_dirs.get().into_iter().flatten() {
        pods.entry(dir.uid.clone()).or_insert_with(|| nameless(&dir.uid));
    }
    for cgroup in seen.cgroups.get().into_iter().flatten() {
        pods.entry(cgroup.uid.clone()).or_insert_with(|| nameless(&cgroup.uid));
    }
    pods
}

fn local_candidate(seen: &Facts<'_>, pod: PodRef) -> Option<Candidate> {
    if let Some(candidate) = being_killed(seen, pod.clone()) {
        return Some(candidate);
    }
    let runtime = seen.runtime.get()?;
    let mut containers = runtime.containers.iter().filter(|c| c.pod.uid == pod.uid).peekable();
    let mut sandboxes = runtime.sandboxes.iter().filter(|s| s.pod.uid == pod.uid).peekable();
    let was_run = sandboxes.peek().is_some() || containers.peek().is_some();
    let is_over = sandboxes.all(|s| !s.ready) && containers.all(|c| c.state == ContainerState::Exited);
    // A pod directory of which the runtime knows nothing may be that of a pod about to start.
    (was_run && is_over && leaves_something(seen, &pod.uid)).then_some(Candidate { pod, why: DeletionReason::Ended })
}

/// Static pods beside which another one of their name runs already: they should be gone (`HandlePodCleanups`).
fn superseded(seen: &Observation) -> Vec<PodRef> {
    let Some(runtime) = seen.runtime.get() else { return Vec::new() };
    let running =
        |container: &&Container| container.state == ContainerState::Running && runtime.is_static(&container.pod.uid);
    let running: Vec<&Container> = runtime.containers.iter().filter(running).collect();
    let is_newer = |one: &Container, other: &Container| {
        one.pod.uid != other.pod.uid
            && (&one.pod.namespace, &one.pod.name) == (&other.pod.namespace, &other.pod.name)
            && one.created_ms > other.created_ms
    };
    let old = running.iter().filter(|old| running.iter().any(|other| is_newer(other, old)));
    let by_uid: BTreeMap<PodUid, PodRef> = old.map(|old| (old.pod.uid.clone(), old.pod.clone())).collect();
    by_uid.into_values().collect()
}

fn being_killed(seen: &Facts<'_>, pod: PodRef) -> Option<Candidate> {
    seen.is_settled(Question::KilledProcesses);
    let is_its = |process: &&Process| matches!(&process.owner, Owner::Pod { uid, .. } if *uid == pod.uid);
    let is_killed = seen.processes.iter().filter(is_its).any(|process| is_killed(seen, process));
    is_killed.then_some(Candidate { pod, why: DeletionReason::BeingKilled })
}

/// Whether it has been killed, or hangs on its way out. Processes of any pod exit all the time, so one that exits
/// counts only when it waits and does not move.
fn is_killed(seen: &Facts<'_>, process: &Process) -> bool {
    let hangs = |thread: &&Thread| {
        process.exits(thread)
            && thread.waits()
            && (thread.steady || !seen.is_settled(Question::WaitingThreads(process.pid)))
    };
    process.kill_pending
        || process.threads.iter().any(|thread| thread.kill_pending)
        || process.threads.iter().any(|thread| hangs(&thread))
}

/// Whether a mount or a cgroup of the pod is left; its bare directory stays until the API object
/// is gone, and means nothing.
fn leaves_something(seen: &Observation, uid: &PodUid) -> bool {
    let cgroup = seen.cgroups.get().into_iter().flatten().any(|cgroup| cgroup.uid == *uid);
    let marker = format!("/pods/{uid}/");
    let mounts = seen.mounts.kubelet.get().into_iter().flat_map(|table| &table.mounts);
    let mount = mounts.filter_map(|mount| mount.mount_point.as_str()).any(|path| path.contains(&marker));
    cgroup || mount
}
