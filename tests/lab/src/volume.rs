//! Volumes, laid out below the kubelet's root as the kubelet lays them out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::{Node, PodSpec, image, mounts};

/// The name of the lab's CSI driver.
pub const CSI_DRIVER: &str = "csi.lab.invalid";

/// Plugin names as they are in directory names.
pub mod plugin {
    pub const EMPTY_DIR: &str = "kubernetes.io~empty-dir";
    pub const CSI: &str = "kubernetes.io~csi";
    pub const NFS: &str = "kubernetes.io~nfs";
}

/// Where a volume of a pod is.
pub fn dir(pod_dir: &Path, plugin: &str, name: &str) -> PathBuf {
    pod_dir.join("volumes").join(plugin).join(name)
}

impl Node {
    /// Adds an emptyDir; `in_memory` makes it a tmpfs.
    pub fn empty_dir(&self, spec: &mut PodSpec, name: &str, in_memory: bool) -> anyhow::Result<PathBuf> {
        self.begin(&spec.pod.uid)?;
        let pod_dir = self.layout().pod_dir(&spec.pod.uid);
        let path = dir(&pod_dir, plugin::EMPTY_DIR, name);
        create(&path)?;
        if in_memory {
            mounts::tmpfs(&path)?;
        }
        let marker = pod_dir.join("plugins").join(plugin::EMPTY_DIR).join(name);
        create(&marker)?;
        fs::write(marker.join("ready"), "").context("mark the emptyDir as ready")?;
        let source = if in_memory { json!({"emptyDir": {"medium": "Memory"}}) } else { json!({"emptyDir": {}}) };
        spec.volume(plugin::EMPTY_DIR, name, source);
        fs::write(path.join("data"), "something\n").context("write into the emptyDir")?;
        Ok(path)
    }

    /// Adds a volume of an NFS server, in this version of the protocol.
    pub fn nfs_volume(&self, spec: &mut PodSpec, name: &str, export: &str, version: &str) -> anyhow::Result<PathBuf> {
        self.begin(&spec.pod.uid)?;
        let path = dir(&self.layout().pod_dir(&spec.pod.uid), plugin::NFS, name);
        create(&path)?;
        crate::scenario::shell(&format!("mount -t nfs -o hard,vers={version} {export} {}", path.display()))?;
        let (server, export) = export.split_once(':').context("an export is server:path")?;
        spec.volume(plugin::NFS, name, json!({"nfs": {"server": server, "path": export}}));
        Ok(path)
    }

    /// Adds a volume of the lab's CSI driver: a mounted tmpfs and what the kubelet notes beside it.
    pub fn csi_volume(&self, spec: &mut PodSpec, name: &str) -> anyhow::Result<CsiVolume> {
        let volume = self.csi_directory(spec, name)?;
        mounts::tmpfs(&volume.target)?;
        fs::write(volume.target.join("data"), "something\n").context("write into the volume")?;
        Ok(volume)
    }

    /// Adds a volume of the lab's CSI driver with nothing mounted yet.
    pub fn csi_directory(&self, spec: &mut PodSpec, name: &str) -> anyhow::Result<CsiVolume> {
        self.begin(&spec.pod.uid)?;
        let dir = dir(&self.layout().pod_dir(&spec.pod.uid), plugin::CSI, name);
        let target = dir.join("mount");
        create(&target)?;
        let data = dir.join("vol_data.json");
        fs::write(&data, serde_json::to_vec(&vol_data(name))?).context("write vol_data.json")?;
        let object = crate::node::volume_object(name, CSI_DRIVER, &handle(name));
        self.store().put_persistent_volume(name, &object)?;
        spec.volume(plugin::CSI, name, json!({"persistentVolumeClaim": {"claimName": name}}));
        Ok(CsiVolume { target, data })
    }

    /// Adds a raw block volume: the device is bound to a place of the pod's own, which is returned.
    pub fn block_volume(&self, spec: &mut PodSpec, name: &str, device: &Path) -> anyhow::Result<PathBuf> {
        self.begin(&spec.pod.uid)?;
        let published = block_device(&self.layout().kubelet_root(), name, &spec.pod.uid);
        create(published.parent().context("a device is in a directory")?)?;
        let data = block_data(&self.layout().kubelet_root(), name);
        create(data.parent().context("a file is in a directory")?)?;
        fs::write(data, serde_json::to_vec(&vol_data(name))?).context("write vol_data.json")?;
        fs::write(&published, "").context("create the place of the device")?;
        mounts::bind(device, &published)?;
        let link = block_link(&self.layout().pod_dir(&spec.pod.uid), name);
        create(link.parent().context("a link is in a directory")?)?;
        symlink(&published, &link).context("link the block volume into the pod's directory")?;
        spec.block_volume(name, json!({"persistentVolumeClaim": {"claimName": name}}));
        Ok(published)
    }

    /// Does what its CSI driver does with a raw block volume: binds the device where the kubelet wants it published.
    pub fn publish_block(&self, spec: &PodSpec, name: &str, device: &Path) -> anyhow::Result<PathBuf> {
        let target = block_target(&self.layout().kubelet_root(), name, &spec.pod.uid);
        create(target.parent().context("a target is in a directory")?)?;
        fs::write(&target, "").context("create the target of the device")?;
        mounts::bind(device, &target)?;
        Ok(target)
    }

    /// Where the kubelet stages a CSI volume for all pods of the node.
    pub fn global_mount(&self, handle: &str) -> PathBuf {
        let csi = self.layout().kubelet_root().join("plugins/kubernetes.io/csi");
        csi.join(CSI_DRIVER).join(image::sha256(handle.as_bytes())).join("globalmount")
    }
}

const BLOCK: &str = "plugins/kubernetes.io/csi/volumeDevices";

/// Where the kubelet binds the device of a raw block volume.
pub fn block_device(kubelet_root: &Path, name: &str, pod_uid: &str) -> PathBuf {
    kubelet_root.join(BLOCK).join(name).join("dev").join(pod_uid)
}

/// Where its driver publishes it.
pub fn block_target(kubelet_root: &Path, name: &str, pod_uid: &str) -> PathBuf {
    kubelet_root.join(BLOCK).join("publish").join(name).join(pod_uid)
}

/// Its `vol_data.json`.
pub fn block_data(kubelet_root: &Path, name: &str) -> PathBuf {
    kubelet_root.join(BLOCK).join(name).join("data/vol_data.json")
}

/// The link to it in the pod's directory.
pub fn block_link(pod_dir: &Path, name: &str) -> PathBuf {
    pod_dir.join("volumeDevices").join(plugin::CSI).join(name)
}

/// A CSI volume on the node.
#[derive(Clone, Debug)]
pub struct CsiVolume {
    /// The publish target.
    pub target: PathBuf,
    /// `vol_data.json`.
    pub data: PathBuf,
}

/// The volume handle of a volume of the lab.
pub fn handle(name: &str) -> String {
    format!("handle-{name}")
}

/// What the kubelet writes beside a published volume, to know later whom to ask.
pub fn vol_data(name: &str) -> Value {
    json!({
        "attachmentID": "", "driverName": CSI_DRIVER, "nodeName": crate::node::NODE_NAME, "specVolID": name,
        "volumeHandle": handle(name), "volumeLifecycleMode": "Persistent",
    })
}

fn create(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))
}
