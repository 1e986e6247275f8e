//! Finding the cluster and speaking to it as kubectl does.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use apiserver::{FakeApiServer, Fault, Faults, Rule, Store};
use jiff::{SignedDuration, Timestamp};

use crate::support::*;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");

fn write(dir: &Path, name: &str, config: &Value) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

fn kubeconfig(server: &str, user: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}, {"name": "other", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}, {"name": "v", "user": {"token": "of-v"}}],
        "contexts": [
            {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
            {"name": "d", "context": {"cluster": "other", "user": "v"}}
        ]
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A healthy cluster on a socket, in which one pod of namespace `shop` should be gone for two hours.
pub struct Cluster {
    pub fake: FakeApiServer,
    dir: tempfile::TempDir,
}

impl Cluster {
    pub fn start() -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("store")).unwrap();
        let store = Store::new(dir.path().join("store")).with_recording(folder("baseline"));
        let ago = |hours| Timestamp::now().checked_sub(SignedDuration::from_hours(hours)).unwrap().to_string();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 3600, "renewTime": Timestamp::now().to_string()}
        });
        store.put("leases", Some("kube-system"), "kube-controller-manager", &lease).unwrap();
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "n"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}
        });
        store.put("namespaces", None, "shop", &namespace).unwrap();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "ee7644fa-c649-4025-9178-81dc31cad0c6",
                "creationTimestamp": ago(9), "deletionTimestamp": ago(2), "deletionGracePeriodSeconds": 0,
                "finalizers": ["example.com/hold"]
            },
            "spec": {"nodeName": "node-a"}, "status": {"phase": "Succeeded"}
        });
        store.put("pods", Some("shop"), "web-0", &pod).unwrap();
        Cluster { fake: FakeApiServer::start(store).unwrap(), dir }
    }

    pub fn faults(self, faults: impl Into<Faults>) -> Cluster {
        self.fake.store().set_faults(&faults.into()).unwrap();
        self
    }

    fn config(&self) -> Value {
        serde_json::from_str(&self.fake.kubeconfig_json().unwrap()).unwrap()
    }

    pub fn write_config(&self) -> PathBuf {
        write(self.dir.path(), "config", &self.config())
    }

    fn ask_as(&self, config: &Value, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let path = write(self.dir.path(), "config", config);
        let mut command = Command::new(PLUGIN);
        command.arg("--kubeconfig").arg(path).args(arguments).env_remove("KUBECONFIG");
        command.envs(environment.iter().copied()).output().unwrap()
    }

    pub fn ask(&self, arguments: &[&str]) -> Output {
        self.ask_as(&self.config(), arguments, &[])
    }

    fn asked(&self, path: &str) -> usize {
        requests(self.fake.store()).iter().filter(|request| request.starts_with(path)).count()
    }
}

#[test]
fn a_busy_server_is_asked_once_more_when_it_says_when() {
    let pods = |fault| Rule::new(fault).path("/api/v1/pods");
    let busy = |times| pods(Fault::Status { status: 429, retry_after: Some(0) }).times(times);
    let undisturbed = Cluster::start();
    assert_eq!(undisturbed.ask(&[]).status.code(), Some(2));
    let cluster = Cluster::start().faults(busy(1));
    let answer = cluster.ask(&["-o", "name"]);
    assert!(text(&answer.stdout).contains("web-0"), "{}", text(&answer.stderr));
    assert_eq!(answer.status.code(), Some(2));
    assert_eq!(cluster.asked("/api/v1/pods?"), undisturbed.asked("/api/v1/pods?") + 1);
    // Not for ever, and not when it takes longer than anybody waits.
    let cluster = Cluster::start().faults(busy(99));
    let said = text(&cluster.ask(&["-A"]).stdout);
    assert!(said.contains("429"), "{said}");
    let twice = cluster.asked("/api/v1/pods?");
    let cluster = Cluster::start().faults(pods(Fault::Status { status: 503, retry_after: Some(100) }));
    let said = text(&cluster.ask(&["-A"]).stdout);
    assert!(said.contains("503"), "{said}");
    assert_eq!(2 * cluster.asked("/api/v1/pods?"), twice);
}

#[test]
fn who_is_not_logged_in_is_told_so_once() {
    let cluster = Cluster::start().faults(Rule::new(Fault::Unauthorized));
    let answer = cluster.ask(&[]);
    let said = text(&answer.stderr);
    assert_eq!(answer.status.code(), Some(1));
    let refused = ": the API server does not accept your credentials (";
    assert!(said.starts_with("error: http") && said.contains(refused) && said.contains("log in again"), "{said}");
    assert_eq!((said.lines().count(), text(&answer.stdout).as_str()), (1, ""), "{said}");
}

