//! `/proc/<pid>/cgroup` (cgroups(7)), and whose process it is.

use findings::PodUid;

use crate::observation::Owner;

/// One line: one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLine {
    /// The v1 controllers, comma separated; empty for v2.
    pub controllers: String,
    /// The path below the hierarchy's root, without the ` (deleted)` the kernel adds.
    pub path: String,
}

/// Parses the file; odd lines are left out.
pub fn cgroup_lines(bytes: &[u8]) -> Vec<CgroupLine> {
    let text = String::from_utf8_lossy(bytes);
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let _hierarchy = fields.next()?;
        let controllers = fields.next()?.to_owned();
        let path = fields.next()?;
        let path = path.strip_suffix(" (deleted)").unwrap_or(path).to_owned();
        path.starts_with('/').then_some(CgroupLine { controllers, path })
    };
    text.lines().filter_map(line).collect()
}

/// Whom a process with these lines belongs to: the pod whose uid stands anywhere in a path (both
/// drivers, also the odd names that a mix-up of drivers leaves), else the systemd unit.
pub fn owner(lines: &[CgroupLine]) -> Owner {
    for line in lines {
        if let Some((uid, rest)) = pod_in(&line.path) {
            return Owner::Pod { uid, container: container_in(rest) };
        }
    }
    let unit = lines.iter().find_map(|line| {
        // Below it may be units of another systemd: a user's, a container's.
        let first = line.path.split('/').find(|part| part.ends_with(".service") || part.ends_with(".scope"))?;
        Some(first.to_owned())
    });
    unit.map_or(Owner::Host, Owner::Unit)
}

/// The first component that names a pod, and what follows it.
fn pod_in(path: &str) -> Option<(PodUid, &str)> {
    let mut rest = path;
    while let Some(start) = rest.find("pod") {
        let after = &rest[start + 3..];
        let end = after.find(|c: char| !(c.is_ascii_hexdigit() || c == '-' || c == '_')).unwrap_or(after.len());
        if let Some(uid) = PodUid::parse(&after[..end].replace('_', "-")) {
            return Some((uid, &after[end..]));
        }
        rest = after;
    }
    None
}

/// The container id in what follows the pod's component: `/<id>`, `/cri-containerd-<id>.scope`,
/// `/crio-<id>.scope`, `.slice:cri-containerd:<id>`.
fn container_in(rest: &str) -> Option<String> {
    rest.split(['/', '-', ':', '.'])
        .find(|part| part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";
    const ID: &str = "8cd7aa00112233445566778899aabbccddeeff00112233445566778899aabbcc";

    fn owner_of(path: &str) -> Owner {
        owner(&cgroup_lines(format!("0::{path}\n").as_bytes()))
    }

    #[test]
    fn knows_both_drivers() {
        let pod = Owner::Pod { uid: PodUid::parse(UID).unwrap(), container: Some(ID.to_owned()) };
        let under = UID.replace('-', "_");
        for path in [
            format!("/kubepods/burstable/pod{UID}/{ID}"),
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice/cri-containerd-{ID}.scope"
            ),
            format!("/kubepods.slice/kubepods-pod{under}.slice/crio-{ID}.scope (deleted)"),
            format!("/system.slice/containerd.service/kubepods-burstable-pod{under}.slice:cri-containerd:{ID}"),
        ] {
            assert_eq!(owner_of(&path), pod, "{path}");
        }
    }

    #[test]
    fn names_the_unit() {
        assert_eq!(owner_of("/system.slice/s3fs.service"), Owner::Unit("s3fs.service".to_owned()));
        assert_eq!(owner_of("/"), Owner::Host);
        for (path, unit) in [
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/docker.service", "user@1000.service"),
            ("/system.slice/docker-1.scope/system.slice/ssh.service", "docker-1.scope"),
        ] {
            assert_eq!(owner_of(path), Owner::Unit(unit.to_owned()), "the host has another one of that name");
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = owner(&cgroup_lines(&bytes));
        }
    }
}
