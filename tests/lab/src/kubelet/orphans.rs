//! Housekeeping: directories of pods that neither the API nor the runtime knows.
//!
//! This is also what removes a pod's directory at the end of a normal termination.

use std::{fs, io, path::Path, thread, time::Duration};

use anyhow::Context as _;

use super::{log::Log, reconstruction::Remembered, volumes, worker::has_running};
use crate::{Layout, PodRef, mounts, runtime::RuntimeClient};

/// The kubelet sweeps every two seconds.
const PERIOD: Duration = Duration::from_millis(500);

/// Sweeps until the process ends.
pub fn sweep_forever(layout: &Layout, log: &Log, remembered: &Remembered) {
    let mut last = String::new();
    loop {
        if let Err(error) = sweep(layout, log, remembered) {
            let why = format!("{error:#}");
            if why != last {
                let nobody = PodRef { namespace: String::new(), name: String::new(), uid: String::new() };
                log.error("There were many similar errors. Turn up verbosity to see them.", &why, &nobody);
                last = why;
            }
        }
        thread::sleep(PERIOD);
    }
}

fn sweep(layout: &Layout, log: &Log, remembered: &Remembered) -> anyhow::Result<()> {
    let known: Vec<String> = apiserver::Store::new(layout.api())
        .pods()?
        .into_iter()
        .filter_map(|pod| pod.pointer("/metadata/uid")?.as_str().map(str::to_owned))
        .collect();
    let client = RuntimeClient::new(&layout.socket(), Duration::from_secs(2))?;
    let mut first_error = Ok(());
    for entry in fs::read_dir(layout.kubelet_root().join("pods"))? {
        let entry = entry?;
        let uid = entry.file_name().to_string_lossy().into_owned();
        // A pod in the making has its directory before its object, and no record yet either.
        let is_known = known.contains(&uid) || layout.record(&uid).exists() || layout.in_the_making(&uid).exists();
        if is_known || has_running(&client, &uid)? {
            continue;
        }
        match remove_orphan(&entry.path(), remembered).with_context(|| format!("orphaned pod {uid:?} found")) {
            Ok(()) => {
                let pod = PodRef { namespace: String::new(), name: String::new(), uid };
                log.passed(&pod);
            }
            Err(error) => first_error = first_error.and(Err(error)),
        }
    }
    first_error
}

/// Removes only empty directories below `volumes`: any file there is data.
fn remove_orphan(pod_dir: &Path, remembered: &Remembered) -> anyhow::Result<()> {
    anyhow::ensure!(!remembered.has_one_of(pod_dir), "but volumes are not cleaned up");
    let mounted = volumes::mounted_on_disk(pod_dir).context("error occurred during reading volume dir from disk")?;
    anyhow::ensure!(mounted.is_empty(), "but volumes are not cleaned up: {mounted:?}");
    for path in volumes::volume_paths(pod_dir)? {
        fs::remove_dir(&path).with_context(|| format!("failed to rmdir() volume at path {}", path.display()))?;
    }
    remove_empty_dirs(&pod_dir.join("volumes")).context("error occurred when trying to remove the volumes dir")?;
    let below = mounts::below(pod_dir)?;
    anyhow::ensure!(below.is_empty(), "cannot delete directory {}: it holds a mount point", pod_dir.display());
    fs::remove_dir_all(pod_dir).context("error occurred when trying to remove the pod directory")
}

fn remove_empty_dirs(dir: &Path) -> io::Result<()> {
    if !dir.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        remove_empty_dirs(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    fs::remove_dir(dir)
}
