//! A disk or a share of a server that does not answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::machine::{self, ADDRESS, CIFS, ISCSI, NBD};
use super::{Cure, Repair, Staged, csi, support};
use crate::{Gate, Node, PodSpec, process, standin::csi::Manner, wait_for};

scenarios! {
    "vm-nbd", "the container's process has a file stored on a network block device, whose server is silent", |node| {
        let settings = format!("[generic]\nlistenaddr = {ADDRESS}\n[disk]\nexportname = /srv/disk\n");
        fs::write("/srv/nbd.conf", settings).context("write the server's settings")?;
        serve(NBD, "nbd-server -C /srv/nbd.conf")?;
        support::shell(&format!("modprobe nbd && nbd-client -N disk {ADDRESS} /dev/nbd0"))?;
        on_disk(node, "vm-nbd", NBD, "/dev/nbd0".into(), "nbd0".to_owned())
    };
    "vm-iscsi",
        "the container's process has a file stored on an iSCSI disk, whose target is silent until the session gives up",
        iscsi;
    "vm-multipath",
        "the container's process has a file stored on a multipath map that queues, and the target of its path is gone",
        multipath;
    "vm-cifs", "the container's process has written a file on a CIFS share, and the server is silent", cifs;
}

/// Starts a server, once in the life of the machine.
fn serve(port: u16, command: &str) -> anyhow::Result<()> {
    machine::answer()?;
    fs::create_dir_all("/srv/share").context("create what is shared")?;
    if !is_listening(port) {
        let disk = fs::File::create("/srv/disk").and_then(|file| file.set_len(64 << 20));
        disk.context("create the image of a disk")?;
        support::shell(command)?;
    }
    wait_for("the server listens", Duration::from_secs(10), || Ok(is_listening(port).then_some(())))
}

fn is_listening(port: u16) -> bool {
    std::net::TcpStream::connect((ADDRESS, port)).is_ok()
}

/// Logs in at a target whose session fails what waits after so many seconds without it; returns its disk.
fn log_in(seconds: u32) -> anyhow::Result<PathBuf> {
    let target = "iqn.2026-01.invalid.lab:disk";
    let (new, all) = ("tgtadm --lld iscsi --op new --mode", "--lld iscsi --op bind --mode target --tid 1 -I ALL");
    serve(
        ISCSI,
        &format!(
            "tgtd && sleep 2 && {new} target --tid 1 -T {target} && {new} logicalunit --tid 1 --lun 1 -b /srv/disk \
             && tgtadm {all}"
        ),
    )?;
    support::shell(&format!(
        "modprobe iscsi_tcp && {{ pidof iscsid >&2 || iscsid; }} && iscsiadm -m discovery -t st -p {ADDRESS} \
         && iscsiadm -m node -T {target} --op update -n node.session.timeo.replacement_timeout -v {seconds} \
         && iscsiadm -m node -T {target} --login"
    ))?;
    let link = PathBuf::from(format!("/dev/disk/by-path/ip-{ADDRESS}:{ISCSI}-iscsi-{target}-lun-1"));
    support::wait_exists(&link)?;
    link.canonicalize().context("find the disk")
}

/// Waits until the kernel says this of a disk.
fn wait_disk(disk: &str, says: &str) -> anyhow::Result<()> {
    let state = PathBuf::from(format!("/sys/block/{disk}/device/state"));
    wait_for(&format!("{disk} is {says}"), Duration::from_secs(10), || {
        Ok((fs::read_to_string(&state)?.trim() == says).then_some(()))
    })
}

fn iscsi(node: &Node) -> anyhow::Result<Staged> {
    let device = log_in(60)?;
    let name = machine::file_name(&device)?;
    let mut staged = on_disk(node, "vm-iscsi", ISCSI, device, name.clone())?;
    wait_disk(&name, "blocked")?;
    // Its session gives up.
    staged.cure = Cure::None;
    staged
        .expect
        .iter_mut()
        .for_each(|expect| expect.names.extend(["blocked", "gives up by itself"].map(str::to_owned)));
    Ok(staged)
}

