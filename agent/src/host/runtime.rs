//! The container runtime, through the CRI's reading calls.

mod info;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::observation::CALL;
use cri::{RpcError, RuntimeReader, key};
use findings::{PodRef, PodUid};
use futures::{FutureExt, StreamExt};
use info::{network_of, pid_of};

use super::{Sockets, pod_filter::PodFilter, sockets::Connected};
use crate::observation::{
    CgroupDriver, Container, ContainerState, Fault, HostPath, NetworkNamespace, RuntimeFacts, RuntimeProcess, Sandbox,
    Seen, Source,
};

/// The runtime behind one socket. Its connection serves for a whole look, and is opened by the first
/// question.
pub struct Runtime {
    socket: PathBuf,
    reader: RuntimeReader,
    _connected: Connected,
}

impl Runtime {
    /// Asks nothing yet.
    pub fn new(sockets: &Sockets, at: &Path, socket: &HostPath) -> Result<Self, Fault> {
        let connected = sockets.connect(at, socket, CALL).map_err(|error| fault(at, &error))?;
        let reader = RuntimeReader::with_connection(connected.connection.clone());
        Ok(Runtime { socket: at.to_owned(), reader, _connected: connected })
    }

    /// Lists everything, or with `only` what is this pod's. A runtime that does not answer is a fault,
    /// and a finding later.
    pub async fn facts(&self, only: Option<&PodFilter>) -> Seen<RuntimeFacts> {
        match self.list(only).await {
            Ok(facts) => Seen::Seen(facts),
            Err(error) => Seen::Failed(self.fault(&error)),
        }
    }

    async fn list(&self, only: Option<&PodFilter>) -> Result<RuntimeFacts, RpcError> {
        let labels = only.map(labels).unwrap_or_default();
        let config = async { Ok(self.reader.runtime_config().await) };
        let (version, sandboxes, containers, config) = tokio::try_join!(
            self.reader.version(),
            self.reader.sandboxes_with(labels.clone()),
            self.reader.containers_with(labels.clone()),
            config
        )?;
        let sandboxes: Vec<Sandbox> = sandboxes.into_iter().filter_map(sandbox).collect();
        Ok(RuntimeFacts {
            name: version.runtime_name,
            version: version.runtime_version,
            cgroup_driver: config.ok().and_then(|answer| answer.linux).and_then(|linux| driver(linux.cgroup_driver)),
            unready: Vec::new(),
            containers: containers.into_iter().filter_map(container).collect(),
            sandboxes,
        })
    }

    fn fault(&self, error: &RpcError) -> Fault {
        fault(&self.socket, error)
    }
}

fn fault(socket: &Path, error: &RpcError) -> Fault {
    Fault::new(Source::Runtime(HostPath::from(socket.to_owned())), super::sockets::rpc_reason(error))
}

/// How the kubelet labels a pod's sandboxes and containers.
fn labels(only: &PodFilter) -> HashMap<String, String> {
    match only {
        PodFilter::Uid(uid) => HashMap::from([(key::POD_UID.to_owned(), uid.as_str().to_owned())]),
        PodFilter::Name(namespace, name) => HashMap::from([
            (key::POD_NAMESPACE.to_owned(), namespace.clone()),
            (key::POD_NAME.to_owned(), name.clone()),
        ]),
    }
}

fn driver(number: i32) -> Option<CgroupDriver> {
    match cri::CgroupDriver::try_from(number).ok()? {
        cri::CgroupDriver::Systemd => Some(CgroupDriver::Systemd),
        cri::CgroupDriver::Cgroupfs => Some(CgroupDriver::Cgroupfs),
    }
}

fn millis(nanos: i64) -> u64 {
    u64::try_from(nanos / 1_000_000).unwrap_or(0)
}

fn started_ms(answer: &cri::ContainerStatusResponse) -> Option<u64> {
    answer.status.as_ref().map(|status| millis(status.started_at)).filter(|ms| *ms > 0)
}

fn sandbox(sandbox: cri::PodSandbox) -> Option<Sandbox> {
    let metadata = sandbox.metadata?;
    let pod =
        PodRef { uid: PodUid::parse(&metadata.uid)?, namespace: Some(metadata.namespace), name: Some(metadata.name) };
    Some(Sandbox {
        pod,
        ready: sandbox.state == cri::PodSandboxState::Ready as i32,
        created_ms: millis(sandbox.created_at),
        is_static: sandbox.annotations.get(key::CONFIG_SOURCE).is_some_and(|source| source != "api"),
        id: sandbox.id,
        pid: Seen::NotAsked,
        network: Seen::NotAsked,
    })
}

