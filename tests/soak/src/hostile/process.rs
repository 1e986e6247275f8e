//! What runs in the hostile container: an ordinary one, without a right that a pod has not by default. In a user
//! namespace it may mount.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Appears in its volume when all is staged.
pub const READY: &str = "ready";
const LOG: &str = "hostile.log";
const HOLD_THREADS: &str = "hostile-threads";
/// So many are tried for.
pub const THREADS: usize = 100_000;
/// Each takes four mappings (a stack, another for signals, and their guards), and a process has 65,530 by default.
const OF_ONE_PROCESS: usize = 10_000;
/// Kept free of threads, for what is forked later.
const FORKS: usize = 32;
const DESCRIPTORS: u64 = 100_000;
/// No program may have a thread of this name.
const COMM: &str = "\u{1b}[2J\nroot";
/// As a source of a mount.
const SOURCE: &str = "\u{1b}[2J\n\u{202e}/dev/sda1 / ext4";

/// If this process is the one in the hostile container, runs until it is killed.
pub fn take_over() -> Option<anyhow::Result<()>> {
    let mut args = std::env::args().skip(1);
    match args.next()?.as_str() {
        "hostile" => Some(args.next().context("it is given a directory").and_then(|base| run(Path::new(&base)))),
        HOLD_THREADS => Some(args.next().context("how many is reported").and_then(|most| hold_threads(&most))),
        _ => None,
    }
}

/// What it says of itself.
pub fn log(volume: &Path) -> String {
    fs::read_to_string(volume.join(LOG)).unwrap_or_default().trim().to_owned()
}

fn run(base: &Path) -> anyhow::Result<()> {
    let log = base.join(LOG);
    let staged = stage(base);
    let text = staged.as_ref().map_or_else(|error| format!("it failed: {error:#}"), Clone::clone);
    fs::write(&log, text)?;
    staged?;
    fs::write(base.join(READY), "")?;
    let flap = base.join("flap");
    fs::create_dir_all(&flap)?;
    thread::spawn(move || flap_mount(&flap));
    loop {
        // Its children are there and gone: a pid that was read a moment ago is another process.
        let mut children = Vec::new();
        for _ in 0..8 {
            let child = Command::new("/bin/sh").args(["-c", ":"]).stdin(Stdio::null()).spawn();
            children.extend(child.ok());
        }
        for mut child in children {
            let _ = child.wait();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn stage(base: &Path) -> anyhow::Result<String> {
    enter_namespaces()?;
    let mounts = many_mounts(&base.join("mounts"))?;
    let descriptors = many_descriptors(base)?;
    let threads = many_threads()?;
    Ok(format!("{mounts} mounts\n{descriptors} descriptors\n{threads} threads"))
}

fn enter_namespaces() -> anyhow::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).context("enter a user namespace")?;
    fs::write("/proc/self/setgroups", "deny").context("give up setgroups")?;
    fs::write("/proc/self/uid_map", "0 0 1").context("be root in it")?;
    fs::write("/proc/self/gid_map", "0 0 1").context("be root in it")
}

/// Mounts until the kernel lets no more be mounted: each recursive bind doubles them, and then what the last ones
/// have copied fills the rest.
fn many_mounts(dir: &Path) -> anyhow::Result<usize> {
    tmpfs(dir)?;
    let mut copies = Vec::new();
    while bind(dir, &dir.join(copies.len().to_string()))? {
        copies.push(dir.join(copies.len().to_string()));
    }
    for (number, copy) in copies.iter().enumerate().rev() {
        bind(copy, &dir.join(format!("more-{number}")))?;
    }
    Ok(fs::read_to_string("/proc/self/mountinfo")?.lines().count())
}

/// With all that is mounted below; `false` when the kernel's limit for a namespace is met.
fn bind(source: &Path, target: &Path) -> anyhow::Result<bool> {
    fs::create_dir_all(target)?;
    match mount(Some(source), target, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>) {
        Ok(()) => Ok(true),
        Err(Errno::ENOSPC) => Ok(false),
        Err(error) => Err(error).context("bind a mount"),
    }
}

fn tmpfs(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir)?;
    mount(Some(SOURCE), dir, Some("tmpfs"), MsFlags::empty(), Some("size=64m")).context("mount a tmpfs")
}

fn many_descriptors(base: &Path) -> anyhow::Result<usize> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let path = base.join(SOURCE.replace('/', "|"));
    let open = || File::create(&path);
    // Some are left for its children's pipes.
    let files: Vec<File> = (0..DESCRIPTORS.min(hard.saturating_sub(64))).map_while(|_| open().ok()).collect();
    let count = files.len();
    // They are closed when the process is killed.
    std::mem::forget(files);
    Ok(count)
}

/// Starts threads until it is refused one.
fn many_threads() -> anyhow::Result<usize> {
    let room: Vec<Child> = (0..FORKS).map_while(|_| Command::new("/bin/sleep").arg("1000").spawn().ok()).collect();
    let mut all = 0;
    while all < THREADS {
        let most = OF_ONE_PROCESS.min(THREADS - all);
        let started =
            match Command::new("/proc/self/exe").args([HOLD_THREADS, &most.to_string()]).stdout(Stdio::piped()).spawn()
            {
                Ok(child) => started(child)?,
                Err(_) => 0,
            };
        all += started;
        if started < most {
            break;
        }
    }
    for mut child in room {
        child.kill()?;
        child.wait()?;
    }
    Ok(all)
}

/// How many threads a process says that it has started, which it then keeps.
fn started(child: Child) -> anyhow::Result<usize> {
    let mut line = String::new();
    BufReader::new(child.stdout.context("its output is a pipe")?).read_line(&mut line)?;
    line.trim().parse().with_context(|| format!("no number of threads: {line:?}"))
}

fn hold_threads(most: &str) -> anyhow::Result<()> {
    let rest = || {
        loop {
            thread::park();
        }
    };
    let start = |_| thread::Builder::new().name(COMM.to_owned()).stack_size(64 << 10).spawn(rest).ok();
    println!("{}", (0..most.parse::<usize>()?).map_while(start).count());
    rest()
}

/// What is mounted here a moment ago is not, and then it is again.
fn flap_mount(dir: &Path) {
    loop {
        let _ = tmpfs(dir);
        thread::sleep(Duration::from_millis(3));
        let _ = umount2(dir, MntFlags::MNT_DETACH);
        thread::sleep(Duration::from_millis(3));
    }
}
