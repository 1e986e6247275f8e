//! Flags that kubectl has as well, beside the real kubectl.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::connecting::kubectl;
use crate::served::Server;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");

/// Where the lists of pods are that this asks for.
fn lists_of_pods(server: &Server, program: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let before = server.store().requests().unwrap().len();
    let output =
        Command::new(program).arg("--kubeconfig").arg(server.kubeconfig.path()).args(arguments).output().unwrap();
    assert!(output.status.code() != Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = server.store().requests().unwrap().split_off(before);
    asked.into_iter().map(|request| request.path).filter(|path| path.ends_with("/pods")).collect()
}

#[test]
fn all_namespaces_and_one_are_those_of_kubectl() {
    let server = Server::start("dstate-fuse");
    for flags in [&["-A"][..], &["--all-namespaces"], &["-n", "exam-dstate"], &["--namespace", "exam-dstate"]] {
        let asked = |program: &Path, first: &[&str]| lists_of_pods(&server, program, &[first, flags].concat());
        let (theirs, ours) = (asked(&kubectl(), &["get", "pods"]), asked(Path::new(PLUGIN), &["pods"]));
        // What the pods wait for may be asked elsewhere.
        assert!(theirs.len() == 1 && ours.is_superset(&theirs), "{flags:?}: {ours:?} and {theirs:?}");
    }
}

#[test]
fn a_watch_goes_on_as_kubectls_does() {
    let server = Server::start("dstate-fuse");
    let begin = |program: &Path, first: &[&str]| {
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(server.kubeconfig.path()).args(first).args(["-n", "exam-dstate", "-w"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut both = [begin(&kubectl(), &["get", "pods"]), begin(Path::new(PLUGIN), &["pods"])];
    std::thread::sleep(Duration::from_secs(3));
    let go_on = both.each_mut().map(|one| one.try_wait().unwrap().is_none());
    let said = both.each_mut().map(|one| {
        one.kill().unwrap();
        let mut said = String::new();
        one.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        one.wait().unwrap();
        !said.is_empty()
    });
    assert_eq!((go_on, said), ([true; 2], [true; 2]));
}

/// Which server was meant, who showed a certificate, and who asked.
type Told = (Option<String>, bool, BTreeSet<String>);

/// Takes one request over TLS, and refuses it.
fn listen(config: Arc<ServerConfig>) -> (SocketAddr, JoinHandle<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let told = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(20);
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(_) => assert!(Instant::now() < deadline, "nothing has connected"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let (mut heard, mut part) = (Vec::new(), [0; 4096]);
        while !heard.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut part).unwrap_or(0);
            if count == 0 {
                break;
            }
            heard.extend_from_slice(&part[..count]);
        }
        let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","code":401}"#;
        let head = format!("HTTP/1.1 401 Unauthorized\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(format!("{head}{body}").as_bytes());
        let lines = String::from_utf8_lossy(&heard).to_lowercase();
        let counts = |line: &&str| line.starts_with("authorization:") || line.starts_with("accept-encoding:");
        let name = stream.conn.server_name().map(str::to_owned);
        (name, stream.conn.peer_certificates().is_some(), lines.lines().filter(counts).map(str::to_owned).collect())
    });
    (address, told)
}

#[test]
fn certificates_names_and_compression_are_those_of_kubectl() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).display().to_string()
    };
    let made = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (server, client) = (made("cluster.example"), made("client.example"));
    let authority = write("ca.pem", &server.cert.pem());
    let (shown, key) =
        (write("client.pem", &client.cert.pem()), write("client.key", &client.signing_key.serialize_pem()));
    let mut roots = RootCertStore::empty();
    roots.add(client.cert.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        .with_single_cert(
            vec![CertificateDer::from(server.cert.der().to_vec())],
            PrivateKeyDer::try_from(server.signing_key.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let trusted = ["--certificate-authority", &authority, "--tls-server-name", "cluster.example"];
    let cases: [Vec<&str>; 4] = [
        [&trusted[..], &["--client-certificate", &shown, "--client-key", &key]].concat(),
        [&trusted[..], &["--token", "given", "--disable-compression"]].concat(),
        vec!["--insecure-skip-tls-verify", "--token", "given"],
        vec!["--insecure-skip-tls-verify", "--tls-server-name", "other.example", "--token", "given"],
    ];
    let empty = write("config", &json!({"apiVersion": "v1", "kind": "Config"}).to_string());
    for flags in cases {
        let told = |program: &Path, last: &[&str]| {
            let (address, told) = listen(Arc::clone(&config));
            let mut command = Command::new(program);
            command.env("KUBECONFIG", &empty).env_remove("HTTPS_PROXY").env_remove("https_proxy");
            command.arg("--server").arg(format!("https://{address}")).args(&flags).args(last);
            let output = command.output().unwrap();
            assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let said = String::from_utf8_lossy(&output.stderr);
            told.join().unwrap_or_else(|_| panic!("{} {flags:?}: {said}", program.display()))
        };
        let (theirs, ours) = (told(&kubectl(), &["get", "--raw", "/version"]), told(Path::new(PLUGIN), &[]));
        assert_eq!(ours, theirs, "{flags:?}");
    }
}
