//! A block device below a mount that does not finish what it was given.

use findings::{Entity, Subject, clean};

use super::blocked_task::{BlockedTask, Sure};
use super::multipath;
use super::prelude::*;

/// A file system that a task waits for, and the devices below it.
pub struct OnDevice<'a> {
    pub link: Link,
    pub dev: Dev,
    pub stack: Option<&'a BlockStack>,
}

impl<'a> OnDevice<'a> {
    pub fn mounted(waiting: &BlockedTask, mount: &Mount, stack: Option<&'a BlockStack>) -> Self {
        let link = Link::new(describe::mount(mount), format!("{} waits for its device", waiting.call()));
        Self { link, dev: mount.dev, stack }
    }

    /// One that its `umount` has taken out of the mount table already.
    pub fn detached(stack: &'a BlockStack) -> Self {
        let dev = stack.mounted;
        let entity = Entity::device(&format!("/dev/{}", stack.top().map_or("", |device| &device.name)));
        let subject = Subject::new(format!("file system of {dev}"), entity);
        Self {
            link: Link::new(subject, "in no mount table any more: its umount writes it back"),
            dev,
            stack: Some(stack),
        }
    }
}

/// The devices below a mount, where it stands on one whose number identifies it.
pub fn stack<'a>(view: &PodView<'a>, mount: &Mount) -> Option<&'a BlockStack> {
    if mount.dev.major == 0 || !view.seen.is_settled(Question::BlockStack(mount.dev)) {
        return None;
    }
    view.seen.block_stacks.iter().find(|stack| stack.mounted == mount.dev)
}

/// Of several file systems the only one whose device may be waited for: it is dead or suspended, or has requests of which
/// it finished none, and the others are idle or finish theirs.
pub fn only_waited_for<'a>(view: &PodView<'a>, mounts: &[&'a Mount]) -> Option<&'a Mount> {
    let may_be = |mount: &Mount| stack(view, mount).and_then(BlockStack::may_be_waited_for);
    let known: Vec<Option<bool>> = mounts.iter().map(|mount| may_be(mount)).collect();
    let is_only = known.iter().all(Option::is_some) && known.iter().filter(|known| **known == Some(true)).count() == 1;
    let at = known.iter().position(|known| *known == Some(true)).filter(|_| is_only)?;
    mounts.get(at).copied()
}

/// A task waits for a suspended device-mapper device.
pub fn suspended(view: &PodView, waiting: &BlockedTask, mount: &Mount, sure: Sure) -> Option<Finding> {
    suspended_below(view, waiting, &OnDevice::mounted(waiting, mount, stack(view, mount)), sure)
}

/// The same of any file system.
pub fn suspended_below(view: &PodView, waiting: &BlockedTask, file_system: &OnDevice, sure: Sure) -> Option<Finding> {
    let (device, name) = file_system.stack?.suspended()?;
    let head = down_to(waiting, file_system, Some(device));
    let draft = BlockedTask { head: &head, ..*waiting }
        .finding(view, &cause::BLOCK_DEVICE_SUSPENDED)
        .blame(subject(device), "suspended: all that is sent to it waits")
        .evidence(format!("/sys/block/{}/dm/suspended", device.name), "1")
        .name(Placeholder::Map, name)
        .root(&device.name)
        .probable_unless(sure == Sure::Yes, NOT_THIS_MOUNT);
    Some(draft.finish())
}

/// A task waits for the device below this file system.
pub fn not_responding(view: &PodView, waiting: &BlockedTask, file_system: &OnDevice, sure: Sure) -> Finding {
    let stack = file_system.stack;
    if let Some((map, name)) = stack.and_then(BlockStack::pathless) {
        let head = down_to(waiting, file_system, Some(map));
        let draft = multipath::waited_for(view, &BlockedTask { head: &head, ..*waiting }, map, name, stack);
        return draft.probable_unless(sure == Sure::Yes, NOT_THIS_MOUNT).finish();
    }
    let devices = stack.map(|stack| stack.devices.as_slice()).unwrap_or_default();
    let blamed = stack.and_then(BlockStack::suspect);
    let head = down_to(waiting, file_system, blamed);
    let draft = BlockedTask { head: &head, ..*waiting }.finding(view, &cause::BLOCK_DEVICE_NOT_RESPONDING);
    let draft = match blamed {
        Some(device) => draft
            .blame(subject(device), state(device))
            .evidence(source(device), state(device))
            .name(Placeholder::Device, format!("/dev/{}", device.name))
            .root(&device.name),
        None => draft.blame("the device below it", "could not be looked at").root(file_system.dev),
    };
    let beside = devices.iter().skip_while(|device| Some(*device) != blamed).skip(1);
    let draft = beside.fold(draft, |draft, device| draft.evidence(source(device), state(device)));
    // That it finishes nothing in a moment proves little; that its driver has given it up does.
    match sure {
        Sure::Yes
            if stack.is_some_and(|stack| stack.is_gone() && !stack.devices.iter().any(BlockDevice::is_recovering)) =>
        {
            draft
        }
        Sure::Yes => draft.probable(lacks(blamed)),
        Sure::Perhaps => draft.probable(NOT_THIS_MOUNT),
    }
    .finish()
}

/// Said where the task sees other mounts.
const NOT_THIS_MOUNT: &str = "that it is this mount which the task waits for";

/// What would prove that the device is waited for.
fn lacks(blamed: Option<&BlockDevice>) -> &'static str {
    match blamed {
        Some(device) if device.is_recovering() => {
            "whether the way to the device comes back, or its driver gives up by itself and what waits fails"
        }
        Some(device) if device.finishes() => "whether the request that the task waits for is one of those it finishes",
        Some(device) if device.finished.iter().all(Option::is_some) => {
            "whether the device answers later: in a moment it finished no request"
        }
        _ => "whether the device finishes anything: it could not be looked at",
    }
}