fn multipath(node: &Node) -> anyhow::Result<Staged> {
    let settings = "defaults {\nuser_friendly_names yes\nfind_multipaths no\npolling_interval 1\n}\n\
                    overrides {\nalias_prefix lab-\nno_path_retry queue\n}\n";
    fs::write("/etc/multipath.conf", settings).context("write the settings of multipathd")?;
    machine::end_multipathd()?;
    support::shell("modprobe dm-multipath && multipathd")?;
    let disk = machine::file_name(&log_in(5)?)?;
    let map = PathBuf::from("/dev/mapper/lab-a");
    support::wait_exists(&map)?;
    let mut staged = on_disk(node, "vm-multipath", ISCSI, map, disk.clone())?;
    wait_disk(&disk, "transport-offline")?;
    let fail = "multipathd disablequeueing map lab-a";
    for expect in &mut staged.expect {
        expect.cause = Some("MultipathStale");
        expect.names.extend(["multipath map lab-a", fail].map(str::to_owned));
    }
    staged.cure = Cure::Printed;
    Ok(staged.cured_by(fail))
}

/// The pod has a file stored on a volume on this disk, over and over, and its server on this port is silent.
fn on_disk(node: &Node, name: &str, port: u16, device: PathBuf, disk: String) -> anyhow::Result<Staged> {
    csi::start_driver(node, Manner::Proper)?;
    let command = "while true; do dd if=/dev/zero of=/data/log bs=4k count=1 conv=fsync; rm /data/log; done";
    let mut spec = PodSpec::new(name).container(&["/bin/sh", "-c", command]);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    support::shell(&format!("mkfs.ext4 -qF {0} && mount {0} {1}", device.display(), volume.target.display()))?;
    let spec = spec.mount(&volume.target, "/data");
    let init = node.run(&spec)?.app()?.pid;
    support::wait_exists(&volume.target.join("log"))?;
    machine::silence(port)?;
    let task = waiting(init)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    let names = vec![task.to_string(), "/data".to_owned(), disk];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "BlockDeviceNotResponding", names).by_hand(Repair::Server))
}

/// The process of the container that stays in state D.
pub fn waiting(init: i32) -> anyhow::Result<i32> {
    let is_waiting = |task: &i32| {
        let steady = || process::state(*task) == Some('D');
        steady() && {
            std::thread::sleep(Duration::from_millis(500));
            steady()
        }
    };
    wait_for("a process of the container waits in state D", Duration::from_secs(10), || {
        Ok(process::children(init).into_iter().chain([init]).find(is_waiting))
    })
}

fn cifs(node: &Node) -> anyhow::Result<Staged> {
    let settings = "[global]\nmap to guest = bad user\nserver role = standalone server\nload printers = no\n\
                    [share]\npath = /srv/share\nguest ok = yes\nread only = no\nforce user = root\n";
    fs::write("/srv/smb.conf", settings).context("write the server's settings")?;
    serve(CIFS, "smbd -D -s /srv/smb.conf")?;
    csi::start_driver(node, Manner::Proper)?;
    let command = "exec 3> /data/log; while true; do echo on >&3; sleep 1; done";
    let mut spec = PodSpec::new("vm-cifs").container(&["/bin/sh", "-c", command]);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let share = format!("//{ADDRESS}/share");
    support::shell(&format!("mount -t cifs -o guest,hard,cache=loose {share} {}", volume.target.display()))?;
    let spec = spec.mount(&volume.target, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(Path::new(&volume.target.join("log")))?;
    machine::silence(CIFS)?;
    std::thread::sleep(Duration::from_secs(3));
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), share, "/data".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "FileServerNotResponding", names).by_hand(Repair::Server))
}
