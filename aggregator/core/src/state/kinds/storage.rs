//! Claims, volumes, attachments. There are tens of thousands of each in a large cluster: what few of them have is boxed.

use jiff::Timestamp;

use super::{Meta, lite};
use crate::messages::Message;

lite! {
    Claim {
        metadata: Meta,
        spec: ClaimSpec,
        status: Phase,
    }

    /// What was asked of a claim.
    ClaimSpec {
        /// The volume it is bound to.
        volume_name: String,
    }

    /// A status with a phase.
    Phase {
        /// `Bound`, `Released`, `Failed`.
        phase: String,
        message: Message,
    }

    PersistentVolume {
        metadata: Meta,
        spec: VolumeSpec,
        status: Phase,
    }

    /// What was asked of a volume.
    VolumeSpec {
        claim_ref: Option<ClaimRef>,
        /// The CSI driver behind it.
        csi: Option<Csi>,
        /// It is a path of one node.
        local: Option<Box<Path>>,
        /// It is a path of one node.
        host_path: Option<Box<Path>>,
        /// Which nodes can use it.
        node_affinity: Option<VolumeAffinity>,
        /// `Delete` or `Retain`.
        persistent_volume_reclaim_policy: String,
    }

    /// A claim, named from its volume.
    ClaimRef {
        namespace: String,
        name: String,
        uid: String,
    }

    Csi {
        driver: String,
        /// What the driver calls it.
        volume_handle: String,
        /// The Secret a detach needs.
        controller_publish_secret_ref: Option<Box<SecretRef>>,
    }

    SecretRef {
        namespace: String,
        name: String,
    }

    /// A path of a node.
    Path {
        path: String,
    }

    /// Which nodes can use a volume.
    VolumeAffinity {
        /// What they must have.
        required: NodeTerms,
    }

    /// Alternatives.
    NodeTerms {
        /// One of them must hold.
        node_selector_terms: Vec<NodeTerm>,
    }

    /// What must hold together.
    NodeTerm {
        match_expressions: Vec<NodeExpression>,
    }

    /// A label and the values it may have.
    NodeExpression {
        key: String,
        /// `In` and others.
        operator: String,
        values: Vec<String>,
    }
}

impl PersistentVolume {
    /// Whether it is a path of some node.
    pub fn is_local(&self) -> bool {
        self.spec.local.is_some() || self.spec.host_path.is_some()
    }

    /// The one node whose disk it is, if it is local to one.
    pub fn only_node(&self) -> Option<&str> {
        if !self.is_local() {
            return None;
        }
        let [term] = self.spec.node_affinity.as_ref()?.required.node_selector_terms.as_slice() else { return None };
        let names = term.match_expressions.iter().find(|expression| {
            expression.operator == "In" && matches!(expression.key.as_str(), "kubernetes.io/hostname" | "metadata.name")
        })?;
        match names.values.as_slice() {
            [node] => Some(node),
            _ => None,
        }
    }
}

lite! {
    Attachment {
        metadata: Meta,
        spec: AttachmentSpec,
        status: AttachmentStatus,
    }

    /// What was asked of an attachment.
    AttachmentSpec {
        attacher: String,
        node_name: String,
        source: AttachmentSource,
    }

    AttachmentSource {
        persistent_volume_name: String,
    }

    AttachmentStatus {
        attached: bool,
        /// Why the last attach failed.
        attach_error: Option<Box<VolumeError>>,
        /// Why the last detach failed.
        detach_error: Option<Box<VolumeError>>,
    }

    VolumeError {
        message: Message,
        time: Option<Timestamp>,
    }

    /// Which CSI drivers a node has.
    CsiNode {
        /// Its metadata; the name is the node's.
        metadata: Meta,
        spec: CsiNodeSpec,
    }

    /// The drivers registered with a kubelet.
    CsiNodeSpec {
        drivers: Vec<CsiNodeDriver>,
    }

    /// A driver registered with a kubelet.
    CsiNodeDriver {
        name: String,
    }
}
