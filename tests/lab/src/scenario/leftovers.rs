//! What is left on the node when its pod is gone, or nearly.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context as _;

use super::{Cure, Expect, Scenario, Staged, support};
use crate::{
    Gate, Node, PodRef, PodSpec, Restart, mounts,
    volume::{self, plugin},
};

/// The staged mount of a volume that no pod uses.
pub const GLOBALMOUNT_LEFT: Scenario = Scenario {
    name: "globalmount-left",
    about: "a CSI volume is still staged on the node although no pod uses it",
    stage: globalmount_left,
};

/// The loop device that locked a raw block volume.
pub const LOOP_LEFT: Scenario = Scenario {
    name: "loop-left",
    about: "the kubelet cannot detach the loop device of a raw block volume",
    stage: loop_left,
};

/// The directory of a pod that nobody knows.
pub const ORPHAN_DIR: Scenario = Scenario {
    name: "orphan-dir",
    about: "the directory of a pod that is long gone stays, because a file is left in it",
    stage: orphan_dir,
};

fn globalmount_left(node: &Node) -> anyhow::Result<Staged> {
    let handle = volume::handle("pvc-gone");
    let path = node.global_mount(&handle);
    mounts::tmpfs(&path)?;
    let data = serde_json::json!({"volumeHandle": handle, "driverName": volume::CSI_DRIVER});
    fs::write(path.with_file_name("vol_data.json"), serde_json::to_vec(&data)?).context("write vol_data.json")?;
    let path = path.display().to_string();
    let cure = format!("umount {path}");
    Ok(Staged::node("GlobalMountLeft", vec![path]).cured_by(cure))
}

/// A kubelet in a container without util-linux finds the loop device and cannot run `losetup`.
fn loop_left(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("loop-left");
    let disk = node.layout().mnt("disk.img");
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    let block_device = losetup(&disk)?;
    let published = node.block_volume(&mut spec, "pvc-raw", Path::new(&block_device))?;
    let lock = losetup(&published)?;
    node.run(&spec)?;
    node.restart_kubelet(Restart::without_programs())?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![lock.clone(), published.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "LoopDeviceLeft", names).cured_by(format!("losetup -d {lock}")))
}

pub(super) fn losetup(file: &Path) -> anyhow::Result<String> {
    let output = Command::new("losetup")
        .args(["--find", "--show"])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .context("run losetup (util-linux)")?;
    let why = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "losetup cannot attach {}: {why}", file.display());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn orphan_dir(node: &Node) -> anyhow::Result<Staged> {
    let pod = PodRef::new("orphan-dir");
    let dir = volume::dir(&node.layout().pod_dir(&pod.uid), plugin::CSI, "pvc-data");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let file = dir.join("vol_data.json");
    fs::write(&file, serde_json::to_vec(&volume::vol_data("pvc-data"))?).context("write vol_data.json")?;
    for path in [&file, &dir, &node.layout().pod_dir(&pod.uid)] {
        support::age(path)?;
    }
    let path = file.display().to_string();
    let expect = Expect {
        pod_uid: Some(pod.uid.clone()),
        verdict: "Stuck",
        gate: Some(Gate::VolumesUnmounted.name()),
        cause: Some("OrphanedPodDirectory"),
        names: vec![path.clone()],
    };
    let known_good = vec![format!("mv {path} {}", node.layout().mnt("saved.json").display())];
    Ok(Staged { pods: vec![pod], expect: vec![expect], cure: Cure::Printed, known_good, ends: true })
}