/// Rights in one namespace only: the answer is about that namespace, and not that everything else is unknown.
#[test]
fn a_developer_gets_her_namespaces_answer() {
    let own = |path: &str| Rule::new(Fault::Slow { slow_ms: 0 }).path(path);
    let no = |path: &str| Rule::new(Fault::Forbidden).path(path);
    let faults = Faults::from(own("/api/v1/namespaces/shop")).and(no("/api/v1/")).and(no("/apis/").verb("list"));
    let cluster = Cluster::start().faults(faults);
    let mut config = cluster.config();
    config["contexts"][0]["context"]["namespace"] = "shop".into();
    let answer = cluster.ask_as(&config, &[], &[]);
    let (said, noted) = (text(&answer.stdout), text(&answer.stderr));
    assert_eq!(answer.status.code(), Some(2), "{said}{noted}");
    assert!(said.contains("web-0") && noted.contains("this is about namespace shop"), "{said}{noted}");
    for unseen in ["which volumeattachments are being deleted", "which nodes are being deleted"] {
        assert!(!said.contains(unseen), "{said}");
    }
    // Who asks for all of them is not given less.
    let all = cluster.ask_as(&config, &["-A"], &[]);
    assert!(!text(&all.stderr).contains("this is about"), "{}", text(&all.stderr));
    assert!(text(&all.stdout).contains("no permission to list"), "{}", text(&all.stdout));
    // What has no place for it says so beside the answer.
    for form in ["name", "table"] {
        let all = cluster.ask_as(&config, &["-A", "-o", form], &[]);
        let (said, noted) = (text(&all.stdout), text(&all.stderr));
        assert!(noted.starts_with("note: not everything could be read: no permission to list "), "{noted}");
        assert!(noted.contains("; to ask for it: kubectl auth can-i ") && noted.lines().count() == 1, "{noted}");
        assert!(!said.contains("permission"), "{said}");
    }
}

#[test]
fn a_saved_state_is_for_who_asked() {
    let cluster = Cluster::start();
    let file = cluster.dir.path().join("state.json");
    for _ in 0..2 {
        cluster.ask(&["--save-state", file.to_str().unwrap()]);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // One that was there before, and too open.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
}

#[test]
fn a_credential_plugin_runs_once_and_its_failure_is_told() {
    let cluster = Cluster::start();
    let runs = cluster.dir.path().join("runs");
    let user = |script: &str| {
        let mut config = cluster.config();
        config["users"][0]["user"] = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never"
        }});
        config
    };
    let good = format!("echo run >>{}; echo '{{\"status\": {{\"token\": \"t\"}}}}'", runs.display());
    let answer = cluster.ask_as(&user(&good), &[], &[]);
    assert_eq!(answer.status.code(), Some(2), "{}", text(&answer.stderr));
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
    let expired = "echo 'Token has expired. Run aws sso login' >&2; exit 255";
    let answer = cluster.ask_as(&user(expired), &[], &[]);
    let said = text(&answer.stderr);
    assert_eq!(answer.status.code(), Some(1));
    assert!(
        said.contains("Run aws sso login\nerror: the credential plugin sh failed (exit status: 255): log in"),
        "{said}"
    );
}

/// Takes one request, or the first bytes of something else, and refuses it.
fn listen() -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let heard = std::thread::spawn(move || {
        let mut heard = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => return heard,
            }
        };
        stream.set_nonblocking(false).unwrap();
        let mut part = [0; 4096];
        loop {
            let count = stream.read(&mut part).unwrap_or(0);
            heard.extend_from_slice(&part[..count]);
            if count == 0 || heard.ends_with(b"\r\n\r\n") || heard.first() == Some(&5) {
                break;
            }
        }
        let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","code":401}"#;
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(answer.as_bytes());
        heard
    });
    (address, heard)
}

