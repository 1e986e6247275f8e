//! `pluginregistration.Registration/GetInfo` (`k8s.io/kubelet/pkg/apis/pluginregistration/v1`).

use std::time::Duration;

use cri::RpcError;

use crate::host::Sockets;
use crate::observation::{HostPath, Seen};
use crate::sys::Socket;

/// The only call.
pub(in crate::host) const GET_INFO: &str = "/pluginregistration.Registration/GetInfo";

/// `InfoRequest` has no fields.
#[derive(Clone, PartialEq, prost::Message)]
pub(in crate::host) struct InfoRequest {}

/// What is used of `PluginInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(in crate::host) struct PluginInfo {
    /// `CSIPlugin`, `DevicePlugin`, `DRAPlugin`.
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its socket; empty when it is the registration socket itself.
    #[prost(string, tag = "3")]
    pub endpoint: String,
}

/// The types of drivers.
const CSI_PLUGIN: &str = "CSIPlugin";
const DRA_PLUGIN: &str = "DRAPlugin";

pub(super) struct Registered {
    pub name: String,
    pub endpoint: HostPath,
    pub is_dra: bool,
}

/// Asks the registration socket, found as `at`, for the driver's name and endpoint. `Missing` when it belongs to
/// another kind of plugin.
pub(super) async fn info(sockets: &Sockets, at: &Socket, socket: &HostPath, deadline: Duration) -> Seen<Registered> {
    let info: Result<PluginInfo, RpcError> = match sockets.connect(at.path(), socket, deadline) {
        Ok(connected) => connected.connection.call(GET_INFO, InfoRequest {}).await,
        Err(error) => Err(error),
    };
    match info {
        Ok(info) if ![CSI_PLUGIN, DRA_PLUGIN].contains(&info.r#type.as_str()) => Seen::Missing,
        Ok(info) => {
            let endpoint = info.endpoint.strip_prefix("unix://").unwrap_or(&info.endpoint);
            let endpoint = if endpoint.is_empty() { socket.clone() } else { HostPath::from(endpoint) };
            Seen::Seen(Registered { name: info.name, endpoint, is_dra: info.r#type == DRA_PLUGIN })
        }
        Err(error) => Seen::failed(socket, crate::host::sockets::rpc_reason(&error)),
    }
}
