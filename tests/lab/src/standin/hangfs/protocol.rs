//! Bytes of the FUSE protocol.

/// Bytes of a request's header.
const HEADER: usize = 40;
/// Bytes of a reply's header.
const REPLY_HEADER: usize = 16;

/// What the kernel asks for, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The first request of a connection.
    Init,
    /// A name in a directory.
    Lookup,
    /// `stat`.
    GetAttributes,
    /// A file or directory is opened.
    Open,
    /// A file is read.
    Read,
    /// How much room there is.
    Room,
    /// A directory is read.
    ReadDirectory,
    /// A descriptor of a file is closed; the closing process waits.
    Flush,
    /// Closing, and writing back.
    Close,
    /// The last one, of what is on a block device; who unmounts it waits.
    Destroy,
    /// What must not be answered.
    Silent,
    /// Everything else.
    Other,
}

impl Operation {
    fn from_code(code: u32) -> Self {
        match code {
            26 => Self::Init,
            1 => Self::Lookup,
            3 | 4 => Self::GetAttributes,
            14 | 27 => Self::Open,
            15 => Self::Read,
            17 => Self::Room,
            28 => Self::ReadDirectory,
            25 => Self::Flush,
            18 | 20 | 29 => Self::Close,
            38 => Self::Destroy,
            // FORGET, INTERRUPT, BATCH_FORGET.
            2 | 36 | 42 => Self::Silent,
            _ => Self::Other,
        }
    }
}

/// One request.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is asked.
    pub operation: Operation,
    /// Which request: the reply repeats it.
    pub unique: u64,
    /// The inode it is about.
    pub node: u64,
    /// What follows the header.
    pub argument: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads a header: length, code, unique, node, uid, gid, pid, padding.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self {
            operation: Operation::from_code(u32_at(bytes, 4)?),
            unique: u64_at(bytes, 8)?,
            node: u64_at(bytes, 16)?,
            argument: bytes.get(HEADER..)?,
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode(pub u64);

impl Inode {
    const ROOT: Self = Self(1);
    const OK: Self = Self(2);
    /// The file whose readers wait.
    pub const HANG: Self = Self(3);
    /// The file that can be read; who closes it waits.
    pub const FLUSH: Self = Self(4);
    /// The image of a disk.
    pub const DISK: Self = Self(5);

    /// The file that a lookup asks for; its argument is a string that ends with a zero byte.
    pub fn named(argument: &[u8]) -> Option<Self> {
        match argument.strip_suffix(b"\0")? {
            b"ok" => Some(Self::OK),
            b"hang" => Some(Self::HANG),
            b"flush" => Some(Self::FLUSH),
            b"disk" => Some(Self::DISK),
            _ => None,
        }
    }
}

/// Puts a reply together.
pub fn reply(unique: u64, error: i32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(REPLY_HEADER + data.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(REPLY_HEADER + data.len());
    message.extend(length.to_ne_bytes());
    message.extend(error.to_ne_bytes());
    message.extend(unique.to_ne_bytes());
    message.extend(data);
    message
}

/// `fuse_init_out`: version 7.31, no extensions.
pub fn init(request: &Request<'_>) -> Vec<u8> {
    let readahead = u32_at(request.argument, 8).unwrap_or(0);
    let mut data = Words::default();
    data.u32(7).u32(31).u32(readahead).u32(0);
    // max_background and congestion_threshold share a word; then the largest write.
    data.u32(12 << 16 | 16).u32(65536).u32(1);
    data.pad_to(64)
}

/// Where and how much is read (`fuse_read_in`).
pub fn range(request: &Request<'_>) -> Option<(u64, usize)> {
    Some((u64_at(request.argument, 8)?, u32_at(request.argument, 16)?.try_into().ok()?))
}

/// `fuse_entry_out`.
pub fn entry(inode: Inode, size: u64) -> Vec<u8> {
    let mut data = Words::default();
    // Names are valid for long, so that walking to them later sends no request.
    data.u64(inode.0).u64(0).u64(1000).u64(1000).u32(0).u32(0);
    data.bytes(&attribute_bytes(inode, size));
    data.pad_to(128)
}

/// `fuse_attr_out`.
pub fn attributes(inode: Inode, size: u64) -> Vec<u8> {
    let mut data = Words::default();
    data.u64(1000).u32(0).u32(0);
    data.bytes(&attribute_bytes(inode, size));
    data.pad_to(104)
}

/// `fuse_open_out`: nothing of the image is cached (`FOPEN_DIRECT_IO`).
pub fn opened(inode: Inode) -> Vec<u8> {
    let mut data = Words::default();
    data.u64(0).u32(u32::from(inode == Inode::DISK));
    data.pad_to(16)
}

/// `fuse_statfs_out`.
pub fn room() -> Vec<u8> {
    let mut data = Words::default();
    // Blocks, those free, those free for all, files, those free; the size of a block, the longest name, the unit.
    data.u64(1000).u64(0).u64(0).u64(10).u64(0).u32(4096).u32(255).u32(4096);
    data.pad_to(80)
}

/// `fuse_attr`.
fn attribute_bytes(inode: Inode, size: u64) -> Vec<u8> {
    let (mode, links, size) = if inode == Inode::ROOT { (0o040_755, 2, 0) } else { (0o100_644, 1, size) };
    let mut data = Words::default();
    data.u64(inode.0).u64(size).u64(size.div_ceil(512));
    // Three times, and their nanoseconds.
    data.u64(0).u64(0).u64(0).u32(0).u32(0).u32(0);
    // Mode, links, uid, gid, device, block size.
    data.u32(mode).u32(links).u32(0).u32(0).u32(0).u32(4096);
    data.pad_to(88)
}

/// Collects numbers in the machine's byte order.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_ne_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_ne_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    fn pad_to(mut self, length: usize) -> Vec<u8> {
        self.0.resize(length, 0);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_lookup() {
        let mut bytes = vec![0; HEADER];
        bytes[4..8].copy_from_slice(&1_u32.to_ne_bytes());
        bytes[8..16].copy_from_slice(&77_u64.to_ne_bytes());
        bytes[16..24].copy_from_slice(&1_u64.to_ne_bytes());
        bytes.extend(b"hang\0");
        let request = Request::parse(&bytes).unwrap();
        assert_eq!((request.operation, request.unique, request.node), (Operation::Lookup, 77, 1));
        assert_eq!(Inode::named(request.argument), Some(Inode::HANG));
        assert!(Request::parse(&bytes[..20]).is_none());
    }

    #[test]
    fn replies_have_the_sizes_of_the_kernel() {
        assert_eq!(attribute_bytes(Inode::OK, 4096).len(), 88);
        assert_eq!(entry(Inode::OK, 4096).len(), 128);
        assert_eq!(attributes(Inode::OK, 4096).len(), 104);
        assert_eq!(reply(1, 0, &[0; 4]).len(), 20);
    }
}
