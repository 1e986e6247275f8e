//! A volume on a multipath map that has lost its paths: what was written waits, and so does `umount`.

use findings::Entity;

use super::prelude::*;

/// Whether the mount's map has no path left.
pub fn stale(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    if mount.dev.major != 0 {
        view.seen.is_settled(Question::MultipathMap(mount.dev));
    }
    let map = view.seen.multipath.iter().find(|map| map.mounted == mount.dev && map.is_without_path())?;
    let subject = findings::Subject::new(
        findings::clean(&format!("multipath map {} ({})", map.name, map.device), 120),
        Entity::device(&format!("/dev/mapper/{}", map.name)),
    );
    let draft = pod_finding(view, &cause::MULTIPATH_STALE, VOLUMES, head)
        // Whether the map queues, and whether anything waits in it, only its table would show.
        .probable("whether the map queues I/O: only its table shows it")
        .link(describe::mount(mount), "mounted, and its device has no path to the storage")
        .blame(subject, paths(map))
        .evidence(format!("/sys/block/{}/slaves", map.device), paths(map))
        .name(Placeholder::Map, &map.name)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(&map.name);
    Some(draft.finish())
}

fn paths(map: &MultipathMap) -> String {
    if map.paths.is_empty() {
        return "no path is left".to_owned();
    }
    let states =
        map.paths.iter().take(8).map(|path| format!("{} {}", path.device, path.state.as_deref().unwrap_or("?")));
    format!("no path works: {}", states.collect::<Vec<_>>().join(", "))
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
