//! What the stand-in says, in the kubelet's log format and words.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context as _;

use super::Gate;
use crate::{Layout, PodRef};

/// The log file and the notes of who is held where.
pub struct Log {
    file: Mutex<File>,
    waits: PathBuf,
}

impl Log {
    /// Appends to the node's kubelet log.
    pub fn open(layout: &Layout) -> anyhow::Result<Self> {
        let path = layout.kubelet_log();
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("open {}", path.display()))?;
        Ok(Self { file: Mutex::new(file), waits: layout.dir().join("waits") })
    }

    /// An error line of klog.
    pub fn error(&self, message: &str, error: &str, pod: &PodRef) {
        let time = jiff::Zoned::now().strftime("%m%d %H:%M:%S%.6f").to_string();
        let line = format!(
            "E{time} {pid:>7} kubelet.go:1] \"{message}\" err={error:?} pod=\"{namespace}/{name}\" podUID=\"{uid}\"\n",
            pid = std::process::id(),
            namespace = pod.namespace,
            name = pod.name,
            uid = pod.uid,
        );
        // A stand-in that cannot log has no other place to report that.
        if let Ok(mut file) = self.file.lock() {
            let _ = file.write_all(line.as_bytes());
        }
    }

    /// Notes that a pod is held at a gate.
    pub fn held(&self, pod: &PodRef, gate: Gate, why: &str) {
        let unfinished = self.waits.join(format!("{}.unfinished", pod.uid));
        let _ = fs::write(&unfinished, format!("{gate}: {why}\n"));
        let _ = fs::rename(unfinished, self.waits.join(&pod.uid));
    }

    /// Forgets where a pod was held: it is gone.
    pub fn passed(&self, pod: &PodRef) {
        let _ = fs::remove_file(self.waits.join(&pod.uid));
    }
}
