//! The container runtime, as the kubelet uses it.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use cri::{Connection, Container, PodSandbox, RpcError, RuntimeReader};

use crate::cri_write::{self, method};

/// Synchronous calls: nothing in the lab does two things at once in one thread.
pub struct RuntimeClient {
    executor: tokio::runtime::Runtime,
    connection: Connection,
    reader: RuntimeReader,
}

impl RuntimeClient {
    /// Prepares the connection; every call gets `deadline`.
    pub fn new(socket: &Path, deadline: Duration) -> anyhow::Result<Self> {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (connection, reader) = {
            let _inside = executor.enter();
            (Connection::new(socket, deadline)?, RuntimeReader::new(socket, deadline)?)
        };
        Ok(Self { executor, connection, reader })
    }

    /// Whether it answers.
    pub fn answers(&self) -> bool {
        self.executor.block_on(self.reader.version()).is_ok()
    }

    /// Whether the image store knows this image.
    pub fn has_image(&self, name: &str) -> anyhow::Result<bool> {
        let question = cri_write::ImageStatusRequest { image: Some(cri_write::ImageSpec { image: name.to_owned() }) };
        let answer: cri_write::ImageStatusResponse = self.call(method::IMAGE_STATUS, question)?;
        Ok(answer.image.is_some())
    }

    /// Makes and starts a sandbox.
    pub fn run_sandbox(&self, config: &cri_write::PodSandboxConfig) -> anyhow::Result<String> {
        let question = cri_write::RunPodSandboxRequest { config: Some(config.clone()) };
        let answer: cri_write::SandboxId =
            self.call(method::RUN_POD_SANDBOX, question).context("run the pod sandbox")?;
        Ok(answer.pod_sandbox_id)
    }

    /// Makes and starts a container in a sandbox.
    pub fn run_container(
        &self,
        sandbox: &str,
        config: cri_write::ContainerConfig,
        sandbox_config: &cri_write::PodSandboxConfig,
    ) -> anyhow::Result<String> {
        let question = cri_write::CreateContainerRequest {
            pod_sandbox_id: sandbox.to_owned(),
            config: Some(config),
            sandbox_config: Some(sandbox_config.clone()),
        };
        let created: cri_write::ContainerId =
            self.call(method::CREATE_CONTAINER, question).context("create the container")?;
        let _: cri_write::Empty = self.call(method::START_CONTAINER, created.clone()).context("start the container")?;
        Ok(created.container_id)
    }

    /// Asks a container to stop, and kills it after `grace`.
    pub fn stop_container(&self, id: &str, grace: Duration) -> Result<(), RpcError> {
        let timeout = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
        let question = cri_write::StopContainerRequest { container_id: id.to_owned(), timeout };
        self.call(method::STOP_CONTAINER, question).map(|_: cri_write::Empty| ())
    }

    /// Ends a sandbox and takes down its network.
    pub fn stop_sandbox(&self, id: &str) -> Result<(), RpcError> {
        let question = cri_write::SandboxId { pod_sandbox_id: id.to_owned() };
        self.call(method::STOP_POD_SANDBOX, question).map(|_: cri_write::Empty| ())
    }

    /// Whether it can give pods a network.
    pub fn network_ready(&self) -> Result<bool, RpcError> {
        let conditions = self.executor.block_on(self.reader.status())?.status.unwrap_or_default().conditions;
        Ok(conditions.iter().any(|condition| condition.r#type == "NetworkReady" && condition.status))
    }

    /// All sandboxes.
    pub fn sandboxes(&self) -> Result<Vec<PodSandbox>, RpcError> {
        self.executor.block_on(self.reader.sandboxes())
    }

    /// All containers.
    pub fn containers(&self) -> Result<Vec<Container>, RpcError> {
        self.executor.block_on(self.reader.containers())
    }

    /// Runs a program in a running container, as `kubectl exec` does.
    pub fn exec(&self, container: &str, command: &[&str]) -> anyhow::Result<cri_write::ExecSyncResponse> {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let question = cri_write::ExecSyncRequest { container_id: container.to_owned(), cmd: command, timeout: 20 };
        self.call(method::EXEC_SYNC, question).context("run a program in the container")
    }

    /// The exit code of a container, once it has ended.
    pub fn exit_code(&self, id: &str) -> anyhow::Result<Option<i32>> {
        let answer = self.executor.block_on(self.reader.container_status(id)).context("ask for the container")?;
        let status = answer.status.context("the runtime gave no status")?;
        let ended = status.state == i32::from(cri::ContainerState::Exited);
        Ok(ended.then_some(status.exit_code))
    }

    /// The pid of a sandbox, in whose network the pod's containers are.
    pub fn sandbox_pid(&self, id: &str) -> anyhow::Result<i32> {
        let answer = self.executor.block_on(self.reader.sandbox_status(id)).context("ask for the sandbox")?;
        pid_of(answer.info.get(cri::key::INFO))
    }

    /// The pid of a container's init.
    pub fn container_pid(&self, id: &str) -> anyhow::Result<i32> {
        let answer = self.executor.block_on(self.reader.container_status(id)).context("ask for the container")?;
        pid_of(answer.info.get(cri::key::INFO))
    }

    fn call<Q, A>(&self, method: &'static str, question: Q) -> Result<A, RpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        self.executor.block_on(self.connection.call(method, question))
    }
}

/// The runtime's own additions are JSON inside a string.
fn pid_of(info: Option<&str>) -> anyhow::Result<i32> {
    let info: serde_json::Value = serde_json::from_str(info.context("the runtime gave no verbose info")?)?;
    let pid = info["pid"].as_i64().context("the verbose info has no pid")?;
    anyhow::ensure!(pid > 0, "the container has no process");
    Ok(i32::try_from(pid)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_pid_in_the_verbose_info() {
        assert_eq!(pid_of(Some(r#"{"pid":42,"removing":false}"#)).unwrap(), 42);
        assert!(pid_of(Some(r#"{"pid":0}"#)).is_err());
        assert!(pid_of(None).is_err());
    }
}
