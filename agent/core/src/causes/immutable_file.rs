//! A file that the kubelet cannot remove: it is marked so.

use super::prelude::*;

/// The kubelet deletes the files of this volume by itself, and one of them may not be removed.
pub fn find(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[findings::Link]) -> Option<Finding> {
    if !volume.is_made_for_the_pod() || volume.entries.is_none_or(|entries| entries == 0) {
        return None;
    }
    view.seen.is_settled(Question::ProtectedFiles(target.clone()));
    let search = view.seen.protected_files.iter().find(|search| search.dir == *target)?;
    let finding = |file: &ProtectedFile| {
        let (state, attribute) = match file.is_immutable {
            true => ("immutable: it cannot be removed", "STATX_ATTR_IMMUTABLE"),
            false => ("append-only: it cannot be removed", "STATX_ATTR_APPEND"),
        };
        pod_finding(view, &cause::VOLUME_FILE_IMMUTABLE, VOLUMES, head)
            .blame(describe::file(&file.path), state)
            .evidence(format!("statx {}", file.path.show()), attribute)
            .name_if(Placeholder::Path, file.path.as_str())
            .root(file.path.show())
            .finish()
    };
    Finding::together(search.found.iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn an_immutable_file_is_the_proof() {
        let mut seen = sample::mounted("ext4");
        seen.cgroups = sample::cgroup(&[]);
        sample::table(&mut seen).clear();
        sample::table(&mut seen).push(mount(1, "8:1", "/var/lib/kubelet", "ext4"));
        (volume(&mut seen).mounted, volume(&mut seen).entries) = (Seen::Seen(false), Some(3));
        (volume(&mut seen).vol_data, volume(&mut seen).plugin) = (VolData::NotCsi, "kubernetes.io/empty-dir".into());
        let dir = volume(&mut seen).target.get().unwrap().clone();
        assert_eq!(causes(&seen), ["VolumeFilesNotRemoved"]);
        let file = |name: &str, is_immutable| ProtectedFile { path: dir.join(name), is_immutable };
        seen.protected_files = vec![ProtectedFiles { dir: dir.clone(), found: Vec::new(), is_whole: true }];
        assert_eq!(causes(&seen), ["VolumeFilesNotRemoved"]);
        let is_partial = |seen: &Observation| {
            serde_json::to_string(&judge(seen)).unwrap().contains("not all of its files could be read")
        };
        assert!(!is_partial(&seen));
        seen.protected_files[0].is_whole = false;
        assert!(is_partial(&seen));
        seen.protected_files[0].found = vec![file("conf", true)];
        assert_eq!(causes(&seen), ["VolumeFileImmutable"]);
        sample::set_deadline(&mut seen, sample::NOW - 20_000, 30);
        let pod = judge(&seen).pods.remove(0);
        assert_eq!((pod.verdict, pod.findings[0].confidence), (Verdict::Stuck, Confidence::Proven));
        seen.protected_files[0].found.push(file("log", false));
        let finding = judge(&seen).pods.remove(0).findings.remove(0);
        let commands: Vec<String> = finding.remedy.steps.iter().filter_map(|step| step.command.clone()).collect();
        let taken =
            |name: &str| commands.iter().any(|run| run.starts_with("chattr -ia ") && run.contains(&format!("/{name}")));
        assert!(taken("conf") && taken("log"), "{commands:?}");
    }
}
