//! A volume on a multipath map that has lost its paths: what was written waits, and so does `umount`.

use findings::{Entity, Subject};

use super::blocked_task::BlockedTask;
use super::prelude::*;

/// Whether the mount's map has no path left.
pub fn stale(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    if mount.dev.major != 0 {
        view.seen.is_settled(Question::MultipathMap(mount.dev));
    }
    let map = view.seen.multipath.iter().find(|map| map.mounted == mount.dev && map.is_without_path())?;
    let paths = words(map.paths.iter().map(|path| (path.device.as_str(), path.state.as_deref())));
    let draft = pod_finding(view, &cause::MULTIPATH_STALE, VOLUMES, head)
        // Whether the map queues, and whether anything waits in it, only its table would show.
        .probable("whether the map queues I/O: only its table shows it")
        .link(describe::mount(mount), "mounted, and its device has no path to the storage")
        .blame(subject(&map.name, &map.device), &paths)
        .evidence(format!("/sys/block/{}/slaves", map.device), &paths)
        .name(Placeholder::Map, &map.name)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(&map.name);
    Some(draft.finish())
}

/// A task waits for a map without a path: it queues, or the task's request would have failed.
pub fn waited_for(
    view: &PodView,
    waiting: &BlockedTask,
    map: &BlockDevice,
    name: &str,
    stack: Option<&BlockStack>,
) -> FindingBuilder {
    let below = stack.map(|stack| stack.below(map)).unwrap_or_default();
    let state = |path: &BlockDevice| match &path.kind {
        BlockKind::Disk { state } => state.clone(),
        _ => None,
    };
    let states: Vec<(&str, Option<String>)> = below.iter().map(|path| (path.name.as_str(), state(path))).collect();
    let paths = words(states.iter().map(|(path, state)| (*path, state.as_deref())));
    waiting
        .finding(view, &cause::MULTIPATH_STALE)
        .blame(subject(name, &map.name), &paths)
        .evidence(format!("/sys/block/{}/slaves", map.name), &paths)
        .name(Placeholder::Map, name)
        .root(name)
}

fn subject(name: &str, device: &str) -> Subject {
    let words = findings::clean(&format!("multipath map {name} ({device})"), 120);
    Subject::new(words, Entity::device(&format!("/dev/mapper/{name}")))
}

fn words<'a>(paths: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let states: Vec<String> =
        paths.take(8).map(|(device, state)| format!("{device} {}", state.unwrap_or("?"))).collect();
    match states.as_slice() {
        [] => "no path is left".to_owned(),
        states => format!("no path works: {}", states.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_map_that_has_lost_its_paths() {
        let mut seen = sample::mounted("xfs");
        let dev = Dev { major: 253, minor: 4 };
        table(&mut seen)[0].dev = dev;
        let path = |device: &str, state: &str| MultipathPath { device: device.into(), state: Some(state.into()) };
        let paths = vec![path("sdb", "offline"), path("sdc", "transport-offline")];
        seen.multipath = vec![MultipathMap { mounted: dev, name: "mpatha".into(), device: "dm-3".into(), paths }];
        assert_eq!(causes(&seen), ["MultipathStale"]);
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, findings::Confidence::Probable);
        seen.multipath[0].paths[1].state = Some("running".into());
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        seen.multipath[0].paths[1].state = None;
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "what is not reported is not dead");
        seen.multipath[0].paths.clear();
        assert_eq!(causes(&seen), ["MultipathStale"]);
        seen.multipath[0].mounted = Dev { major: 253, minor: 9 };
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "it is another volume's");
    }
}
