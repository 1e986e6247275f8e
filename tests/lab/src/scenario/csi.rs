//! A CSI volume that is not unpublished.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::{Cure, Repair, Staged, leftovers::losetup, support};
use crate::standin::csi::Manner;
use crate::volume::{self, CSI_DRIVER, CsiVolume, plugin};
use crate::{Gate, Launch, Node, PodRef, PodSpec, Restart, mounts, process, wait_for};

scenarios! {
    "fuse-dead", "the volume is a FUSE mount whose server died, and its CSI driver fails over that", fuse_dead;
    "fuse-hung-volume", "the volume is a FUSE mount whose server does not answer a process of the host",
        fuse_hung_volume;
    "vol-data-missing", "vol_data.json of a CSI volume is gone", |node| {
        start_driver(node, Manner::Proper)?;
        vol_data_missing(node, "vol-data-missing")
    };
    "vol-data-empty", "vol_data.json of a CSI volume is empty, as after a power loss", |node| {
        start_driver(node, Manner::Proper)?;
        bad_vol_data(node, "vol-data-empty", "VolDataMissing", |volume| fs::write(&volume.data, ""))
    };
    "csi-socket-missing", "the CSI driver of a volume was uninstalled before the volume was unpublished",
        csi_socket_missing;
    "csi-block-driver-gone",
        "the CSI driver of a raw block volume was uninstalled; below the pod's directory nothing of it is left",
        csi_block_driver_gone;
    "umount-hung",
        "the `umount` of the CSI driver waits for a FUSE server that does not answer when its disk is closed", umount_hung;
    "csi-left-mounted", "the CSI driver said OK and left the volume mounted", csi_left_mounted;
    "csi-driver-back", "a volume is still mounted, and its CSI driver is there since a moment ago", csi_driver_back;
    "files-below-volume", "the directory on which a CSI volume was mounted holds a file that was written before", |node| {
        start_driver(node, Manner::Once)?;
        let mut spec = PodSpec::sleeping("files-below-volume");
        let volume = node.csi_directory(&mut spec, "pvc-data")?;
        fs::write(volume.target.join("early"), "written before the mount").context("write below the volume")?;
        mounts::tmpfs(&volume.target)?;
        node.run(&spec)?;
        node.delete_until(&spec, Gate::VolumesUnmounted)?;
        age_driver(node)?;
        let path = volume.target.display().to_string();
        Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "MountDirectoryLeft", vec![path]).by_hand(Repair::FilesBelow))
    };
    "mounted-twice",
        "the CSI driver mounted the volume a second time when the kubelet was restarted, and unmounts it once",
        mounted_twice;
}

/// The driver's own socket, and the one where it registers.
fn sockets(node: &Node) -> [PathBuf; 2] {
    let root = node.layout().kubelet_root();
    let registration = root.join("plugins_registry").join(format!("{CSI_DRIVER}-reg.sock"));
    [root.join("plugins").join(CSI_DRIVER).join("csi.sock"), registration]
}

/// Starts the lab's CSI driver and waits until it can be found.
pub fn start_driver(node: &Node, manner: Manner) -> anyhow::Result<i32> {
    let [socket, registration] = sockets(node);
    let manner = match manner {
        Manner::Proper => "proper",
        Manner::Blunt => "blunt",
        Manner::Program => "program",
        Manner::Once => "once",
        Manner::Leaves => "leaves",
        Manner::Fails => "fails",
    };
    let launch = Launch::stand_in("csi-driver")
        .args(["stand-in", "csi-driver", "--name", CSI_DRIVER, "--manner", manner, "--socket"])
        .arg(socket)
        .arg("--registration")
        .arg(&registration);
    let driver = node.launch(launch)?;
    support::wait_exists(&registration)?;
    Ok(driver)
}

/// With a driver that runs already.
pub(super) fn vol_data_missing(node: &Node, name: &str) -> anyhow::Result<Staged> {
    bad_vol_data(node, name, "VolDataMissing", |volume| fs::remove_file(&volume.data))
}

fn bad_vol_data(
    node: &Node,
    name: &str,
    cause: &'static str,
    spoil: fn(&CsiVolume) -> std::io::Result<()>,
) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping(name);
    let volume = node.csi_volume(&mut spec, "pvc-data")?;
    node.run(&spec)?;
    spoil(&volume).with_context(|| format!("spoil {}", volume.data.display()))?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let path = volume.data.display().to_string();
    let cure = format!("printf '%s' '{}' > {path}", volume::vol_data("pvc-data"));
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, cause, vec![path]).cured_by(cure))
}

fn csi_socket_missing(node: &Node) -> anyhow::Result<Staged> {
    let driver = start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping("csi-socket-missing");
    node.csi_volume(&mut spec, "pvc-data")?;
    without_driver(node, driver, spec, vec![CSI_DRIVER.to_owned()])
}

fn umount_hung(node: &Node) -> anyhow::Result<Staged> {
    let driver = start_driver(node, Manner::Program)?;
    let disk = node.layout().mnt("umount-hung.img");
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    let device = losetup(&disk)?;
    let mut spec = PodSpec::sleeping("umount-hung");
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let fuse = support::fuse_block_mount(node, "ntfs", &device, &volume.target)?;
    // It goes with the mount.
    support::shell(&format!("losetup -d {device}"))?;
    node.run(&spec)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let umount = wait_for("the driver's umount waits", Duration::from_secs(10), || {
        Ok(process::threads(driver)
            .into_iter()
            .flat_map(process::children)
            .find(|child| process::wait_channel(*child) == "request_wait_answer"))
    })?;
    let names = vec![format!("pid {umount} umount"), "no mount with waiting requests".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "FuseServerNotResponding", names)
        .by_hand(Repair::Holder(fuse.server)))
}

