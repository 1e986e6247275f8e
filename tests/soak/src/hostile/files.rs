//! A pod that is to go, and whose files and volumes are links, FIFOs, devices and gigabytes.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lab::{Launch, NODE_NAME, Node, PodRef, mounts};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use serde_json::json;

/// Stands in a file that links lead to.
pub const SECRET: &str = "nobody-who-explains-pods-reads-this";
const NAME: &str = "hostile-files";
const SPARSE: u64 = 8 << 30;
const OWNER: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// Clears a screen, begins another line, turns text round.
const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\nstuck: nothing\r\u{202e}";

/// Makes something at a path; a link leads to the secret.
type Make = fn(&Path, &Path) -> anyhow::Result<()>;

/// What stands in place of a `vol_data.json`.
const INSTEAD: [(&str, Make); 5] = [
    ("link", |path, secret| Ok(symlink(secret, path)?)),
    ("fifo", |path, _| Ok(mkfifo(path, OWNER)?)),
    ("sparse", |path, _| Ok(File::create(path)?.set_len(SPARSE)?)),
    ("zeros", |path, _| Ok(mknod(path, SFlag::S_IFCHR, OWNER, makedev(1, 5))?)),
    ("directory", |path, _| Ok(fs::create_dir(path)?)),
];

/// Whether it is this pod, whose files are now this and now that.
pub fn swaps_files(uid: &str) -> bool {
    uid == PodRef::new(NAME).uid
}

/// The pod, until it is removed.
pub struct Files {
    pod: PodRef,
    dir: PathBuf,
    holder: i32,
    /// Sees every open of the secret.
    watch: Inotify,
    swapping: Arc<AtomicBool>,
    swapper: JoinHandle<std::io::Result<()>>,
}

impl Files {
    pub fn stage(node: &Node) -> anyhow::Result<Self> {
        let pod = PodRef::new(NAME);
        node.begin(&pod.uid)?;
        let outside = node.layout().dir().join("outside");
        fs::create_dir_all(&outside)?;
        let secret = outside.join("secret");
        fs::write(&secret, SECRET)?;
        let watch = Inotify::init(InitFlags::IN_NONBLOCK)?;
        watch.add_watch(&secret, AddWatchFlags::IN_OPEN | AddWatchFlags::IN_ACCESS)?;

        let dir = node.layout().pod_dir(&pod.uid);
        let csi = dir.join("volumes/kubernetes.io~csi");
        for (name, make) in INSTEAD {
            mounts::tmpfs(&csi.join(name).join("mount"))?;
            make(&csi.join(name).join("vol_data.json"), &secret).with_context(|| format!("make {name}"))?;
        }
        mounts::tmpfs(&csi.join(ESCAPES).join("mount"))?;
        mounts::tmpfs(&csi.join("swapped/mount"))?;
        let empty = dir.join("volumes/kubernetes.io~empty-dir");
        mounts::tmpfs(&empty.join("scratch"))?;
        fs::write(empty.join("scratch").join(ESCAPES), "")?;
        symlink("/", empty.join("root"))?;
        symlink(&outside, dir.join("volumes/kubernetes.io~outside"))?;
        mkfifo(&dir.join("volumes/kubernetes.io~fifo"), OWNER)?;
        symlink(&outside, dir.join("volume-subpaths"))?;
        mkfifo(&dir.join("volumeDevices"), OWNER)?;
        File::create(dir.join("containers"))?.set_len(SPARSE)?;

        let comm = "\u{1b}[31mroot\u{7}";
        let hold = Launch::stand_in(comm).args(["stand-in", "hold", "--cwd"]).arg(empty.join("scratch"));
        let holder = node.launch(hold)?;
        node.store().put_pod(&pod.namespace, &pod.name, &object(&pod))?;
        let swapping = Arc::new(AtomicBool::new(true));
        let (file, go_on) = (csi.join("swapped/vol_data.json"), swapping.clone());
        let swapper = thread::spawn(move || swap(&file, &secret, &go_on));
        Ok(Self { pod, dir, holder, watch, swapping, swapper })
    }

    /// Removes the pod and says whether anybody looked outside.
    pub fn remove(self, node: &Node) -> anyhow::Result<Option<String>> {
        self.swapping.store(false, Ordering::SeqCst);
        self.swapper.join().map_err(|_| anyhow!("who swaps files panicked"))?.context("swap files")?;
        lab::process::signal(self.holder, Signal::SIGKILL)?;
        lab::process::wait_end(self.holder)?;
        mounts::unmount_all(&self.dir)?;
        fs::remove_dir_all(&self.dir).context("remove the hostile files")?;
        node.store().remove_pod(&self.pod.namespace, &self.pod.name)?;
        node.made(&self.pod.uid)?;
        let opened = match self.watch.read_events() {
            Ok(events) => events.len(),
            Err(nix::errno::Errno::EAGAIN) => 0,
            Err(error) => return Err(error).context("ask who opened the secret"),
        };
        Ok((opened > 0).then(|| format!("what stands outside was opened: {opened} events")))
    }
}

/// Now it is a file, now a link to the secret, now a FIFO: a check before the open is caught.
fn swap(file: &Path, secret: &Path, go_on: &AtomicBool) -> std::io::Result<()> {
    let aside = file.with_extension("aside");
    while go_on.load(Ordering::SeqCst) {
        fs::write(&aside, "{}")?;
        fs::rename(&aside, file)?;
        symlink(secret, &aside)?;
        fs::rename(&aside, file)?;
        mkfifo(&aside, OWNER)?;
        fs::rename(&aside, file)?;
        thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

fn object(pod: &PodRef) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": pod.name, "namespace": pod.namespace, "uid": pod.uid,
            "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30,
        },
        "spec": {"nodeName": NODE_NAME, "containers": []},
        "status": {"phase": "Running"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_the_name() {
        let dir = Path::new("x").join(ESCAPES);
        assert!(dir.file_name().unwrap().as_encoded_bytes().len() < 256);
        assert!(crate::asked::steers(ESCAPES).is_some());
    }
}
