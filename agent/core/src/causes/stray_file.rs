//! Something in `volumes/` that is no directory: `ReadDirNoStat` fails on it, and the kubelet takes
//! a failed look for "volumes exist".

use super::prelude::*;

/// One finding per stray entry.
pub fn find(view: &PodView, dir: &PodDir) -> Vec<Finding> {
    let finding = |path: &crate::observation::HostPath| {
        pod_finding(view, &cause::STRAY_FILE_IN_VOLUMES, VOLUMES, &[])
            .blame(describe::file(path), "not a directory, so the kubelet's look at the volumes fails")
            .evidence(path.show(), "not a directory")
            .name_if(Placeholder::Path, path.as_str())
            .root(path.show())
            .finish()
    };
    dir.strays.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_file_beside_the_plugins_directories() {
        let mut seen = sample::mounted("ext4");
        pod_dir(&mut seen).strays.push(HostPath::from("/var/lib/kubelet/pods/x/volumes/stray"));
        assert!(causes(&seen).contains(&"StrayFileInVolumes"));
    }
}
