//! Whatever stands in the kubeconfig of a kubelet that was only found: no panic, nothing is run, and no file
//! but a certificate and its key is read. Root's own files only are read, so this runs as root.

use std::fs;

use agent::host::HostRoot;
use agent::host::api::{CHECK, Credentials};
use agent_core::observation::HostPath;
use proptest::{collection::vec, prelude::*, sample::Index, sample::select};

const GOOD: [&str; 3] =
    [include_str!("kubeconfigs/certificate"), include_str!("kubeconfigs/token"), include_str!("kubeconfigs/exec")];

/// What means something in a kubeconfig or in YAML, or is no text.
const PIECES: [&str; 22] = [
    "exec: {command: /bin/sh, interactiveMode: Never}",
    "auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}",
    "tokenFile: /etc/shadow",
    "token: \"a\\nb\"",
    "client-key: ../../etc/shadow",
    "certificate-authority: /dev/zero",
    "insecure-skip-tls-verify: true",
    "proxy-url: http://127.0.0.1:1",
    "server: file:///etc/shadow",
    "current-context: y",
    "&a [*a, *a]",
    "<<: *a",
    "!!binary",
    "\u{202e}",
    "\0",
    "\n",
    "  ",
    ": ",
    ",",
    "{",
    "]",
    "\"",
];

/// One of the good ones, some pieces put in and some bytes taken out.
fn kubeconfigs() -> impl Strategy<Value = Vec<u8>> {
    let put = vec((any::<Index>(), select(PIECES.to_vec())), 0..4);
    let taken = vec((any::<Index>(), 1..20_usize), 0..3);
    (select(GOOD.to_vec()), put, taken).prop_map(|(good, put, taken)| {
        let mut bytes = good.as_bytes().to_vec();
        for (at, piece) in put {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, piece.bytes());
        }
        for (at, length) in taken {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + length).min(bytes.len() - 1).max(at));
        }
        bytes
    })
}

#[test]
fn no_kubeconfig_runs_anything_or_sends_a_file() {
    // `/tmp` may be a file system on which nothing is believed.
    let host = tempfile::tempdir_in("/dev/shm").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = |bytes: &[u8]| {
        fs::write(host.path().join("kubeconfig"), bytes).unwrap();
        let credentials = Credentials::OfKubelet(HostRoot::new(host.path()), HostPath::from("/kubeconfig"));
        runtime.block_on(credentials.config(CHECK))
    };
    assert!(read(GOOD[1].as_bytes()).is_ok(), "{:?}", read(GOOD[1].as_bytes()).err());
    assert!(read(GOOD[2].as_bytes()).is_err());
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(bytes in kubeconfigs())| {
        if let Ok(config) = read(&bytes) {
            let auth = config.auth_info;
            prop_assert!(auth.exec.is_none() && auth.auth_provider.is_none() && auth.token_file.is_none(), "{auth:?}");
            prop_assert!(auth.client_key.is_none() && auth.client_certificate.is_none(), "{auth:?}");
            prop_assert!(!config.accept_invalid_certs && config.proxy_url.is_none());
        }
    });
}