/// The chain from the task to the devices above this one.
pub fn down_to(waiting: &BlockedTask, file_system: &OnDevice, device: Option<&BlockDevice>) -> Vec<Link> {
    let above = file_system.stack.zip(device).map(|(stack, device)| stack.above(device)).unwrap_or_default();
    let above = above.into_iter().map(|above| Link::new(subject(above), state(above)));
    waiting.head.iter().cloned().chain([file_system.link.clone()]).chain(above).collect()
}

/// The loop device that finishes nothing, and its file.
pub fn silent_loop(stack: &BlockStack) -> Option<(&BlockDevice, &HostPath)> {
    let device = stack.suspect().filter(|device| device.stands_still())?;
    let BlockKind::Loop { file } = &device.kind else { return None };
    Some((device, file))
}

/// The files that show its state.
pub fn source(device: &BlockDevice) -> String {
    format!("/sys/class/block/{}/{{stat,device/state}}", device.name)
}

/// A device, as people read it.
pub fn subject(device: &BlockDevice) -> Subject {
    let words = match &device.kind {
        BlockKind::Mapper { .. } => format!("device {}", layer(&device.name, &device.kind)),
        BlockKind::Loop { .. } | BlockKind::Raid { .. } => layer(&device.name, &device.kind),
        BlockKind::Disk { .. } => format!("disk {}", device.name),
    };
    Subject::new(clean(&words, 160), Entity::device(&format!("/dev/{}", device.name)))
}

/// `dm-3 (LVM, vg-data)`.
pub fn layer(device: &str, kind: &BlockKind) -> String {
    match kind {
        BlockKind::Mapper { name, user, .. } => {
            format!("{device} ({}, {name})", user.as_deref().unwrap_or("device-mapper"))
        }
        BlockKind::Loop { file } => format!("loop device {device} on {}", describe::path(file)),
        BlockKind::Raid { .. } => format!("RAID {device}"),
        BlockKind::Disk { .. } => device.to_owned(),
    }
}

