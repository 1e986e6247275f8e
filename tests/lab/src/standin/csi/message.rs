//! The messages of the plugin registration and CSI protocols, with the fields that are used.

/// Which driver is behind this registration socket?
pub const GET_INFO: &str = "/pluginregistration.Registration/GetInfo";
/// The kubelet says that it has taken note.
pub const NOTIFY_REGISTRATION_STATUS: &str = "/pluginregistration.Registration/NotifyRegistrationStatus";
/// Which node is this?
pub const NODE_GET_INFO: &str = "/csi.v1.Node/NodeGetInfo";
/// What can the driver's node part do?
pub const NODE_GET_CAPABILITIES: &str = "/csi.v1.Node/NodeGetCapabilities";
/// Give a volume to a pod.
pub const NODE_PUBLISH_VOLUME: &str = "/csi.v1.Node/NodePublishVolume";
/// Take a volume away from a pod.
pub const NODE_UNPUBLISH_VOLUME: &str = "/csi.v1.Node/NodeUnpublishVolume";

/// Has no field that is used.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Empty {}

/// What a registration socket says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PluginInfo {
    /// `CSIPlugin`.
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// The driver's name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// The driver's own socket.
    #[prost(string, tag = "3")]
    pub endpoint: String,
    /// CSI versions.
    #[prost(string, repeated, tag = "4")]
    pub supported_versions: Vec<String>,
}

/// Which node this is.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeGetInfoResponse {
    /// The driver's own name of it.
    #[prost(string, tag = "1")]
    pub node_id: String,
}

/// Give a volume to a pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodePublishVolumeRequest {
    /// Where.
    #[prost(string, tag = "4")]
    pub target_path: String,
}

/// Take this volume away from there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeUnpublishVolumeRequest {
    /// The volume's handle.
    #[prost(string, tag = "1")]
    pub volume_id: String,
    /// Where it is published.
    #[prost(string, tag = "2")]
    pub target_path: String,
}
