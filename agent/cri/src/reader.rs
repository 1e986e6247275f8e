//! The calls the agent makes; none of them changes anything.

use std::{collections::HashMap, path::Path, time::Duration};

use crate::{Connection, RpcError, message::*};

/// The names of the calls.
pub mod method {
    pub const VERSION: &str = "/runtime.v1.RuntimeService/Version";
    pub const STATUS: &str = "/runtime.v1.RuntimeService/Status";
    pub const RUNTIME_CONFIG: &str = "/runtime.v1.RuntimeService/RuntimeConfig";
    pub const LIST_POD_SANDBOX: &str = "/runtime.v1.RuntimeService/ListPodSandbox";
    pub const LIST_CONTAINERS: &str = "/runtime.v1.RuntimeService/ListContainers";
    pub const CONTAINER_STATUS: &str = "/runtime.v1.RuntimeService/ContainerStatus";
    pub const POD_SANDBOX_STATUS: &str = "/runtime.v1.RuntimeService/PodSandboxStatus";

    /// The most bytes of an answer. A list has the annotations of all pods, and may be as long as the kubelet allows; a status
    /// has the environment of one container.
    pub(crate) fn max_answer_bytes(method: &str) -> u32 {
        match method {
            LIST_POD_SANDBOX | LIST_CONTAINERS => crate::connection::MAX_MESSAGE_BYTES,
            CONTAINER_STATUS | POD_SANDBOX_STATUS => 1 << 20,
            _ => 64 << 10,
        }
    }
}

/// A runtime that is only looked at.
#[derive(Clone, Debug)]
pub struct RuntimeReader(Connection);

impl RuntimeReader {
    /// Prepares the connection; the first call opens it.
    pub fn new(socket: &Path, deadline: Duration) -> Result<Self, RpcError> {
        Connection::new(socket, deadline).map(Self)
    }

    /// Asks over a connection that was prepared by the caller.
    pub fn with_connection(connection: Connection) -> Self {
        Self(connection)
    }

    /// The runtime's name and version: the cheapest question, so also the test whether it answers.
    pub async fn version(&self) -> Result<VersionResponse, RpcError> {
        self.0.call(method::VERSION, VersionRequest::default()).await
    }

    /// The runtime's conditions.
    pub async fn status(&self) -> Result<StatusResponse, RpcError> {
        self.0.call(method::STATUS, StatusRequest::default()).await
    }

    /// Which cgroup driver it uses; older runtimes answer [`RpcError::Unimplemented`].
    pub async fn runtime_config(&self) -> Result<RuntimeConfigResponse, RpcError> {
        self.0.call(method::RUNTIME_CONFIG, RuntimeConfigRequest {}).await
    }

    /// All sandboxes of the node.
    pub async fn sandboxes(&self) -> Result<Vec<PodSandbox>, RpcError> {
        self.sandboxes_with(HashMap::new()).await
    }

    pub async fn sandboxes_with(&self, labels: HashMap<String, String>) -> Result<Vec<PodSandbox>, RpcError> {
        let filter = (!labels.is_empty()).then_some(PodSandboxFilter { label_selector: labels });
        let question = ListPodSandboxRequest { filter };
        let answer: ListPodSandboxResponse = self.0.call(method::LIST_POD_SANDBOX, question).await?;
        Ok(answer.items)
    }

    /// All containers of the node.
    pub async fn containers(&self) -> Result<Vec<Container>, RpcError> {
        self.containers_with(HashMap::new()).await
    }

    pub async fn containers_with(&self, labels: HashMap<String, String>) -> Result<Vec<Container>, RpcError> {
        let filter = (!labels.is_empty()).then_some(ContainerFilter { label_selector: labels });
        let question = ListContainersRequest { filter };
        let answer: ListContainersResponse = self.0.call(method::LIST_CONTAINERS, question).await?;
        Ok(answer.items)
    }

    /// One container with the runtime's additions (its pid).
    pub async fn container_status(&self, id: &str) -> Result<ContainerStatusResponse, RpcError> {
        let question = ContainerStatusRequest { container_id: id.to_owned(), verbose: true };
        self.0.call(method::CONTAINER_STATUS, question).await
    }

    /// One sandbox with the runtime's additions (its pid).
    pub async fn sandbox_status(&self, id: &str) -> Result<PodSandboxStatusResponse, RpcError> {
        let question = PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), verbose: true };
        self.0.call(method::POD_SANDBOX_STATUS, question).await
    }
}
