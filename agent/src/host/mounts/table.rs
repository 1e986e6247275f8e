//! The text of one mount table. A tenant decides how long its own gets, so only a short one is kept; a longer one is
//! read anew for each question, line by line, and costs no more room than what the question keeps of it.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::observation::{Fault, FaultKind, HostPath, Mount};
use crate::parse::mountinfo::{self, Parsed, RawMount};
use crate::sys::ProcDir;

/// What one question may keep of a table that is read anew, in bytes: a tenant may have bound one thing to many
/// places.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// A table in the form of mountinfo.
pub(in crate::host) struct Table {
    /// Inode of the namespace.
    pub ns: u64,
    /// Through which process it was read.
    pub through_pid: u32,
    /// The root directory of that process. Its mount points are relative to it, and mounts
    /// outside are not in the table; the links of `/proc` are relative to the namespace's root.
    pub root: Vec<u8>,
    pub(super) text: Text,
}

pub(super) enum Text {
    Kept(Vec<u8>),
    ReadAnew(Source),
}

/// Where a table that is not kept is read.
pub(super) struct Source {
    dir: ProcDir,
    allowance: Arc<AtomicUsize>,
    /// Some question was not answered to the end.
    is_partial: AtomicBool,
    mounts: AtomicUsize,
}

impl Source {
    /// `allowance` is what may still be read of all such tables, in bytes.
    pub(super) fn new(dir: ProcDir, allowance: Arc<AtomicUsize>) -> Self {
        Source { dir, allowance, is_partial: AtomicBool::new(false), mounts: AtomicUsize::new(0) }
    }

    fn read_pieces(&self, mut piece: impl FnMut(&[u8]) -> ControlFlow<()>) {
        let mut mounts = 0;
        let read = self.dir.mountinfo_pieces(|lines| {
            let afford = |left: usize| left.checked_sub(lines.len());
            if self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, afford).is_err() {
                self.is_partial.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            mounts += memchr::memchr_iter(b'\n', lines).count();
            piece(lines)
        });
        self.mounts.fetch_max(mounts, Ordering::Relaxed);
        if read.is_err() {
            self.is_partial.store(true, Ordering::Relaxed);
        }
    }
}

impl Table {
    /// Of no namespace in particular, for tests.
    #[cfg(test)]
    pub(in crate::host) fn kept(text: &[u8]) -> Self {
        Table { ns: 1, through_pid: 1, root: b"/".to_vec(), text: Text::Kept(text.to_vec()) }
    }

    /// The mounts that `keep` wants.
    pub(in crate::host) fn mounts(&self, mut keep: impl FnMut(&RawMount<'_>) -> bool) -> Parsed {
        let source = match &self.text {
            Text::Kept(bytes) => return mountinfo::mounts(bytes, keep),
            Text::ReadAnew(source) => source,
        };
        let (mut all, mut room) = (Parsed::default(), MAX_KEPT_BYTES);
        source.read_pieces(|lines| {
            let Parsed { mounts, total, odd } = mountinfo::mounts(lines, &mut keep);
            all.total += total;
            all.odd += odd;
            keep_some(source, &mut all.mounts, mounts, &mut room)
        });
        all
    }

    /// Of the lines that hold `mark` somewhere the mounts that `keep` wants; the others are not even parsed.
    pub(in crate::host) fn mounts_with(&self, mark: &[u8], mut keep: impl FnMut(&RawMount<'_>) -> bool) -> Vec<Mount> {
        let source = match &self.text {
            Text::Kept(bytes) => return mountinfo::mounts_with(bytes, mark, keep),
            Text::ReadAnew(source) => source,
        };
        let (mut all, mut room) = (Vec::new(), MAX_KEPT_BYTES);
        source.read_pieces(|lines| {
            let mounts = mountinfo::mounts_with(lines, mark, &mut keep);
            keep_some(source, &mut all, mounts, &mut room)
        });
        all
    }

    /// Leaves those of `marks` that stand in no line of it.
    pub(in crate::host) fn absent_marks<M: AsRef<[u8]>>(&self, mut marks: Vec<M>) -> Vec<M> {
        let mut look = |lines: &[u8]| {
            marks.retain(|mark| memchr::memmem::find(lines, mark.as_ref()).is_none());
            if marks.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match &self.text {
            Text::Kept(bytes) => {
                let _ = look(bytes);
            }
            Text::ReadAnew(source) => source.read_pieces(look),
        }
        marks
    }

    /// Why not all of it was looked at, if so: whatever was not found in it may be there.
    pub(in crate::host) fn fault(&self) -> Option<Fault> {
        let Text::ReadAnew(source) = &self.text else { return None };
        let mounts = source.mounts.load(Ordering::Relaxed);
        let says = format!("is too long to be read to the end: more than {mounts} mounts");
        let is_partial = source.is_partial.load(Ordering::Relaxed);
        is_partial.then(|| Fault::new(source.dir.path().join("mountinfo").as_path(), (FaultKind::TooLarge, says)))
    }
}

fn keep_some(source: &Source, all: &mut Vec<Mount>, more: Vec<Mount>, room: &mut usize) -> ControlFlow<()> {
    let size = |mount: &Mount| {
        size_of::<Mount>()
            + mount.mount_point.as_bytes().len()
            + mount.root.as_bytes().len()
            + mount.source.as_bytes().len()
            + mount.layers.all().map(|path| size_of::<HostPath>() + path.as_bytes().len()).sum::<usize>()
    };
    match room.checked_sub(more.iter().map(size).sum()) {
        Some(left) => {
            *room = left;
            all.extend(more);
            ControlFlow::Continue(())
        }
        None => {
            source.is_partial.store(true, Ordering::Relaxed);
            ControlFlow::Break(())
        }
    }
}

/// A table that turned out too long to be kept.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}
