//! The kubelet's own kubeconfig, cut down to who the server is and who the kubelet is.
//!
//! A kubeconfig can name programs to be run and files to be sent. The kubelet was found, its file was not configured:
//! nothing of it is run, and only its certificate and its token are used.

use std::io;

use base64::{Engine, prelude::BASE64_STANDARD};
use client::kubeconfig::{
    AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster, NamedContext,
};

use crate::{host::HostRoot, observation::HostPath, sys};

/// Longest kubeconfig or certificate.
const MAX_FILE: usize = 1 << 20;
/// What the parts of the new kubeconfig are called.
const NAME: &str = "kubelet";

/// Why the kubelet's kubeconfig is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// It, or a file that it names, is not root's alone, or cannot be read.
    #[error("the kubelet's kubeconfig: {0}")]
    File(#[from] io::Error),
    /// It is none.
    #[error("the kubelet's kubeconfig {0}: {1}")]
    Malformed(String, Box<KubeconfigError>),
    /// It has no such part.
    #[error("the kubelet's kubeconfig {0} has no {1}")]
    Incomplete(String, &'static str),
    /// It names a program or a file that gives the token.
    #[error(
        "the kubelet's kubeconfig {0} gets its identity by {1}, which is not used unasked; name the file with --kubeconfig"
    )]
    Indirect(String, &'static str),
}

/// Reads it through the kubelet's eyes; the new one names no other file.
pub(super) fn kubeconfig(host: &HostRoot, path: &HostPath) -> Result<Kubeconfig, Refusal> {
    let shown = || path.show();
    let text = read(host, path)?;
    let told = Kubeconfig::from_yaml(&text).map_err(|error| Refusal::Malformed(shown(), Box::new(error)))?;
    let context = told.current_context.and_then(|name| {
        told.contexts.into_iter().find(|context| context.name == name).and_then(|context| context.context)
    });
    let context = context.ok_or_else(|| Refusal::Incomplete(shown(), "current context"))?;
    let cluster = told.clusters.into_iter().find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|cluster| cluster.cluster);
    let cluster = cluster.ok_or_else(|| Refusal::Incomplete(shown(), "cluster for its context"))?;
    let user = told.auth_infos.into_iter().find(|user| Some(&user.name) == context.user.as_ref());
    let user = user.and_then(|user| user.auth_info).unwrap_or_default();
    if let Some(by) = indirect(&user) {
        return Err(Refusal::Indirect(shown(), by));
    }
    let encoded = |data: Option<String>, file: Option<String>| match (data, file) {
        (Some(data), _) => Ok(Some(data)),
        (None, Some(file)) => {
            let dir = path.as_path().parent().unwrap_or(path.as_path());
            let text = read(host, &HostPath::from(dir.join(file)))?;
            Ok::<_, io::Error>(Some(BASE64_STANDARD.encode(text)))
        }
        (None, None) => Ok(None),
    };
    let cluster = Cluster {
        server: cluster.server,
        tls_server_name: cluster.tls_server_name,
        certificate_authority_data: encoded(cluster.certificate_authority_data, cluster.certificate_authority)?,
        ..Cluster::default()
    };
    let key = match user.client_key_data {
        None => encoded(None, user.client_key)?.map(Into::into),
        data => data,
    };
    let user = AuthInfo {
        token: user.token,
        client_certificate_data: encoded(user.client_certificate_data, user.client_certificate)?,
        client_key_data: key,
        ..AuthInfo::default()
    };
    Ok(named(cluster, user))
}

/// What a token would come from other than the file itself.
fn indirect(user: &AuthInfo) -> Option<&'static str> {
    match user {
        AuthInfo { exec: Some(_), .. } => Some("exec, a program"),
        AuthInfo { auth_provider: Some(_), .. } => Some("auth-provider, which may be a program"),
        AuthInfo { token_file: Some(_), .. } => Some("tokenFile, another file that would be sent to the server"),
        _ => None,
    }
}

fn named(cluster: Cluster, user: AuthInfo) -> Kubeconfig {
    let context = Context { cluster: NAME.to_owned(), user: Some(NAME.to_owned()), ..Context::default() };
    Kubeconfig {
        clusters: vec![NamedCluster { name: NAME.to_owned(), cluster: Some(cluster), ..NamedCluster::default() }],
        auth_infos: vec![NamedAuthInfo { name: NAME.to_owned(), auth_info: Some(user), ..NamedAuthInfo::default() }],
        contexts: vec![NamedContext { name: NAME.to_owned(), context: Some(context), ..NamedContext::default() }],
        current_context: Some(NAME.to_owned()),
        ..Kubeconfig::default()
    }
}

