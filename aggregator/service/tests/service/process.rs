//! The service as a process of its own, which can be paused and killed.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::api::{Api, until};
use crate::client::{Client, Pair};

/// Whatever is done to it, it takes no more. Of a debug build, which is larger.
const MOST_MIB: u64 = 128;

/// It is killed when this is dropped, and must not have grown.
pub struct Process {
    child: Child,
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

    /// The same, which logs as much as this.
    pub fn logging(level: &str, api: &Api, arguments: &[&str]) -> Process {
        let pair = Pair::new();
        let dir = tempfile::tempdir_in(api.dir.path()).unwrap().keep();
        pair.put(&dir);
        let mut child = Command::new(env!("CARGO_BIN_EXE_why-terminating-aggregator"))
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
        Process { child, client, log }
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