#[test]
fn a_proxy_is_asked_for_the_server_unless_it_is_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let through = |config: &Value, environment: &[(&str, &str)]| {
        let path = write(dir.path(), "config", config);
        let mut command = Command::new(PLUGIN);
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "KUBECONFIG"] {
            command.env_remove(name);
        }
        command.arg("--kubeconfig").arg(path).arg("--request-timeout=3s").envs(environment.iter().copied());
        command.output().unwrap()
    };
    for scheme in ["http", "socks5"] {
        let (proxy, heard) = listen();
        let mut config = kubeconfig("https://10.255.0.1:6443", json!({}));
        config["clusters"][0]["cluster"]["proxy-url"] = format!("{scheme}://{proxy}").into();
        through(&config, &[]);
        let heard = heard.join().unwrap();
        let is_it =
            if scheme == "http" { heard.starts_with(b"CONNECT 10.255.0.1:6443 ") } else { heard.first() == Some(&5) };
        assert!(is_it, "{scheme}: {:?}", String::from_utf8_lossy(&heard));
    }
    for name in ["HTTPS_PROXY", "https_proxy"] {
        let (proxy, heard) = listen();
        let proxy = format!("http://{proxy}");
        through(&kubeconfig("https://10.255.0.1:6443", json!({})), &[(name, &proxy), ("NO_PROXY", "127.0.0.1,.svc")]);
        assert!(heard.join().unwrap().starts_with(b"CONNECT 10.255.0.1:6443 "), "{name}");
    }
    // This machine is never reached through a proxy, nor is what NO_PROXY names: these proxies do not exist.
    let cluster = Cluster::start();
    let nobody = "http://127.0.0.1:9";
    for environment in [
        &[("HTTP_PROXY", nobody), ("HTTPS_PROXY", nobody)][..],
        &[("HTTP_PROXY", nobody), ("HTTPS_PROXY", nobody), ("NO_PROXY", "127.0.0.1,localhost,.svc")],
    ] {
        let answer = cluster.ask_as(&cluster.config(), &[], environment);
        assert_eq!(answer.status.code(), Some(2), "{}", text(&answer.stderr));
    }
}

/// The real kubectl: that of `tests/kubectl.sh`, else the machine's.
pub fn kubectl() -> PathBuf {
    let tools = Path::new(PLUGIN).ancestors().map(|dir| dir.join("tools/kubectl"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|dir| dir.join("kubectl")).collect::<Vec<_>>();
    let found = tools.chain(installed).find(|path| path.is_file());
    found.expect("no kubectl: run tests/kubectl.sh")
}

/// What identifies the client to the server, and the place.
fn told(
    program: &Path,
    last: &[&str],
    flags: &[&str],
    config: &dyn Fn(SocketAddr) -> Vec<(String, String)>,
) -> Vec<String> {
    let (address, heard) = listen();
    let flags = flags.iter().map(|flag| flag.replace("ADDRESS", &address.to_string()));
    let mut command = Command::new(program);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "KUBECONFIG"] {
        command.env_remove(name);
    }
    command.envs(config(address)).args(flags).args(last);
    let output = command.output().unwrap();
    let heard = text(&heard.join().unwrap());
    assert!(!output.status.success(), "{}", text(&output.stderr));
    let asks = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_lowercase();
        matches!(name.as_str(), "authorization" | "accept-encoding") || name.starts_with("impersonate-")
    };
    let mut lines: Vec<String> = heard.lines().filter(asks).map(str::to_owned).collect();
    for line in &mut lines {
        let (name, value) = line.split_once(':').unwrap();
        *line = format!("{}:{value}", name.to_lowercase());
    }
    lines.sort();
    lines
}

#[test]
fn the_same_flags_tell_the_server_the_same_as_kubectls() {
    let dir = tempfile::tempdir().unwrap();
    let kubectl = kubectl();
    let named = |address: SocketAddr| {
        let config = kubeconfig(&format!("http://{address}"), json!({"token": "of-u"}));
        let path = write(dir.path(), "config", &config);
        vec![("KUBECONFIG".to_owned(), path.display().to_string())]
    };
    let missing = |address: SocketAddr| {
        let [(name, path)] = <[_; 1]>::try_from(named(address)).unwrap();
        vec![(name, format!("/nonexistent/config::{path}"))]
    };
    type Environment<'a> = &'a dyn Fn(SocketAddr) -> Vec<(String, String)>;
    let cases: [(&[&str], Environment); 10] = [
        (&[], &named),
        (&[], &missing),
        (&["--token", "given"], &named),
        (&["--user", "v"], &named),
        (&["--cluster", "other"], &named),
        (&["--context", "d"], &named),
        (&["--as", "alice", "--as-group", "devs", "--as-group", "ops", "--as-uid", "7"], &named),
        (&["--server", "http://ADDRESS", "--request-timeout", "5"], &named),
        (&["--server", "ADDRESS"], &named),
        (
            &["-s", "http://ADDRESS", "--user", "v", "--insecure-skip-tls-verify", "--tls-server-name", "x", "-n", "a"],
            &named,
        ),
    ];
    for (flags, config) in cases {
        let theirs = told(&kubectl, &["get", "--raw", "/version"], flags, config);
        let ours = told(Path::new(PLUGIN), &[], flags, config);
        assert_eq!(ours, theirs, "{flags:?}");
    }
}

#[test]
fn a_mistake_in_a_flag_is_not_something_stuck() {
    for wrong in [
        &["--as-group", "a"][..],
        &["--server", "ftp://x"],
        &["--certificate-authority", "f", "--insecure-skip-tls-verify"],
        &["--request-timeout", "soon"],
        &["-n"],
        &["--user"],
    ] {
        let output = Command::new(PLUGIN).args(wrong).env_remove("KUBECONFIG").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", text(&output.stderr));
    }
}