fn state_of(number: i32) -> Option<ContainerState> {
    Some(match cri::ContainerState::try_from(number).ok()? {
        cri::ContainerState::Created => ContainerState::Created,
        cri::ContainerState::Running => ContainerState::Running,
        cri::ContainerState::Exited => ContainerState::Exited,
        cri::ContainerState::Unknown => ContainerState::Unknown,
    })
}

fn container(container: cri::Container) -> Option<Container> {
    let label = |key: &str| container.labels.get(key).map(str::to_owned);
    // The kubelet, too, knows a container's pod by this label only.
    let uid = PodUid::parse(container.labels.get(key::POD_UID)?)?;
    let pod = PodRef { uid, namespace: label(key::POD_NAMESPACE), name: label(key::POD_NAME) };

    let state = state_of(container.state)?;
    Some(Container {
        pod,
        state,
        name: label(key::CONTAINER_NAME).unwrap_or_default(),
        grace_s: container.annotations.get(key::GRACE_PERIOD).and_then(|seconds| seconds.parse().ok()),
        pre_stop: container.annotations.get(key::PRE_STOP).is_some(),
        created_ms: millis(container.created_at),
        sandbox: container.pod_sandbox_id,
        id: container.id,
        pid: Seen::NotAsked,
        started_ms: None,
    })
}

/// The process behind a socket that does not answer.
pub async fn listener(sockets: &Sockets, at: &Path, socket: &HostPath) -> Seen<RuntimeProcess> {
    let pid = match sockets.listener(at, socket).await {
        Ok(Some(pid)) if pid > 0 => pid,
        Ok(_) => return Seen::Missing,
        Err(error) => return super::seen(Err(error)),
    };
    let process = super::processes::process(pid, super::processes::Depth::Leader);
    // Else it ended meanwhile, and another process may have its pid.
    if !matches!(sockets.listener(at, socket).await, Ok(Some(now)) if now == pid) {
        return Seen::Missing;
    }
    process.map(|process| RuntimeProcess {
        pid: process.pid,
        start_ticks: Some(process.start_ticks),
        comm: process.comm,
        unit: process.owner.service().map(str::to_owned),
        state: process.state,
    })
}

