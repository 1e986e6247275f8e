//! What does not answer below a mount on a block device: a device, or what the file of a loop device lies on.

use findings::Evidence;

use super::block_device::OnDevice;
use super::blocked_task::{BlockedTask, Sure};
use super::prelude::*;
use super::{block_device, file_server, fuse, nfs};
use crate::kernel;

/// More loop devices do not lie on each other's files.
const MAX_DEPTH: usize = 4;

/// A task waits for the device below this mount.
pub fn not_responding(
    view: &PodView,
    waiting: &BlockedTask,
    mount: &Mount,
    stack: Option<&BlockStack>,
    sure: Sure,
) -> Finding {
    below(view, waiting, mount, stack, sure, 0)
}

fn below(
    view: &PodView,
    waiting: &BlockedTask,
    mount: &Mount,
    stack: Option<&BlockStack>,
    sure: Sure,
    depth: usize,
) -> Finding {
    let file_system = OnDevice::mounted(waiting, mount, stack);
    if let Some((device, file)) = stack.and_then(block_device::silent_loop) {
        let state = block_device::state(device);
        let mut head = block_device::down_to(waiting, &file_system, Some(device));
        head.push(Link::new(block_device::subject(device), &state));
        if let Some(mut finding) = below_file(view, &BlockedTask { head: &head, ..*waiting }, file, sure, depth) {
            finding.evidence.push(Evidence::new(block_device::source(device), state));
            return finding;
        }
    }
    block_device::not_responding(view, waiting, &file_system, sure)
}

/// What does not answer below the file of a loop device. None where its file system is not known to be waited for.
fn below_file(view: &PodView, waiting: &BlockedTask, file: &HostPath, sure: Sure, depth: usize) -> Option<Finding> {
    let below = view.mount_of(file).filter(|_| depth < MAX_DEPTH)?;
    let mut finding = if let Some(number) = below.fuse_connection() {
        view.fuse(number).filter(|connection| connection.may_have_requests())?;
        fuse::not_responding(view, waiting, &[below]).finish()
    } else if below.is_nfs() {
        let mut finding = nfs::not_responding(view, waiting, &[below]);
        finding.doubt(SLOW);
        finding
    } else if below.needs_server() {
        let mut finding = file_server::not_responding(view, waiting, &[below]);
        finding.doubt(SLOW);
        finding
    } else if kernel::is_on_device(below) {
        let stack = block_device::stack(view, below).filter(|stack| stack.may_be_waited_for() == Some(true))?;
        let suspended = block_device::suspended(view, waiting, below, sure);
        suspended.unwrap_or_else(|| self::below(view, waiting, below, Some(stack), sure, depth + 1))
    } else {
        return None;
    };
    if sure == Sure::Perhaps {
        finding.doubt("that it is this mount which the task waits for");
    }
    Some(finding)
}

const SLOW: &str = "whether the server answers later: between two looks the loop device finished no request";

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    const FILE: &str = "/srv/media/disk.img";

    fn device(name: &str, kind: BlockKind, in_flight: u64) -> BlockDevice {
        let finished = [Some(7), Some(7)];
        BlockDevice {
            name: name.into(),
            kind,
            in_flight: Some(in_flight),
            finished,
            written: finished,
            below: Vec::new(),
        }
    }

    fn on_loop(in_flight: u64) -> BlockStack {
        let kind = BlockKind::Loop { file: HostPath::from(FILE) };
        BlockStack {
            mounted: Dev::parse("7:0").unwrap(),
            devices: vec![device("loop0", kind, in_flight)],
            errors: None,
        }
    }

    fn on_disk(dev: &str, name: &str, in_flight: u64) -> BlockStack {
        let kind = BlockKind::Disk { state: Some("running".into()) };
        BlockStack { mounted: Dev::parse(dev).unwrap(), devices: vec![device(name, kind, in_flight)], errors: None }
    }

    /// Init looks up a name on an ext4 on a loop device, whose file lies on this mount.
    fn looking_up(below: Mount) -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, "__ext4_find_entry");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "254:0", "/etc/hosts", "ext4")]);
        seen.block_stacks = vec![on_loop(1), on_disk("254:0", "vda", 0)];
        sample::table(&mut seen).push(below.clone());
        seen.path_mounts = vec![PathMount { path: HostPath::from(FILE), mount: Some(below) }];
        seen.fuse = vec![fuse_connection(40, 1, vec![fuse_server(4111, 'S')])];
        seen
    }

    fn fuse() -> Mount {
        mount(50, "0:40", "/srv/media", "fuse.s3fs")
    }

    #[test]
    fn the_server_below_the_file_is_the_root() {
        let seen = looking_up(fuse());
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.confidence, finding.root.as_str()), (Confidence::Proven, "FuseServerNotResponding:40"));
        let chain: Vec<String> = finding.chain.iter().map(|l| format!("{}: {}", l.subject, l.state)).collect();
        assert_eq!(
            chain[2..],
            [
                "mount /data (7:0, ext4): its system call waits for its device",
                "loop device loop0 on /srv/media/disk.img: 1 request in flight, none finished between two looks",
                "fuse mount /srv/media (0:40, fuse.s3fs): 1 request waiting",
                "pid 4111 s3fs: S (sleeping) in tcp_recvmsg, of the host, in no pod and no unit",
            ]
        );
    }

    #[test]
    fn without_a_request_that_waits_the_loop_device_is_all_that_is_known() {
        let mut seen = looking_up(fuse());
        seen.fuse[0].waiting = Seen::Seen(0);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("BlockDeviceNotResponding", Confidence::Probable));
        // The same where it lies on a disk that does its work.
        let mut seen = looking_up(mount(51, "254:0", "/", "ext4"));
        assert_eq!(judge(&seen).pods[0].findings[0].root, "BlockDeviceNotResponding:loop0");
        // A device that finishes some answers.
        seen.block_stacks[0].devices[0].finished = [Some(7), Some(9)];
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    #[test]
    fn through_another_file_system_to_the_disk() {
        let mut seen = looking_up(mount(51, "8:16", "/srv", "xfs"));
        seen.block_stacks.push(on_disk("8:16", "sdb", 3));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.root, "BlockDeviceNotResponding:sdb");
        assert!(finding.chain.iter().any(|link| link.subject.contains("mount /srv")), "{finding:?}");
        let kind = BlockKind::Mapper { name: "vg-a".into(), user: Some("LVM".into()), suspended: Some(true) };
        seen.block_stacks[2].devices = vec![device("dm-1", kind, 0)];
        assert_eq!(causes(&seen), ["BlockDeviceSuspended"]);
    }

    #[test]
    fn another_kind_of_server_is_only_likely() {
        for (fs_type, cause) in [("nfs4", "NfsServerNotResponding"), ("cifs", "FileServerNotResponding")] {
            let finding = judge(&looking_up(mount(51, "0:60", "/srv", fs_type))).pods[0].findings[0].clone();
            assert_eq!((finding.cause.id, finding.confidence), (cause, Confidence::Probable));
        }
    }

    /// Each on the file of the other, as a table that changed in between may say.
    #[test]
    fn a_circle_ends() {
        assert_eq!(causes(&looking_up(mount(9, "7:0", "/srv/media", "ext4"))), ["BlockDeviceNotResponding"]);
    }
}
