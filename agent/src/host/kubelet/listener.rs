//! Where the kubelet serves its metrics, and with which certificate: only that server may see the token.
//!
//! Another process may take its port while it is down. So the port must be one that the kubelet itself listens on, and the
//! server there must have the key to the certificate in the kubelet's own directory.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};
use findings::ProcessId;
use serde::{Deserialize, Serialize};

use super::{KubeletProcess, Settings};
use crate::host::{HostRoot, descriptors, socket_list};
use crate::observation::{Fault, FaultKind, HostPath};
use crate::sys::{self, ProcDir};

const DEFAULT_PORT: u16 = 10250;
/// A certificate with its chain and its key.
const MAX_FILE_BYTES: usize = 256 << 10;
const DEFAULT_CERT_DIR: &str = "/var/lib/kubelet/pki";
/// What the kubelet calls its certificate: one that the cluster has signed, else its own.
const FILES: [&str; 2] = ["kubelet-server-current.pem", "kubelet.crt"];
/// `TCP_LISTEN` in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Where the kubelet serves its metrics, and how it is known there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeletListener {
    pub kubelet: (u32, u64),
    /// The port that it listens on.
    pub port: u16,
    /// Its serving certificates (DER, in base64): a server with none of these gets no token.
    pub certificates: Vec<String>,
}

/// Finds out.
pub fn listener(found: &KubeletProcess, settings: &Settings, host: &HostRoot) -> Result<KubeletListener, Fault> {
    let port = settings.flags.port.or(settings.config.port).unwrap_or(DEFAULT_PORT);
    let not_asked = |says: String| Fault::new("/metrics of the kubelet", (FaultKind::NotAsked, says));
    let kubelet = ProcessId { pid: found.pid, start_ticks: found.start_ticks };
    if !listens(kubelet.pid, port) {
        return Err(not_asked(format!("pid {} does not listen on its port {port}", kubelet.pid)));
    }
    let certificates: Vec<String> =
        files(settings).iter().filter_map(|path| first_certificate(&read(host, path)?)).collect();
    if certificates.is_empty() {
        return Err(not_asked(
            "its serving certificate was not found, so no process can be identified as it".to_owned(),
        ));
    }
    Ok(KubeletListener { kubelet: (kubelet.pid, kubelet.start_ticks), port, certificates })
}

/// Where its certificate lies.
fn files(settings: &Settings) -> Vec<HostPath> {
    let set = settings.flags.tls_cert_file.as_deref().or(settings.config.tls_cert_file.as_deref());
    match set.filter(|path| !path.is_empty()) {
        Some(path) => vec![HostPath::from(path)],
        None => {
            let dir = HostPath::from(settings.flags.cert_dir.as_deref().unwrap_or(DEFAULT_CERT_DIR));
            FILES.iter().map(|name| dir.join(name)).collect()
        }
    }
}

fn read(host: &HostRoot, path: &HostPath) -> Option<String> {
    sys::read_text_of_root(&host.at(&host.without_links(path.clone())), MAX_FILE_BYTES).ok()
}

/// The first certificate of a PEM file is the one that is shown; the key beside it is not touched.
fn first_certificate(pem: &str) -> Option<String> {
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
    let body: String = body.split_whitespace().collect();
    BASE64_STANDARD.decode(&body).ok().map(|_| body)
}

/// The kubelet has some thousands of descriptors at most.
const DESCRIPTORS_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether a process listens on this port.
fn listens(pid: u32, port: u16) -> bool {
    let mut sockets = BTreeSet::new();
    if let Ok(dir) = ProcDir::open(pid) {
        descriptors::walk(&dir, Instant::now() + DESCRIPTORS_TIMEOUT, |_, link| {
            sockets.extend(socket_list::inode(link));
        });
    }
    // The kubelet listens on all addresses, which is one socket of version 6.
    ["tcp6", "tcp"].iter().any(|table| {
        let path = format!("/proc/{pid}/net/{table}");
        let mut listens = false;
        // A table that cannot be read has no ports.
        let _ = sys::read_lines_of(Path::new(&path), |lines| {
            for line in String::from_utf8_lossy(lines).lines().skip_while(|line| line.contains("local_address")) {
                // Those that listen come first. Behind them the kernel walks through as many buckets as there may be
                // connections, which costs milliseconds for each table.
                let Some((its, inode)) = listening(line) else { return ControlFlow::Break(()) };
                if its == port && sockets.contains(&inode) {
                    listens = true;
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        listens
    })
}

/// Port and inode: `0: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 17266 …`
fn listening(line: &str) -> Option<(u16, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    let is_listening = fields.nth(1)? == LISTEN;
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    let inode = fields.nth(5)?.parse().ok()?;
    is_listening.then_some((port, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_recorded_lines() {
        let line = "   2: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A \
                    00000000:00000000 00:00000000 00000000     0        0 17266 1 0000000000000000 100 0 0 10 0";
        assert_eq!(listening(line), Some((10250, 17266)));
        assert_eq!(listening(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listening("odd"), None);
    }

    #[test]
    fn a_port_belongs_to_whoever_has_its_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(std::process::id(), port));
        // It is in the same network and has no such socket.
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let others = listens(other.id(), port);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(!others);
    }

    #[test]
    fn the_certificate_is_the_kubelets_own_and_its_key_stays() {
        let dir = tempfile::tempdir().unwrap();
        let pki = dir.path().join("var/lib/kubelet/pki");
        std::fs::create_dir_all(&pki).unwrap();
        let pem = "-----BEGIN CERTIFICATE-----\nAAEC\nAwQF\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n\
                   ////\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\nBBBB\n-----END EC PRIVATE KEY-----\n";
        std::fs::write(pki.join("kubelet-server-2026.pem"), pem).unwrap();
        std::os::unix::fs::symlink("/var/lib/kubelet/pki/kubelet-server-2026.pem", pki.join(FILES[0])).unwrap();
        let host = HostRoot::new(dir.path());
        let of = |settings: &Settings| -> Vec<String> {
            files(settings).iter().filter_map(|path| first_certificate(&read(&host, path)?)).collect()
        };
        let mut settings = Settings::default();
        assert_eq!(of(&settings), ["AAECAwQF"]);
        settings.config.tls_cert_file = Some("/etc/other.crt".into());
        assert!(of(&settings).is_empty(), "another file is named, and is not there");
        let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(pki.join("kubelet-server-2026.pem"), writable).unwrap();
        assert!(of(&Settings::default()).is_empty(), "anybody could have written it");
    }

    #[test]
    fn a_process_that_does_not_listen_is_not_asked() {
        let me = KubeletProcess {
            pid: std::process::id(),
            start_ticks: 1,
            comm: "kubelet".into(),
            unit: None,
            state: 'S',
            age_ms: 0,
        };
        let mut settings = Settings::default();
        settings.flags.port = Some(1);
        let fault = listener(&me, &settings, &HostRoot::new("/nowhere")).unwrap_err();
        assert!(fault.kind == FaultKind::NotAsked && fault.says.contains("does not listen"), "{fault}");
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        settings.flags.port = Some(socket.local_addr().unwrap().port());
        let fault = listener(&me, &settings, &HostRoot::new("/nowhere")).unwrap_err();
        assert!(fault.says.contains("certificate"), "{fault}");
    }
}
