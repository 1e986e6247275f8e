//! The service as a process of its own, which can be paused and killed.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::api::{Api, until};
use crate::client::{Client, Pair};

/// Whatever is done to it, it takes no more. Of a debug build, which is larger.
const MOST_MIB: u64 = 128;

/// A cgroup with a memory limit, and in version 1 one for what the kernel keeps of its connections, which version 2 counts
/// with all else. To be made by root. It is removed when this is dropped, after its processes have ended.
struct Group(PathBuf);

impl Group {
    const UNIFIED: &str = "/sys/fs/cgroup/cgroup.controllers";

    fn new(limit_mib: u64) -> Group {
        let is_unified = Path::new(Group::UNIFIED).exists();
        let above = if is_unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/memory" };
        let dir = Path::new(above).join(format!("why-terminating-service-{}", fastrand::u32(..)));
        std::fs::create_dir(&dir).unwrap();
        let limits = if is_unified { &["memory.max"][..] } else { &["memory.limit_in_bytes", SOCKETS_LIMIT] };
        for file in limits {
            std::fs::write(dir.join(file), (limit_mib << 20).to_string()).unwrap();
        }
        Group(dir)
    }

    /// The most that the kernel has kept of connections, where it is counted apart, in MiB.
    fn sockets_peak(&self) -> u64 {
        let text = std::fs::read_to_string(self.0.join("memory.kmem.tcp.max_usage_in_bytes"));
        text.map_or(0, |bytes| bytes.trim().parse::<u64>().unwrap() >> 20)
    }

    /// The most memory of all kinds, in MiB; files that it has read and that may go are part of it.
    fn peak(&self) -> u64 {
        let read = |file| std::fs::read_to_string(self.0.join(file));
        let bytes = read("memory.peak").or_else(|_| read("memory.max_usage_in_bytes")).unwrap();
        (bytes.trim().parse::<u64>().unwrap() >> 20) + self.sockets_peak()
    }
}

const SOCKETS_LIMIT: &str = "memory.kmem.tcp.limit_in_bytes";

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// It is killed when this is dropped, and must not have grown.
pub struct Process {
    child: Child,
    /// Dropped after the process was waited for.
    group: Option<Group>,
    client: Client,
    log: Arc<Mutex<String>>,
}

impl Deref for Process {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Process {
    /// Starts one that asks `api`, and waits until it listens.
    pub fn start(api: &Api, arguments: &[&str]) -> Process {
        Process::logging("service=debug", api, arguments)
    }

    /// The same with so much memory, after which the kernel kills it, and with so much for its connections. As root.
    pub fn limited(limit_mib: u64, api: &Api, arguments: &[&str]) -> Process {
        Process::spawn("service=debug", api, arguments, Some(Group::new(limit_mib)))
    }

    /// The same, which logs as much as this.
    pub fn logging(level: &str, api: &Api, arguments: &[&str]) -> Process {
        Process::spawn(level, api, arguments, None)
    }

    fn spawn(level: &str, api: &Api, arguments: &[&str], group: Option<Group>) -> Process {
        let pair = Pair::new();
        let dir = tempfile::tempdir_in(api.dir.path()).unwrap().keep();
        pair.put(&dir);
        let program = env!("CARGO_BIN_EXE_why-terminating-aggregator");
        let mut command = match &group {
            None => Command::new(program),
            Some(group) => {
                let mut enter = Command::new("sh");
                enter.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.0.join("cgroup.procs")).arg(program);
                enter
            }
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(api.kubeconfig())
            .arg("--tls-cert")
            .arg(dir.join("tls/tls.crt"))
            .arg("--tls-key")
            .arg(dir.join("tls/tls.key"))
            .args(if arguments.contains(&"--request-timeout") { &[][..] } else { &["--request-timeout", "5"] })
            .args(arguments)
            .env("RUST_LOG", level)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, kept) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut address = None::<SocketAddr>;
        until(Duration::from_secs(20), || {
            let log = log.lock().unwrap();
            let line = log.lines().find(|line| line.contains("listening"));
            address = line.and_then(|line| line.rsplit("address=").next()?.trim().parse().ok());
            address.is_some()
        });
        let client = Client { runtime: api.clients.clone(), address: address.unwrap(), believes: pair.certificate };
        Process { child, group, client, log }
    }

    pub fn until_ready(&self) {
        until(Duration::from_secs(60), || self.get("/readyz", "").0 == 200);
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// The most memory that its cgroup has had, in MiB, with what the kernel kept of its connections.
    pub fn group_peak(&self) -> u64 {
        self.group.as_ref().unwrap().peak()
    }

    /// The most memory it has had, in MiB.
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let last: Vec<&str> = log.lines().rev().take(12).collect();
            eprintln!("exit: {:?}, and the last it said:\n{last:#?}", self.child.try_wait());
        }
        let peak = self.is_running().then(|| self.peak());
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            assert!(peak.is_none_or(|peak| peak <= MOST_MIB), "{peak:?} MiB");
        }
    }
}

#[test]
fn the_log_has_no_colour_codes_unless_it_is_a_terminal() {
    let api = Api::start("baseline", |_| {});
    let service = Process::start(&api, &[]);
    service.until_ready();
    assert!(!service.log().contains('\x1b'), "{:?}", service.log());
}