/// `offline, 3 requests in flight, none finished between two looks`.
pub fn state(device: &BlockDevice) -> String {
    let mut words = Vec::new();
    match &device.kind {
        BlockKind::Raid { state } => words.push(state.clone()),
        BlockKind::Disk { state: Some(state) } => words.push(state.clone()),
        _ => {}
    }
    if let Some(count) = device.in_flight {
        words.push(format!(
            "{} in flight",
            describe::count(count.try_into().unwrap_or(usize::MAX), "request", "requests")
        ));
    }
    if device.stands_still() {
        words.push("none finished between two looks".to_owned());
    }
    if device.finishes() {
        words.push("it finishes some".to_owned());
    }
    if words.is_empty() { "the kernel reports nothing about it".to_owned() } else { clean(&words.join(", "), 160) }
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    const DEV: Dev = Dev { major: 253, minor: 4 };

    fn device(name: &str, kind: BlockKind) -> BlockDevice {
        BlockDevice {
            name: name.into(),
            kind,
            in_flight: Some(0),
            finished: [Some(7), Some(7)],
            written: [None; 2],
            below: Vec::new(),
        }
    }

    fn mapper(name: &str, suspended: bool) -> BlockDevice {
        let kind = BlockKind::Mapper { name: "vg-data".into(), user: Some("LVM".into()), suspended: Some(suspended) };
        device(name, kind)
    }

    fn disk(state: &str, in_flight: u64) -> BlockDevice {
        BlockDevice { in_flight: Some(in_flight), ..device("sdb", BlockKind::Disk { state: Some(state.into()) }) }
    }

    /// Init writes to xfs on a logical volume on a disk.
    fn writing(wchan: &str, devices: Vec<BlockDevice>) -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, wchan);
        let thread = &mut seen.processes[0].threads[0];
        thread.syscall = Seen::Seen(Syscall { number: 74, first_argument: 5, name: Some("fsync".into()) });
        thread.works_on = Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
        container_table(&mut seen, vec![mount(9, "253:4", "/data", "xfs"), mount(10, "254:0", "/etc/hosts", "ext4")]);
        seen.block_stacks = vec![BlockStack { mounted: DEV, devices, errors: None }];
        seen
    }

    #[test]
    fn the_chain_goes_on_below_the_mount() {
        let seen = writing("xlog_wait_on_iclog", vec![mapper("dm-4", false), disk("offline", 3)]);
        assert_eq!(causes(&seen), ["BlockDeviceNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Proven);
        let sources: Vec<&str> = finding.evidence.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(sources[..2], ["/proc/326/task/326/{wchan,stack}", "/proc/326/task/326/syscall"]);
        let chain: Vec<String> = finding.chain.iter().map(|l| format!("{}: {}", l.subject, l.state)).collect();
        assert_eq!(
            chain[2..],
            [
                "mount /data (253:4, xfs): fsync on /data/x (descriptor 5) waits for its device",
                "device dm-4 (LVM, vg-data): 0 requests in flight",
                "disk sdb: offline, 3 requests in flight, none finished between two looks",
            ]
        );
    }

    #[test]
    fn a_disk_that_only_is_slow_is_no_proof() {
        let seen = writing("folio_wait_bit_common", vec![mapper("dm-4", false), disk("running", 3)]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("BlockDeviceNotResponding", Confidence::Probable));
        assert_eq!(finding.root, "BlockDeviceNotResponding:sdb");
    }

    /// A map with two paths.
    fn multipath(finished: [u64; 2], paths: [BlockDevice; 2]) -> Vec<BlockDevice> {
        let kind = BlockKind::Mapper { name: "mpatha".into(), user: Some("mpath".into()), suspended: Some(false) };
        let below = vec!["sdb".to_owned(), "sdc".to_owned()];
        let map = BlockDevice { in_flight: Some(3), finished: finished.map(Some), below, ..device("dm-4", kind) };
        let [sdb, sdc] = paths;
        vec![map, sdb, BlockDevice { name: "sdc".into(), ..sdc }]
    }

    #[test]
    fn a_dead_path_beside_one_that_works_is_no_proof() {
        for (in_flight, of_map) in [(0, [700, 760]), (3, [700, 760]), (3, [700, 700])] {
            let works = BlockDevice { finished: [Some(700), Some(760)], ..disk("running", 2) };
            let mut seen =
                writing("xlog_wait_on_iclog", multipath(of_map, [disk("offline", in_flight), works.clone()]));
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!((finding.cause.id, finding.confidence), ("BlockDeviceNotResponding", Confidence::Probable));
            assert_eq!(finding.root, "BlockDeviceNotResponding:dm-4", "neither path is blamed");
            let says_none = |finding: &findings::Finding| {
                finding.missing.as_ref().is_some_and(|missing| missing.contains("finished no request"))
            };
            assert_eq!(says_none(&finding), of_map == [700, 700], "{:?}", finding.missing);
            let says: Vec<&str> = finding.evidence.iter().map(|one| one.says.as_str()).collect();
            assert!(says.iter().any(|says| says.starts_with("offline, ")), "{says:?}");
            assert!(says.contains(&"running, 2 requests in flight, it finishes some"), "{says:?}");
            // The same where the paths were reported without what is built on what.
            seen.block_stacks[0].devices[0].below.clear();
            assert_eq!(judge(&seen).pods[0].findings[0].root, finding.root);
            // Which file its call is on is unknown of a task that exits.
            sample::exit_blocked(&mut seen, INIT, 'D', "xlog_wait_on_iclog");
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!(finding.confidence, Confidence::Probable);
            assert!(!says_none(&finding), "{:?}", finding.missing);
        }
    }

    #[test]
    fn all_paths_dead_are_a_proof_and_one_that_is_idle_is_none() {
        let root = |paths: [BlockDevice; 2]| {
            let seen = writing("xlog_wait_on_iclog", multipath([700, 700], paths));
            let finding = judge(&seen).pods[0].findings[0].clone();
            (finding.root, finding.confidence)
        };
        let of = |name: &str| format!("BlockDeviceNotResponding:{name}");
        let all = (String::from("MultipathStale:mpatha"), Confidence::Proven);
        assert_eq!(root([disk("offline", 0), disk("offline", 3)]), all);
        assert_eq!(root([disk("offline", 0), disk("running", 0)]), (of("sdb"), Confidence::Probable));
        assert_eq!(root([disk("running", 0), disk("running", 3)]), (of("sdc"), Confidence::Probable));
        assert_eq!(root([disk("running", 0), disk("running", 0)]), (of("dm-4"), Confidence::Probable));
        let unknown = BlockDevice { kind: BlockKind::Disk { state: None }, ..disk("", 0) };
        assert_eq!(root([disk("offline", 0), unknown]), (of("sdb"), Confidence::Probable));
    }

    /// A mirror with a disk that is suspended: its other disk is not on the way.
    #[test]
    fn what_stands_beside_the_device_is_not_on_the_way_to_it() {
        let below = vec!["dm-0".to_owned(), "dm-1".to_owned()];
        let mirror = BlockDevice { below, ..device("md0", BlockKind::Raid { state: "active".into() }) };
        let seen = writing("xlog_wait_on_iclog", vec![mirror, mapper("dm-0", false), mapper("dm-1", true)]);
        assert_eq!(causes(&seen), ["BlockDeviceSuspended"]);
        let chain = judge(&seen).pods[0].findings[0].chain.clone();
        let subjects: Vec<&str> = chain.iter().map(|link| link.subject.as_str()).collect();
        assert_eq!(subjects[3..], ["RAID md0", "device dm-1 (LVM, vg-data)"]);
    }

    /// What waits for a path can be failed by hand, and no reboot is needed for it.
    #[test]
    fn a_map_without_a_path_can_be_told_to_queue_no_more() {
        let paths = || multipath([700, 700], [disk("transport-offline", 0), disk("transport-offline", 0)]);
        let mut without = vec![paths().remove(0)];
        without[0].below.clear();
        for (devices, state) in [(paths(), "no path works: sdb transport-offline, sdc"), (without, "no path is left")] {
            let seen = writing("xlog_wait_on_iclog", devices);
            assert_eq!(causes(&seen), ["MultipathStale"]);
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!((finding.confidence, finding.root.as_str()), (Confidence::Proven, "MultipathStale:mpatha"));
            let root = finding.roots().next().unwrap();
            assert_eq!(root.subject, "multipath map mpatha (dm-4)");
            assert!(root.state.starts_with(state), "{}", root.state);
            let steps = serde_json::to_string(&finding.remedy.steps).unwrap();
            assert!(steps.contains("multipathd disablequeueing map mpatha"), "{steps}");
        }
        // One path may still be found again by its driver.
        let [map, gone, mut other] = <[BlockDevice; 3]>::try_from(paths()).unwrap();
        other.kind = BlockKind::Disk { state: Some("blocked".into()) };
        assert_eq!(causes(&writing("xlog_wait_on_iclog", vec![map, gone, other])), ["BlockDeviceNotResponding"]);
    }

    /// An iSCSI session fails what waits after two minutes without its target.
    #[test]
    fn a_disk_whose_driver_still_waits_for_the_way_to_it_is_no_proof() {
        for state in ["blocked", "connecting"] {
            let seen = writing("xlog_wait_on_iclog", vec![disk(state, 0)]);
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!((finding.cause.id, finding.confidence), ("BlockDeviceNotResponding", Confidence::Probable));
            assert_eq!(finding.root, "BlockDeviceNotResponding:sdb");
            assert!(finding.missing.is_some_and(|missing| missing.contains("gives up by itself")), "{state}");
        }
    }

    #[test]
    fn a_suspended_device_is_the_root_whatever_is_waited_in() {
        for wchan in ["percpu_rwsem_wait", "folio_wait_bit_common", "xfs_buf_lock"] {
            let seen = writing(wchan, vec![mapper("dm-4", true), disk("running", 0)]);
            assert_eq!(causes(&seen), ["BlockDeviceSuspended"], "{wchan}");
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!(finding.confidence, Confidence::Proven);
            let text = serde_json::to_string(&finding).unwrap();
            assert!(text.contains("dmsetup resume vg-data"), "{text}");
        }
    }

    #[test]
    fn a_broken_raid_is_told_by_its_state() {
        let raid = BlockDevice { in_flight: None, ..device("md0", BlockKind::Raid { state: "broken".into() }) };
        let seen = writing("xlog_wait_on_iclog", vec![raid, disk("running", 0)]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let root = finding.roots().next().unwrap();
        assert_eq!((root.subject.as_str(), root.state.as_str()), ("RAID md0", "broken"));
        assert_eq!(finding.confidence, Confidence::Proven);
    }

    #[test]
    fn of_several_disks_none_is_guessed() {
        let mut seen = writing("folio_wait_bit_common", vec![disk("running", 3)]);
        seen.processes[0].threads[0].works_on = None;
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }
}