impl Runtime {
    /// Which of the runtime's conditions do not hold.
    pub async fn unready(&self) -> Result<Vec<(String, String)>, Fault> {
        let status = self.reader.status().await.map_err(|error| self.fault(&error))?.status.unwrap_or_default();
        let unready = status.conditions.into_iter().filter(|condition| !condition.status);
        Ok(unready.map(|condition| (condition.r#type, condition.message)).collect())
    }

    /// Asks for the pids of these containers and sandboxes; everything else stays as it was listed. A few
    /// questions are under way at once, and all of them together have one deadline.
    pub async fn statuses(
        &self,
        facts: &mut RuntimeFacts,
        containers: Vec<String>,
        sandboxes: Vec<String>,
        deadline: Duration,
        mut network_at: impl FnMut(HostPath) -> Seen<NetworkNamespace>,
    ) {
        let (mut of_containers, mut of_sandboxes) = self.details(&containers, &sandboxes, deadline).await;
        let late = || RpcError::TimedOut(deadline);
        for container in facts.containers.iter_mut().filter(|container| containers.contains(&container.id)) {
            container.pid = match of_containers.remove(&container.id).unwrap_or_else(|| Err(late())) {
                Ok((pid, started_ms)) => {
                    container.started_ms = started_ms;
                    pid
                }
                Err(RpcError::NotFound) => Seen::Missing,
                Err(error) => Seen::Failed(self.fault(&error)),
            };
        }
        for sandbox in facts.sandboxes.iter_mut().filter(|sandbox| sandboxes.contains(&sandbox.id)) {
            (sandbox.pid, sandbox.network) = match of_sandboxes.remove(&sandbox.id).unwrap_or_else(|| Err(late())) {
                Ok((pid, network)) => (pid, network.map_or(Seen::Missing, &mut network_at)),
                Err(RpcError::NotFound) => (Seen::Missing, Seen::Missing),
                Err(error) => (Seen::Failed(self.fault(&error)), Seen::Failed(self.fault(&error))),
            };
        }
    }

    async fn details(
        &self,
        containers: &[String],
        sandboxes: &[String],
        deadline: Duration,
    ) -> (Answers<(Seen<u32>, Option<u64>)>, Answers<(Seen<u32>, Option<HostPath>)>) {
        let (mut of_containers, mut of_sandboxes) = (HashMap::new(), HashMap::new());
        let container = async |id| {
            let answer = self.reader.container_status(id).await?;
            Ok((pid_of(&answer.info), started_ms(&answer)))
        };
        let sandbox = async |id| {
            let answer = self.reader.sandbox_status(id).await?;
            Ok((pid_of(&answer.info), network_of(&answer.info)))
        };
        // Side by side: one shim that does not answer for its container would hide every sandbox.
        let asked = futures::future::join(
            ask_each(containers, container, &mut of_containers),
            ask_each(sandboxes, sandbox, &mut of_sandboxes),
        );
        // What has not come by then is reported as late, one by one.
        let _ = tokio::time::timeout(deadline, asked).await;
        (of_containers, of_sandboxes)
    }

    /// Asks once more for the states of these containers: an init may have ended between the list and our
    /// look at it, and the runtime needs a moment to see it.
    pub async fn states(&self, facts: &mut RuntimeFacts, containers: &[String]) {
        for doubtful in facts.containers.iter_mut().filter(|container| containers.contains(&container.id)) {
            match self.reader.container_status(&doubtful.id).await {
                Ok(answer) => {
                    let state = answer.status.as_ref().and_then(|status| state_of(status.state));
                    doubtful.state = state.unwrap_or(doubtful.state);
                }
                Err(RpcError::NotFound) => doubtful.state = ContainerState::Exited,
                Err(error) => doubtful.pid = Seen::Failed(self.fault(&error)),
            }
        }
    }
}

/// How many questions about single containers and sandboxes are under way at once.
const MAX_CALLS_AT_ONCE: usize = 8;

type Answers<T> = HashMap<String, Result<T, RpcError>>;

/// Asks about each of these, a few at once, and keeps little of each answer: it may have as much as a container's environment.
async fn ask_each<'a, T, F>(ids: &'a [String], ask: impl Fn(&'a str) -> F, answers: &mut Answers<T>)
where
    F: Future<Output = Result<T, RpcError>>,
{
    let calls = futures::stream::iter(ids).map(|id| ask(id).map(move |answer| (id.clone(), answer)));
    let mut calls = calls.buffer_unordered(MAX_CALLS_AT_ONCE);
    while let Some((id, answer)) = calls.next().await {
        answers.insert(id, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn facts(socket: &Path) -> Seen<RuntimeFacts> {
        Runtime::new(&Sockets::Own, socket, &HostPath::from(socket.to_owned())).unwrap().facts(None).await
    }

    #[test]
    fn a_uid_that_is_none_is_left_out() {
        let metadata = cri::PodSandboxMetadata { uid: "../../etc".into(), ..Default::default() };
        assert!(sandbox(cri::PodSandbox { metadata: Some(metadata), ..Default::default() }).is_none());
    }

    #[test]
    fn a_sandbox_tells_where_its_pod_comes_from() {
        let is_static = |source: Option<&str>| {
            let uid = "96fb425e-919e-44f9-8b42-b1254a602ba1".into();
            let annotations = source.map(|source| (key::CONFIG_SOURCE, source.to_owned())).into_iter().collect();
            let metadata = Some(cri::PodSandboxMetadata { uid, ..Default::default() });
            sandbox(cri::PodSandbox { metadata, annotations, ..Default::default() }).unwrap().is_static
        };
        assert_eq!([Some("file"), Some("http"), Some("api"), None].map(is_static), [true, true, false, false]);
    }

    #[test]
    fn a_container_that_has_not_started_has_no_time_of_it() {
        let started = |started_at: i64| {
            let status = Some(cri::ContainerStatus { started_at, ..Default::default() });
            started_ms(&cri::ContainerStatusResponse { status, ..Default::default() })
        };
        assert_eq!([1_790_000_000_123_456_789, 0].map(started), [Some(1_790_000_000_123), None]);
    }

    /// A runtime that is stopped accepts the connection and never answers.
    #[tokio::test]
    async fn a_silent_socket_is_a_fault_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("silent.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let before = std::time::Instant::now();
        let seen = facts(&path).await;
        assert!(seen.fault().unwrap().says.contains("did not answer within"), "{seen:?}");
        assert!(before.elapsed() < CALL * 2);
    }

    #[tokio::test]
    async fn nobody_at_the_socket_is_a_fault() {
        let seen = facts(Path::new("/run/nobody-here.sock")).await;
        assert!(seen.fault().unwrap().says.contains("cannot be reached"), "{seen:?}");
    }

    #[tokio::test]
    async fn a_runtime_that_talks_nonsense_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nonsense.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                use std::io::Write;
                let _ = stream.and_then(|mut stream| stream.write_all(b"HTTP/1.1 400 what?\r\n\r\n"));
            }
        });
        assert!(facts(&path).await.fault().is_some());
    }
}