fn csi_block_driver_gone(node: &Node) -> anyhow::Result<Staged> {
    let driver = start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping("csi-block-driver-gone");
    let disk = node.layout().mnt("raw-of-csi.img");
    fs::File::create(&disk).and_then(|file| file.set_len(4 << 20)).context("create the image of a disk")?;
    let device = PathBuf::from(losetup(&disk)?);
    let bound = node.block_volume(&mut spec, "pvc-raw-of-csi", &device)?;
    let target = node.publish_block(&spec, "pvc-raw-of-csi", &device)?;
    losetup(&bound)?;
    without_driver(node, driver, spec, vec![CSI_DRIVER.to_owned(), target.display().to_string()])
}

/// Runs the pod, uninstalls the driver and deletes the pod.
fn without_driver(node: &Node, driver: i32, spec: PodSpec, names: Vec<String>) -> anyhow::Result<Staged> {
    node.run(&spec)?;
    process::signal(driver, Signal::SIGKILL)?;
    process::wait_end(driver)?;
    let root = node.layout().kubelet_root();
    fs::remove_dir_all(root.join("plugins").join(CSI_DRIVER)).context("remove the driver's socket")?;
    fs::remove_file(root.join("plugins_registry").join(format!("{CSI_DRIVER}-reg.sock")))
        .context("remove the driver's registration")?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "CsiDriverNotRegistered", names).by_hand(Repair::CsiDriver))
}

/// Starts a driver that does all it should.
pub fn restart_driver(node: &Node) -> anyhow::Result<()> {
    start_driver(node, Manner::Proper).map(|_| ())
}

/// The kubelet forgets the volume without removing `vol_data.json`, so after the unmount the pod
/// goes, but its directory stays as an orphan until that file is moved away as well.
fn csi_left_mounted(node: &Node) -> anyhow::Result<Staged> {
    let (spec, volume) = left_mounted(node, "csi-left-mounted")?;
    age_driver(node)?;
    let path = volume.target.display().to_string();
    let cure = format!("umount {path} && rm {}", volume.data.display());
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "CsiUnpublishLeftMount", vec![path]).cured_by(cure))
}

/// Lets the driver seem to be there for long: the kubelet has asked it meanwhile.
pub(super) fn age_driver(node: &Node) -> anyhow::Result<()> {
    sockets(node).iter().try_for_each(|socket| support::age(socket))
}

fn left_mounted(node: &Node, name: &str) -> anyhow::Result<(PodSpec, CsiVolume)> {
    start_driver(node, Manner::Leaves)?;
    let mut spec = PodSpec::sleeping(name);
    let volume = node.csi_volume(&mut spec, "pvc-data")?;
    node.run(&spec)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok((spec, volume))
}

fn csi_driver_back(node: &Node) -> anyhow::Result<Staged> {
    let (spec, _) = left_mounted(node, "csi-driver-back")?;
    let names = vec![CSI_DRIVER.to_owned(), "tries again by".to_owned()];
    let mut staged = Staged::stuck(spec.pod, Gate::VolumesUnmounted, "CsiDriverBack", names);
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "Progressing");
    // The wait is all, and this driver would disappoint it.
    (staged.cure, staged.ends) = (Cure::None, false);
    Ok(staged)
}

/// The kubelet then removes the directory.
pub fn save_files(node: &Node) -> anyhow::Result<()> {
    let pod = PodRef::new("files-below-volume");
    let dir = volume::dir(&node.layout().pod_dir(&pod.uid), plugin::CSI, "pvc-data");
    fs::rename(dir.join("mount/early"), node.layout().mnt("early")).context("move the file")
}

/// As with a driver that leaves the mount: the kubelet has forgotten the volume, and its note stays.
fn mounted_twice(node: &Node) -> anyhow::Result<Staged> {
    start_driver(node, Manner::Once)?;
    let mut spec = PodSpec::sleeping("mounted-twice");
    let volume = node.csi_volume(&mut spec, "pvc-data")?;
    node.run(&spec)?;
    node.restart_kubelet(Restart::default())?;
    // Thrice: the driver's own unmount takes one away.
    mounts::tmpfs(&volume.target)?;
    mounts::tmpfs(&volume.target)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let path = volume.target.display().to_string();
    let cure = format!("umount {path} && umount {path} && rm {}", volume.data.display());
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeMountedTwice", vec![path]).cured_by(cure))
}

fn fuse_dead(node: &Node) -> anyhow::Result<Staged> {
    start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::sleeping("fuse-dead");
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let fuse = support::fuse_mount(node, "s3fs", &volume.target)?;
    node.run(&spec)?;
    process::signal(fuse.server, Signal::SIGKILL)?;
    process::wait_end(fuse.server)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let path = volume.target.display().to_string();
    let cure = format!("umount {path}");
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "FuseServerGone", vec![path]).cured_by(cure))
}

/// The driver is one that unmounts without looking first: after the abort it finds a dead mount.
fn fuse_hung_volume(node: &Node) -> anyhow::Result<Staged> {
    start_driver(node, Manner::Blunt)?;
    let mut spec = PodSpec::sleeping("fuse-hung-volume");
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let fuse = support::fuse_mount(node, "s3fs", &volume.target)?;
    node.run(&spec)?;
    let launch = Launch::stand_in("backup").args(["stand-in", "hold", "--read"]).arg(volume.target.join("hang"));
    let reader = node.launch(launch)?;
    support::wait_fuse_wait(reader)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![fuse.server.to_string(), volume.target.display().to_string()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "FuseServerNotResponding", names).cured_by(fuse.abort_command()))
}
