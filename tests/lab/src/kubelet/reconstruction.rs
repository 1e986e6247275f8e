//! What a kubelet finds of volumes when it starts, and how it gets rid of them.
//!
//! Of each CSI volume whose `vol_data.json` it can read it assumes that it is mounted, until its driver has unpublished it.
//! That holds for deleted pods, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::{csi, log::Log};
use crate::{Layout, PodRef, volume::plugin};

/// The kubelet's reconciler goes round every 100 ms.
const PERIOD: Duration = Duration::from_millis(100);
/// After a failure it waits, at first 500 ms and at last 2 min 2 s; here less.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(2));

/// The volumes that it remembers, by their directories.
#[derive(Debug, Default)]
pub struct Remembered(Mutex<BTreeMap<PathBuf, Try>>);

#[derive(Clone, Copy, Debug)]
struct Try {
    at: Instant,
    pause: Duration,
}

impl Remembered {
    /// What stands in the directories of pods that are not being deleted.
    pub fn read(layout: &Layout) -> Self {
        let pods = fs::read_dir(layout.kubelet_root().join("pods")).into_iter().flatten().flatten();
        let orphans = pods.filter(|pod| !layout.record(&pod.file_name().to_string_lossy()).exists());
        let volumes = orphans
            .flat_map(|pod| fs::read_dir(pod.path().join("volumes").join(plugin::CSI)).into_iter().flatten().flatten());
        let readable = volumes.map(|volume| volume.path()).filter(|dir| csi::load(&dir.join("vol_data.json")).is_ok());
        let first = Try { at: Instant::now(), pause: PAUSES.0 };
        Remembered(Mutex::new(readable.map(|dir| (dir, first)).collect()))
    }

    /// Whether it remembers one of a pod.
    pub fn has_one_of(&self, pod_dir: &Path) -> bool {
        self.0.lock().is_ok_and(|all| all.keys().any(|dir| dir.starts_with(pod_dir)))
    }

    /// Has them unpublished, until the process ends.
    pub fn reconcile_forever(&self, layout: &Layout, log: &Log) {
        let mut last = String::new();
        loop {
            for (dir, next) in self.due() {
                let outcome = csi::tear_down(&layout.kubelet_root(), &dir);
                if let Err(error) = &outcome {
                    let why = format!("{error:#}");
                    if why != last {
                        let nobody = PodRef { namespace: String::new(), name: String::new(), uid: String::new() };
                        log.error("Operation for a reconstructed volume failed", &why, &nobody);
                        last = why;
                    }
                }
                let Ok(mut all) = self.0.lock() else { return };
                match outcome {
                    Ok(()) => _ = all.remove(&dir),
                    // Building the operation has no back-off.
                    Err(_) if !dir.join("vol_data.json").exists() => {}
                    Err(_) => {
                        let pause = (next.pause * 2).min(PAUSES.1);
                        all.insert(dir, Try { at: Instant::now() + pause, pause });
                    }
                }
            }
            thread::sleep(PERIOD);
        }
    }

    fn due(&self) -> Vec<(PathBuf, Try)> {
        let now = Instant::now();
        let all = self.0.lock().map(|all| all.clone()).unwrap_or_default();
        all.into_iter().filter(|(_, next)| next.at <= now).collect()
    }
}
