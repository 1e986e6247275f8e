//! The messages of the plugin registration and CSI protocols, with the fields that are used.

/// Which driver is behind this registration socket?
pub const GET_INFO: &str = "/pluginregistration.Registration/GetInfo";
/// The kubelet says that it has taken note.
pub const NOTIFY_REGISTRATION_STATUS: &str = "/pluginregistration.Registration/NotifyRegistrationStatus";
/// Take a volume away from a pod.
pub const NODE_UNPUBLISH_VOLUME: &str = "/csi.v1.Node/NodeUnpublishVolume";

/// Has no fields.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InfoRequest {}

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

/// Has no fields.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeUnpublishVolumeResponse {}
