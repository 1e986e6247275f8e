//! A FUSE server that takes some requests and never answers them.
//!
//! Once a server has read a request, the process that waits for the answer cannot be killed. This
//! is how a network file system's client looks when its backend is gone. The protocol is that of
//! `linux/fuse.h`, version 7.31; only what a reader of three files needs is served.

mod protocol;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

use protocol::{Inode, Operation, Request, attributes, entry, init, opened, range, room};

/// Larger than the largest request.
const BUFFER: usize = 1 << 20;

/// Serves the files `ok`, which can be read, `hang`, whose readers wait forever, and `flush`, whose close hangs. A lookup of
/// `lost` hangs too, and so does the end of a file system on a block device.
#[derive(Debug, clap::Args)]
pub struct HangFs {
    /// Where to mount.
    target: PathBuf,
    /// What the mount table shall call the server, for example `s3fs`.
    #[arg(long)]
    source: String,
    /// The block device that the files seem to be on.
    #[arg(long)]
    device: Option<PathBuf>,
    /// The image of a disk that is served as `disk`, until a file of its name that ends in `.silent` is beside it.
    #[arg(long)]
    disk: Option<PathBuf>,
    /// How long each request takes; the next one waits.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    delay: u64,
}

impl HangFs {
    /// Serves until the mount or the connection is gone.
    pub fn run(self) -> anyhow::Result<()> {
        let mut device =
            File::options().read(true).write(true).open("/dev/fuse").context("open /dev/fuse: is FUSE available?")?;
        let mut options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let (source, kind) = match &self.device {
            Some(device) => {
                options.push_str(",blksize=512");
                (device.clone(), format!("fuseblk.{}", self.source))
            }
            None => (PathBuf::from(&self.source), format!("fuse.{}", self.source)),
        };
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some(&source), &self.target, Some(kind.as_str()), flags, Some(options.as_str()))
            .with_context(|| format!("mount at {}", self.target.display()))?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = match device.read(&mut buffer) {
                Ok(length) => length,
                Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::EINTR | Errno::ENOENT) => continue,
                    Some(Errno::ENODEV | Errno::ECONNABORTED) => return Ok(()),
                    _ => return Err(error).context("read a request"),
                },
            };
            let request = buffer.get(..length).and_then(Request::parse).context("a request is too short")?;
            if request.operation != Operation::Init {
                thread::sleep(Duration::from_millis(self.delay));
            }
            match self.answer(&request)? {
                Answer::Data(data) => reply(&mut device, request.unique, 0, &data)?,
                Answer::Error(errno) => reply(&mut device, request.unique, -(errno as i32), &[])?,
                Answer::Nothing => {}
                Answer::Never => {
                    thread::spawn(wait_for_backend);
                }
            }
        }
    }

    fn answer(&self, request: &Request<'_>) -> anyhow::Result<Answer> {
        let size = |inode: Inode| match &self.disk {
            Some(disk) if inode == Inode::DISK => fs::metadata(disk).map(|disk| disk.len()),
            _ => Ok(4096),
        };
        let inode = Inode(request.node);
        Ok(match request.operation {
            Operation::Init => Answer::Data(init(request)),
            Operation::Lookup if request.argument.starts_with(b"lost\0") => Answer::Never,
            Operation::Lookup => match Inode::named(request.argument) {
                Some(inode) => Answer::Data(entry(inode, size(inode)?)),
                None => Answer::Error(Errno::ENOENT),
            },
            Operation::GetAttributes => Answer::Data(attributes(inode, size(inode)?)),
            Operation::Open => Answer::Data(opened(inode)),
            Operation::Read if inode == Inode::HANG => Answer::Never,
            Operation::Read if inode == Inode::DISK => self.read_disk(request)?,
            Operation::Read => Answer::Data(b"something\n".to_vec()),
            Operation::Room => Answer::Data(room()),
            Operation::Flush if inode == Inode::FLUSH => Answer::Never,
            Operation::ReadDirectory | Operation::Flush | Operation::Close => Answer::Data(Vec::new()),
            Operation::Destroy => Answer::Never,
            Operation::Silent => Answer::Nothing,
            Operation::Other => Answer::Error(Errno::ENOSYS),
        })
    }

    fn read_disk(&self, request: &Request<'_>) -> anyhow::Result<Answer> {
        let Some((disk, (offset, length))) = self.disk.as_ref().zip(range(request)) else {
            return Ok(Answer::Error(Errno::EIO));
        };
        if disk.with_extension("silent").exists() {
            return Ok(Answer::Never);
        }
        let mut data = vec![0; length.min(BUFFER)];
        let read = File::open(disk)?.read_at(&mut data, offset).context("read the image")?;
        data.truncate(read);
        Ok(Answer::Data(data))
    }
}

/// What the server does with a request.
enum Answer {
    Data(Vec<u8>),
    Error(Errno),
    /// The protocol wants no reply.
    Nothing,
    /// The protocol wants one, but it does not come.
    Never,
}

fn reply(device: &mut File, unique: u64, error: i32, data: &[u8]) -> anyhow::Result<()> {
    let message = protocol::reply(unique, error, data);
    match device.write(&message) {
        Ok(_) => Ok(()),
        // The one who asked was interrupted meanwhile.
        Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(()),
        Err(error) => Err(error).context("answer a request"),
    }
}

/// Sleeps in a socket, as the thread of a real server whose backend does not answer.
fn wait_for_backend() -> anyhow::Result<()> {
    let (mut here, _backend) = UnixStream::pair()?;
    here.read_exact(&mut [0])?;
    Ok(())
}
