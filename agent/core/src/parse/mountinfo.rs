//! `/proc/<pid>/mountinfo` (proc_pid_mountinfo(5)).
//!
//! The procfs crate is not used here: it refuses a whole table because of one byte that is no
//! UTF-8, so that any tenant could blind the agent, and it keeps `\040` in mount points.

use std::borrow::Cow;

use crate::file_system;
use crate::observation::{Dev, HostPath, Layers, Mount, OVERLAY};
use crate::parse::escape::unescape;
use crate::parse::overlay;

/// The mounts that were kept of one table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Those that were kept, in the kernel's order.
    pub mounts: Vec<Mount>,
    /// How many lines could be read, kept or not.
    pub total: usize,
    /// How many lines were of another form and were left out.
    pub odd: usize,
}

/// One line, not yet copied.
#[derive(Clone, Copy, Debug)]
pub struct RawMount<'a> {
    /// Unique in the system while it exists.
    pub id: u32,
    /// The mount it is mounted on.
    pub parent: u32,
    pub dev: Dev,
    /// Peer group, when it is shared.
    pub shared: Option<u32>,
    /// The peer group it receives from.
    pub master: Option<u32>,
    root: &'a [u8],
    mount_point: &'a [u8],
    options: &'a [u8],
    fs_type: &'a [u8],
    source: &'a [u8],
    super_options: &'a [u8],
}

impl<'a> RawMount<'a> {
    /// Which directory of the file system is mounted.
    pub fn root(&self) -> Cow<'a, [u8]> {
        unescape(self.root)
    }

    /// Where it is mounted; the `//deleted` that the kernel adds is kept.
    pub fn mount_point(&self) -> Cow<'a, [u8]> {
        unescape(self.mount_point)
    }

    /// The type of the file system, as the kernel names it.
    pub fn fs_type(&self) -> &'a [u8] {
        self.fs_type
    }

    /// The options of the file system; for a cgroup v1 hierarchy they hold its controllers.
    pub fn super_options(&self) -> &'a [u8] {
        self.super_options
    }

    /// Whether this is a type for which [`Mount::needs_server`] holds.
    pub fn needs_server(&self) -> bool {
        file_system::needs_server(self.fs_type)
    }

    /// Copies it.
    pub fn to_mount(&self) -> Mount {
        let among = |options: &[u8], known: &[&str]| -> Vec<String> {
            let each = options.split(|b| *b == b',').filter_map(|one| std::str::from_utf8(one).ok());
            each.filter(|one| known.contains(one)).map(str::to_owned).collect()
        };
        // After an error ext4 stays `rw` since Linux 6.12 (`ext4_handle_error`, fs/ext4/super.c).
        let read_only_options = among(self.super_options, &["ro", "emergency_ro", "shutdown"]);
        Mount {
            id: self.id,
            parent: self.parent,
            dev: self.dev,
            root: HostPath::new(self.root()),
            mount_point: HostPath::new(self.mount_point()),
            fs_type: String::from_utf8_lossy(&unescape(self.fs_type)).into_owned(),
            source: HostPath::new(unescape(self.source)),
            shared: self.shared,
            master: self.master,
            read_only: !among(self.options, &["ro"]).is_empty(),
            super_read_only: !read_only_options.is_empty(),
            read_only_options,
            layers: match self.fs_type == OVERLAY.as_bytes() {
                true => overlay::layers(self.super_options),
                false => Layers::default(),
            },
        }
    }
}

/// Parses a table and keeps the mounts that `keep` wants. A line that is not kept costs no
/// allocation, and an odd line costs only itself.
pub fn mounts(bytes: &[u8], mut keep: impl FnMut(&RawMount<'_>) -> bool) -> Parsed {
    let mut parsed = Parsed::default();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    for line in ends.map(|end| &bytes[std::mem::replace(&mut start, end + 1)..end]).filter(|line| !line.is_empty()) {
        match raw(line) {
            Some(mount) => {
                parsed.total += 1;
                if keep(&mount) {
                    parsed.mounts.push(mount.to_mount());
                }
            }
            None => parsed.odd += 1,
        }
    }
    parsed
}

/// Like [`mounts`], but of lines that hold `mark` somewhere; the others are not even parsed, and
/// not counted.
pub fn mounts_with(bytes: &[u8], mark: &[u8], mut keep: impl FnMut(&RawMount<'_>) -> bool) -> Vec<Mount> {
    let mut kept = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, mark) {
        let start = memchr::memrchr(b'\n', &rest[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &rest[at..]).map_or(rest.len(), |newline| at + newline);
        if let Some(mount) = raw(&rest[start..end]).filter(|mount| keep(mount)) {
            kept.push(mount.to_mount());
        }
        rest = &rest[end..];
    }
    kept
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn raw(line: &[u8]) -> Option<RawMount<'_>> {
    let mut fields = Fields { rest: Some(line) };
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let dev = dev(fields.next()?)?;
    let root = fields.next()?;
    let mount_point = fields.next()?;
    let options = fields.next()?;
    let (mut shared, mut master) = (None, None);
    loop {
        let field = fields.next()?;
        if field == b"-" {
            break;
        }
        if let Some(group) = field.strip_prefix(b"shared:") {
            shared = number(group);
        } else if let Some(group) = field.strip_prefix(b"master:") {
            master = number(group);
        }
    }
    let fs_type = fields.next()?;
    // A file system may write no source at all: two spaces, or the line ends here.
    let source = fields.next().unwrap_or_default();
    let super_options = fields.next().unwrap_or_default();
    if mount_point.is_empty() || fs_type.is_empty() {
        return None;
    }
    Some(RawMount { id, parent, dev, shared, master, root, mount_point, options, fs_type, source, super_options })
}

/// What stands between spaces, like `split`; half of a line is a few long fields.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = memchr::memchr(b' ', rest);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(end.map_or(rest, |end| &rest[..end]))
    }
}

fn dev(field: &[u8]) -> Option<Dev> {
    let colon = field.iter().position(|b| *b == b':')?;
    Some(Dev { major: number(&field[..colon])?, minor: number(&field[colon + 1..])? })
}

/// By hand: four of them stand in each of thousands of lines.
fn number(field: &[u8]) -> Option<u32> {
    let digit = |number: u32, byte: &u8| {
        let value = byte.checked_sub(b'0').filter(|value| *value < 10)?;
        number.checked_mul(10)?.checked_add(value.into())
    };
    if field.is_empty() { None } else { field.iter().try_fold(0, digit) }
}

#[cfg(test)]
mod tests;