fn read(host: &HostRoot, path: &HostPath) -> io::Result<String> {
    sys::read_text_of_root(&host.at(&host.without_links(path.clone())), MAX_FILE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::host::api::{Conversation, Credentials};

    /// A host of its own, whose kubelet has this kubeconfig.
    struct Host {
        dir: tempfile::TempDir,
    }

    impl Host {
        fn new(cluster: Value, user: Value) -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("etc/pki")).unwrap();
            let config = json!({
                "current-context": "c", "clusters": [{"name": "n", "cluster": cluster}],
                "users": [{"name": "other", "user": {"exec": {"command": "/bin/false"}}}, {"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "n", "user": "u"}}]
            });
            let host = Host { dir };
            host.write("etc/kubelet.conf", &config.to_string());
            host
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.dir.path().join(path), text).unwrap();
        }

        fn host(&self) -> HostRoot {
            HostRoot::new(self.dir.path())
        }

        fn kubeconfig(&self) -> Result<Kubeconfig, Refusal> {
            kubeconfig(&self.host(), &HostPath::from("/etc/kubelet.conf"))
        }

        fn parts(&self) -> (Value, Value) {
            let config = serde_json::to_value(self.kubeconfig().unwrap()).unwrap();
            (config["clusters"][0]["cluster"].clone(), config["users"][0]["user"].clone())
        }
    }

    #[test]
    fn files_are_those_of_the_host_and_nothing_else_is_taken_over() {
        let cluster = json!({
            "server": "https://10.0.0.1:6443", "tls-server-name": "api", "certificate-authority": "/etc/pki/ca.crt",
            "proxy-url": "http://10.6.6.6", "insecure-skip-tls-verify": true
        });
        let user = json!({"client-certificate": "pki/current.pem", "client-key-data": "a2V5", "as": "system:admin"});
        let host = Host::new(cluster, user);
        host.write("etc/pki/ca.crt", "ca");
        host.write("etc/pki/2026.pem", "cert");
        // Absolute, as the kubelet makes it.
        std::os::unix::fs::symlink("/etc/pki/2026.pem", host.dir.path().join("etc/pki/current.pem")).unwrap();
        let encoded = |text: &str| BASE64_STANDARD.encode(text);
        let (cluster, user) = host.parts();
        assert_eq!(
            cluster,
            json!({
                "server": "https://10.0.0.1:6443", "tls-server-name": "api", "certificate-authority-data": encoded("ca")
            })
        );
        assert_eq!(user, json!({"client-certificate-data": encoded("cert"), "client-key-data": "a2V5"}));
    }

    #[test]
    fn a_file_that_is_not_roots_alone_is_not_read() {
        use std::os::unix::fs::{PermissionsExt, chown};

        let host = Host::new(json!({"server": "https://10.0.0.1"}), json!({"client-key": "/etc/pki/key"}));
        let key = host.dir.path().join("etc/pki/key");
        let refused = || host.kubeconfig().unwrap_err().to_string();
        assert!(refused().contains("No such file"));
        host.write("etc/pki/key", "key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o620)).unwrap();
        assert!(refused().contains("may be written by others"), "{}", refused());
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(host.kubeconfig().is_ok());
        chown(host.dir.path().join("etc/kubelet.conf"), Some(65534), None).unwrap();
        assert!(refused().contains("does not belong to root"), "{}", refused());
    }

    /// Each of these ran a program of the file's choice, or sent a file of its choice.
    #[tokio::test]
    async fn nothing_is_run_and_no_file_is_sent() {
        let marker = tempfile::tempdir().unwrap();
        let marker = marker.path().join("was-run");
        let script = format!("-c touch${{IFS}}{}", marker.display());
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "secret").unwrap();
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", server.local_addr().unwrap());
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh",
            "args": ["-c", format!("touch {}", marker.display())]});
        for (by, how) in [
            ("exec", exec),
            ("auth-provider", json!({"name": "gcp", "config": {"cmd-path": "/bin/sh", "cmd-args": script}})),
            ("tokenFile", json!(secret.path())),
        ] {
            let host = Host::new(json!({"server": address}), json!({by: how}));
            let credentials = Credentials::OfKubelet(host.host(), HostPath::from("/etc/kubelet.conf"));
            let seen = Conversation::open(credentials).unwrap().facts("node-a", None).await;
            let why = seen.fault().map(|fault| fault.says.clone()).unwrap();
            assert!(why.contains(&format!("by {by}, ")) && why.contains("not used unasked"), "{why}");
        }
        assert!(!marker.exists(), "a program was run");
        let asked = tokio::time::timeout(std::time::Duration::from_millis(50), server.accept()).await;
        assert!(asked.is_err(), "the server was asked");
    }

    /// What a person names is the person's own business.
    #[tokio::test]
    async fn the_users_own_file_may_name_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let marker = dir.path().join("was-run");
        let host = Host::new(
            json!({"server": "http://127.0.0.1:1"}),
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
                "command": "/bin/sh", "args": ["-c", format!("touch {}", marker.display())]}}),
        );
        let credentials = Credentials::Kubeconfig(host.dir.path().join("etc/kubelet.conf"));
        let seen = Conversation::open(credentials).unwrap().facts("node-a", None).await;
        assert!(seen.fault().is_some() && marker.exists());
    }
}
