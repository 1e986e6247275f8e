//! The kubeconfig of a kubelet that was only found: whatever it says, nothing is run and no file is sent.
// Fuzzes: agent/src/host/api/kubelet_kubeconfig.rs agent/src/host/api/credentials.rs aggregator/client/src/config.rs
#![no_main]

use std::{fs, path::PathBuf, sync::LazyLock};

use agent::host::HostRoot;
use agent::host::api::{CHECK, Credentials};
use agent_core::observation::HostPath;
use tokio::runtime::Runtime;

/// A host of its own: a kubeconfig is trusted only where all files are root's own, and `/tmp` is world-writable.
static HOST: LazyLock<PathBuf> = LazyLock::new(|| {
    let host = PathBuf::from(format!("/dev/shm/why-terminating-fuzz-{}", std::process::id()));
    fs::create_dir_all(&host).expect("/dev/shm can be written");
    host
});
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().expect("a runtime"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fs::write(HOST.join("kubeconfig"), bytes).expect("/dev/shm can be written");
    let credentials = Credentials::OfKubelet(HostRoot::new(&*HOST), HostPath::from("/kubeconfig"));
    let Ok(config) = RUNTIME.block_on(credentials.config(CHECK)) else { return };
    let auth = config.auth_info;
    assert!(auth.exec.is_none() && auth.auth_provider.is_none() && auth.token_file.is_none());
    assert!(auth.client_key.is_none() && auth.client_certificate.is_none());
    assert!(!config.accept_invalid_certs && config.proxy_url.is_none());
});
