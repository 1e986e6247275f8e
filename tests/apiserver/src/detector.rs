//! Which files other processes have changed.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// Directories below the store's root: group, version, resource, namespace.
const DEEPEST: usize = 4;

/// Reports changes from the kernel (inotify). A write is in its queue before the writer goes on, so draining the queue
/// before each answer never gives an older state.
#[derive(Debug)]
pub(crate) struct Detector {
    root: PathBuf,
    inotify: Inotify,
    /// Directories, relative to the root.
    watched: HashMap<WatchDescriptor, PathBuf>,
}

/// What has happened since the last look.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// Files that were written or removed, relative to the root.
    pub(crate) files: Vec<PathBuf>,
    /// Files may have gone that are not named.
    pub(crate) look_everywhere: bool,
}

impl Detector {
    /// Watches everything below `root`, which is created if need be.
    pub(crate) fn new(root: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(root).with_context(|| format!("create {}", root.display()))?;
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
            .context("watch files (is fs.inotify.max_user_instances too low?)")?;
        Ok(Self { root: root.to_owned(), inotify, watched: HashMap::new() })
    }

    /// Readable when there is something to drain.
    pub(crate) fn descriptor(&self) -> anyhow::Result<OwnedFd> {
        self.inotify.as_fd().try_clone_to_owned().context("copy the descriptor of inotify")
    }

    /// All JSON files there are; every directory is watched from now on.
    pub(crate) fn everything(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        self.watch(PathBuf::new(), 0, &mut files)?;
        Ok(files)
    }

    /// What has happened since the last call.
    pub(crate) fn drain(&mut self) -> anyhow::Result<Happened> {
        let mut happened = Happened::default();
        loop {
            let events = match self.inotify.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => return Ok(happened),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error).context("read from inotify"),
            };
            for event in events {
                if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                    happened.look_everywhere = true;
                }
                if event.mask.contains(AddWatchFlags::IN_IGNORED) {
                    self.watched.remove(&event.wd);
                }
                let (Some(dir), Some(name)) = (self.watched.get(&event.wd), event.name) else { continue };
                let path = dir.join(name);
                if !event.mask.contains(AddWatchFlags::IN_ISDIR) {
                    // A file that is only created is not written yet.
                    if is_json(&path) && event.mask != AddWatchFlags::IN_CREATE {
                        happened.files.push(path);
                    }
                } else if event.mask.intersects(AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO) {
                    let depth = path.components().count();
                    self.watch(path, depth, &mut happened.files)?;
                } else if event.mask.contains(AddWatchFlags::IN_MOVED_FROM) {
                    happened.look_everywhere = true;
                }
            }
        }
    }

    /// Watches first and lists then: what is written in between is reported twice, and nothing is missed.
    fn watch(&mut self, dir: PathBuf, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
        if depth > DEEPEST || dir == Path::new("recording") {
            return Ok(());
        }
        let path = self.root.join(&dir);
        let mask = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        match self.inotify.add_watch(&path, mask) {
            Ok(descriptor) => self.watched.insert(descriptor, dir.clone()),
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(()),
            Err(error) => {
                let hint = "is fs.inotify.max_user_watches too low?";
                return Err(error).with_context(|| format!("watch {} ({hint})", path.display()));
            }
        };
        let listing = match fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("list {}", path.display())),
        };
        for entry in listing {
            let entry = entry.with_context(|| format!("list {}", path.display()))?;
            let relative = dir.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.watch(relative, depth + 1, files)?;
            } else if is_json(&relative) {
                files.push(relative);
            }
        }
        Ok(())
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "json")
}
