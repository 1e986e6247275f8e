//! The binary against an API server on a socket, with a kubeconfig.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use aggregator_core::state::{Answer, Fault as Failure};
use apiserver::{FakeApiServer, Fault, Faults, Rule, Store};
use client::Bounds;
use findings::{FaultKind, RootId};
use jiff::{SignedDuration, Timestamp};

use crate::support::*;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");
const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";

pub struct Server {
    fake: FakeApiServer,
    pub kubeconfig: tempfile::NamedTempFile,
    _store: tempfile::TempDir,
}

fn ago(seconds: i64) -> String {
    Timestamp::now().checked_sub(SignedDuration::from_secs(seconds)).unwrap().to_string()
}

impl Server {
    /// Serves a recording, whose controllers go on living.
    pub fn start(name: &str) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path()).with_recording(folder(name));
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 3600, "renewTime": ago(0)}
        });
        store.put("leases", Some("kube-system"), "kube-controller-manager", &lease).unwrap();
        let fake = FakeApiServer::start(store).unwrap();
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(kubeconfig.path(), fake.kubeconfig_json().unwrap()).unwrap();
        Server { fake, kubeconfig, _store: dir }
    }

    pub fn store(&self) -> &Store {
        self.fake.store()
    }

    pub fn plugin(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PLUGIN);
        command.arg("--kubeconfig").arg(self.kubeconfig.path()).args(arguments).env_remove("KUBECONFIG");
        command
    }

    fn tell(&self, says: AgentEventFixture) {
        let metadata = json!({"name": "why-terminating-findings", "creationTimestamp": ago(86_400)});
        let policy = json!({"failurePolicy": "Fail", "validations": [{"expression": "false"}]});
        let binding = json!({"policyName": "why-terminating-findings", "validationActions": ["Deny"]});
        for (plural, spec) in [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
        {
            let object = json!({"metadata": metadata, "spec": spec});
            self.store().put(plural, None, "why-terminating-findings", &object).unwrap();
        }
        let event = says.event(ago);
        self.store().put("events", Some("default"), event["metadata"]["name"].as_str().unwrap(), &event).unwrap();
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        self.plugin(arguments).output().unwrap()
    }

    /// What was asked, with the query.
    fn requests(&self) -> Vec<String> {
        requests(self.store())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_dead_api_is_found_with_few_requests() {
    let server = Server::start("discovery-failure");
    let answer = server.ask(&["ns/ack-system-e2e-test-0"]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(2), "{said}{}", text(&answer.stderr));
    assert!(said.contains("ROOT CAUSE ApiServiceWithoutEndpoints"), "{said}");
    let requests = server.requests();
    let without_scan = requests.iter().filter(|path| !is_of_scan(path)).count();
    assert!(without_scan <= 19, "{without_scan} {requests:#?}");
}

#[test]
fn a_recording_is_judged_at_the_time_it_was_taken() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path()).with_recording(folder("discovery-failure")).at_the_time_of_the_recording();
    let fake = FakeApiServer::start(store).unwrap();
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(kubeconfig.path(), fake.kubeconfig_json().unwrap()).unwrap();
    let mut command = Command::new(PLUGIN);
    command.arg("--kubeconfig").arg(kubeconfig.path()).args(["-o", "json"]).env_remove("KUBECONFIG");
    let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    // By today's clock every Lease would have run out.
    assert_eq!(report["roots"][0]["finding"]["cause"], "ApiServiceWithoutEndpoints", "{report:#}");
    assert_eq!(report["at"], recording("discovery-failure").at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
}

#[test]
fn a_first_screen_and_what_its_ids_lead_to() {
    let server = Server::start("discovery-failure");
    let answer = server.ask(&[]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(2), "{said}{}", text(&answer.stderr));
    // An alert calls it so too, whatever is known of its cause.
    let id = RootId::new("services Service kube-system/metrics-server");
    assert!(said.contains(&format!("\n{id}  ApiServiceWithoutEndpoints  ")), "{said}");
    assert!(!said.contains("ROOT CAUSE"), "{said}");
    let tree = text(&server.ask(&["--explain", &id.to_string()]).stdout);
    assert!(tree.contains("ROOT CAUSE ApiServiceWithoutEndpoints"), "{tree}");
    assert_eq!(server.ask(&["--explain", "7"]).status.code(), Some(1), "a number is no id");
    let gone = server.ask(&["--explain", "00000000"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains("no root cause 00000000: resolved"), "{}", text(&gone.stderr));
    let types = text(&server.ask(&["namespaces"]).stdout);
    assert!(types.contains("ApiServiceWithoutEndpoints"), "{types}");
    let nowhere = server.ask(&["-n", "nope"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("namespace \"nope\" not found"), "{}", text(&nowhere.stderr));
}

#[test]
fn the_agents_word_comes_through_the_server() {
    let server = Server::start("dstate-fuse");
    server.tell(AgentEventFixture::fuse(&[POD]));
    let answer = server.ask(&["-n", "exam-dstate"]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(2), "{said}{}", text(&answer.stderr));
    assert!(said.contains("pid 22655 s3fs") && said.contains("FuseServerNotResponding"), "{said}");
    let requests = server.requests();
    let without_scan = requests.iter().filter(|path| !is_of_scan(path)).count();
    assert!(without_scan <= 19, "{without_scan} {requests:#?}");
    let events: Vec<_> = requests.iter().filter(|request| request.contains("/events?")).collect();
    assert_eq!(events.len(), 1, "{events:?}");
}

#[test]
fn the_command_that_looks_for_events_selects_them() {
    let server = Server::start("dstate-fuse");
    server.tell(AgentEventFixture::fuse(&[POD]));
    // As the remedy prints it; kubectl asks the core group.
    let command = findings::cause::POD_CONTAINERS_NOT_STOPPED.safe[0].command.unwrap();
    let selector = command.split("--field-selector ").nth(1).unwrap().replace("{agent_node}", "node-a");
    let list = get(&server, &format!("/api/v1/namespaces/default/events?fieldSelector={selector}"));
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    assert!(names.contains(&"node-a.1"), "{list}");
}

#[test]
fn what_only_looks_stuck_is_told_and_is_no_failure() {
    let server = Server::start("baseline");
    let put = |namespace: &str, name: &str, uid: &str, owners: Value| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "ownerReferences": owners}
        });
        server.store().put("configmaps", Some(namespace), name, &object).unwrap();
    };
    put("default", "x", "x1", json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "b1"}]));
    put("kube-public", "boss", "b1", json!([]));
    let answer = server.ask(&["cm/x", "-n", "default"]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(0), "{said}{}", text(&answer.stderr));
    assert!(
        said.starts_with("No deletion is stuck. Found beside that:\n\nConfigMap default/x: Not stuck in a deletion\n"),
        "{said}"
    );
    assert!(said.contains("ROOT CAUSE OwnerInOtherNamespace"), "{said}");
    let requests = server.requests();
    assert!(requests.len() <= 10, "{} {requests:#?}", requests.len());
}

/// One GET with the client of the plugin.
fn get(server: &Server, path: &str) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = kube::Config::new(server.fake.url().parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
    })
}

/// A child that does not outlive its test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watch_answers_again_and_ends_with_its_object() {
    let server = Server::start("dstate-fuse");
    let mut command = server.plugin(&["ns/exam-dstate", "--watch", "-o", "table", "--no-headers"]);
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap());
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
    let next = |what: &str| loop {
        let line =
            heard.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("nothing more before {what:?}"));
        if line.contains(what) {
            break;
        }
    };
    next("PodContainersNotStopped");
    server.tell(AgentEventFixture::fuse(&[POD]));
    next("pid 22655 s3fs on node-a");
    server.store().put_pod("exam-dstate", "p", &Value::Null).unwrap();
    server.store().put_namespace("exam-dstate", &Value::Null).unwrap();
    next("Namespace exam-dstate does not exist");
    assert!(child.0.wait().unwrap().success());
    // It was followed, by its metadata.
    let all = server.store().requests().unwrap();
    let is_watch = |one: &&apiserver::Request| one.verb == "watch" && one.query.contains("exam-dstate");
    assert!(all.iter().any(|one| is_watch(&one)), "{all:#?}");
}

fn wait(server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(PLUGIN);
    command.arg("wait").arg("--kubeconfig").arg(server.kubeconfig.path()).args(arguments).env_remove("KUBECONFIG");
    command
}

#[test]
fn a_wait_ends_when_its_object_is_gone_and_tells_what_holds_it_meanwhile() {
    let server = Server::start("dstate-fuse");
    let mut command = wait(&server, &["pod/p", "-n", "exam-dstate", "--timeout", "60s"]);
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    // As long as it takes to look once, and begin to follow.
    std::thread::sleep(Duration::from_secs(3));
    server.tell(AgentEventFixture::fuse(&[POD]));
    let changed = lines.next().unwrap().unwrap();
    assert!(changed.contains("now held by FuseServerNotResponding (pid 22655 s3fs)"), "{changed}");
    let began = std::time::Instant::now();
    server.store().put_pod("exam-dstate", "p", &Value::Null).unwrap();
    let output = child.0.wait().unwrap();
    assert!(output.success() && began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.0.stdout.take().unwrap(), &mut said).unwrap();
    assert_eq!(said, "pod/p is deleted\n");
}

/// What it would do it does already.
#[test]
fn what_is_being_deleted_already_gets_the_answer_without_before() {
    let server = Server::start("dstate-fuse");
    let ask = |arguments: &[&str]| server.plugin(arguments).output().unwrap();
    let before = ask(&["--before", "pod/p", "-n", "exam-dstate"]);
    let now = ask(&["pod/p", "-n", "exam-dstate"]);
    assert!(text(&before.stderr).contains("note: it is being deleted already"), "{}", text(&before.stderr));
    assert!(text(&before.stdout).contains("Pod exam-dstate/p: Stuck for "), "{}", text(&before.stdout));
    assert_eq!((before.status.code(), text(&now.stderr).as_str()), (now.status.code(), ""));
}

/// kubectl knows that it is still there; we know why as well.
#[test]
fn a_wait_is_over_when_kubectls_is() {
    let server = Server::start("dstate-fuse");
    let kubectl = crate::connecting::kubectl();
    // One of that name in another namespace is another.
    let others = [("pod/none", "exam-dstate", true), ("pod/p", "default", true)];
    for (object, namespace, is_gone) in [("pod/p", "exam-dstate", false)].into_iter().chain(others) {
        let theirs = Command::new(&kubectl)
            .args(["wait", "--for=delete", object, "-n", namespace, "--timeout=1s", "--kubeconfig"])
            .arg(server.kubeconfig.path())
            .output()
            .unwrap();
        assert_eq!(theirs.status.success(), is_gone, "{}", text(&theirs.stderr));
        for timeout in ["1s", "0"] {
            let ours = wait(&server, &[object, "-n", namespace, "--timeout", timeout]).output().unwrap();
            assert_eq!(ours.status.success(), is_gone, "{}", text(&ours.stderr));
            if !is_gone {
                assert_eq!(ours.status.code(), Some(2));
                assert!(
                    text(&ours.stderr).contains("timed out waiting for the deletion of pod/p. What holds it:"),
                    "{}",
                    text(&ours.stderr)
                );
                assert!(text(&ours.stdout).contains("SEEN SO FAR PodContainersNotStopped"), "{}", text(&ours.stdout));
            }
        }
    }
    // What is not called stuck yet is there all the same.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "young", "namespace": "exam-dstate", "uid": "young", "creationTimestamp": ago(60),
                     "deletionTimestamp": ago(0), "deletionGracePeriodSeconds": 30},
        "spec": {"nodeName": "node-a"},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}
    });
    server.store().put_pod("exam-dstate", "young", &pod).unwrap();
    let late = wait(&server, &["pod/young", "-n", "exam-dstate", "--timeout", "1s"]).output().unwrap();
    assert!(text(&late.stdout).contains("1 pod is terminating normally"), "{}", text(&late.stdout));
    assert_eq!(late.status.code(), Some(2), "{}", text(&late.stdout));
    let unknown = wait(&server, &["frob/x", "--timeout", "1s"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(1), "{}", text(&unknown.stderr));
}

/// What names an object for kubectl names it here, and what does not is an error here too.
#[test]
fn an_object_is_named_as_for_kubectl() {
    let server = Server::start("dstate-fuse");
    let kubectl = crate::connecting::kubectl();
    let pod = [&["pod/p"][..], &["po", "p"], &["pods/p"], &["Pod/p"], &["PODS", "p"], &["pods.v1./p"]];
    let node = [&["no/node-a"][..], &["nodes", "node-a"], &["Node/node-a"]];
    let lease = "kube-controller-manager";
    let lease =
        ["lease", "leases", "leases.coordination.k8s.io", "Lease.v1.coordination.k8s.io"].map(|word| [word, lease]);
    let wrong = [&["pod/none"][..], &["frobs/p"], &["pods.v2./p"], &["pods.apps/p"], &["pod/p/q"]];
    let cases = pod.into_iter().map(|words| (words, "exam-dstate", true));
    let cases = cases.chain(node.into_iter().map(|words| (words, "exam-dstate", true)));
    let cases = cases.chain(lease.iter().map(|words| (&words[..], "kube-system", true)));
    for (words, namespace, is_one) in cases.chain(wrong.into_iter().map(|words| (words, "exam-dstate", false))) {
        let theirs = Command::new(&kubectl)
            .arg("get")
            .args(words)
            .args(["-o", "name", "-n", namespace, "--kubeconfig"])
            .arg(server.kubeconfig.path())
            .output()
            .unwrap();
        assert_eq!(theirs.status.success(), is_one, "kubectl {words:?}: {}", text(&theirs.stderr));
        let ours = server.plugin(words).args(["-n", namespace]).output().unwrap();
        assert_eq!(ours.status.code() != Some(1), is_one, "{words:?}: {}", text(&ours.stderr));
    }
}

/// A thousand pods, of which one in the first page and two behind it are to go.
fn crowded() -> Server {
    let server = Server::start("baseline");
    for number in 0..1000 {
        let mut metadata = json!({"uid": number.to_string(), "labels": null});
        if [3, 700, 999].contains(&number) {
            metadata["deletionTimestamp"] = ago(600).into();
            metadata["deletionGracePeriodSeconds"] = json!(30);
        }
        let pod = json!({"metadata": metadata, "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}});
        server.store().put_pod("crowd", &format!("p{number:04}"), &pod).unwrap();
    }
    server
}

fn held(server: &Server) -> Vec<String> {
    let answer = server.ask(&["-o", "name"]);
    let mut names: Vec<String> = text(&answer.stdout).lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn of_many_pods_those_that_go_are_found_by_their_rows() {
    let server = crowded();
    // One that has ended shows why in its row, and not that it goes.
    let ended = json!({
        "metadata": {"uid": "e", "labels": null, "deletionTimestamp": ago(600), "deletionGracePeriodSeconds": 30},
        "spec": {"nodeName": "node-a"}, "status": {"phase": "Failed", "reason": "Evicted"}
    });
    server.store().put_pod("crowd", "p0500", &ended).unwrap();
    assert_eq!(held(&server), ["pod/p0003 -n crowd", "pod/p0500 -n crowd", "pod/p0700 -n crowd", "pod/p0999 -n crowd"]);
    let all = server.requests();
    let lists: Vec<&String> = all.iter().filter(|path| path.starts_with("/api/v1/pods?")).collect();
    let rows: Vec<&&String> = lists.iter().filter(|path| path.contains("includeObject=None")).collect();
    // The page, and the way to each of three rows.
    assert_eq!(rows.len(), 4, "{lists:#?}");
    assert!(rows[0].contains("limit=2000") && lists.iter().any(|path| path.contains("limit=1&")), "{lists:#?}");
    let named = all.iter().filter(|path| path.contains("/namespaces/crowd/pods?fieldSelector=metadata.name%3Dp"));
    assert_eq!(named.count(), 1, "{all:#?}");
}

fn whole_pods(server: &Server) -> usize {
    let lists = server.store().requests().unwrap().into_iter().filter(|one| one.path == "/api/v1/pods");
    let asked = |query: &str| query.split('&').find_map(|part| part.strip_prefix("limit=")?.parse::<usize>().ok());
    lists.filter(|one| !one.query.contains("includeObject")).filter_map(|one| asked(&one.query)).sum()
}

/// The namespace that is deleted stands first, and it is a small part of the cluster.
#[test]
fn a_first_page_full_of_what_goes_does_not_make_the_list_whole() {
    let server = Server::start("baseline");
    for number in 0..3200 {
        let (namespace, goes) = if number < 200 { ("a-first", true) } else { ("crowd", number % 500 == 0) };
        let mut metadata = json!({"uid": number.to_string(), "labels": null});
        if goes {
            metadata["deletionTimestamp"] = ago(600).into();
        }
        let pod = json!({"metadata": metadata, "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}});
        server.store().put_pod(namespace, &format!("p{number:04}"), &pod).unwrap();
    }
    assert_eq!(held(&server).len(), 206);
    let whole = whole_pods(&server);
    assert!(whole < 1500, "{whole} pods were asked for whole");
}

/// What travels is compressed; what it comes to is bounded all the same.
#[test]
fn a_large_answer_travels_compressed_and_is_bounded_as_it_is_read() {
    let server = crowded();
    let config = || kube::Config::new(server.fake.url().parse().unwrap());
    let ask = |bounds: Bounds| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = kube::Client::try_from(config()).unwrap();
            client::BoundedClient::new(&client, bounds).get("/api/v1/pods?limit=1000", "application/json").await
        })
    };
    let Answer::Seen(whole) = ask(Bounds::default()) else { panic!("no answer") };
    let asked = server.store().requests().unwrap().pop().unwrap();
    assert_eq!(asked.plain_bytes, whole.len() as u64);
    assert!(asked.answered_bytes * 4 < asked.plain_bytes, "{asked:?}");
    let answer = ask(Bounds { answer: whole.len() / 2, ..Bounds::default() });
    assert!(matches!(answer, Answer::Failed(Failure { kind: FaultKind::TooLarge, .. })), "{answer:?}");
}

#[test]
fn a_list_that_expires_on_the_way_is_told_as_cut() {
    let server = crowded();
    let pods = |fault| Rule::new(fault).path("/api/v1/pods");
    // Those that wait to start are listed as well.
    let once_then_gone = Faults::from(pods(Fault::Slow { slow_ms: 0 }).times(2)).and(pods(Fault::Gone));
    server.store().set_faults(&once_then_gone).unwrap();
    let answer = server.ask(&["-o", "json"]);
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert!(report["unknown"].to_string().contains("there is more than is kept"), "{report:#}");
}

fn versions(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(PLUGIN);
    command.arg("version").arg("--kubeconfig").arg(server.kubeconfig.path()).args(arguments);
    command.env_remove("KUBECONFIG").output().unwrap()
}

#[test]
fn versions_of_both_sides() {
    let server = Server::start("baseline");
    let bare = text(&versions(&server, &[]).stdout);
    assert!(bare.starts_with(&format!("Client Version: {}\nServer Version: v", env!("CARGO_PKG_VERSION"))), "{bare}");
    assert!(bare.ends_with("In the cluster: no agent and no service\n"), "{bare}");
    for (name, component, tag, ready) in [
        ("agent-a", "agent", "0.1.0", "True"),
        ("agent-b", "agent", "0.1.0", "False"),
        ("agent-c", "agent", "0.0.9", "True"),
        ("aggregator-0", "aggregator", "0.1.0", "True"),
    ] {
        let labels = json!({"app.kubernetes.io/name": "why-terminating", "app.kubernetes.io/component": component});
        let image = format!("registry.example.com/{component}:{tag}");
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "why-terminating", "uid": name, "labels": labels},
            "spec": {"containers": [{"name": "reader", "image": image}, {"name": "talker", "image": image}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}
        });
        server.store().put("pods", Some("why-terminating"), name, &pod).unwrap();
    }
    let said = text(&versions(&server, &[]).stdout);
    let installed: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("In the cluster: ")).collect();
    assert_eq!(
        installed,
        [
            "agent: registry.example.com/agent:0.0.9, 1 of 1 pods ready",
            "agent: registry.example.com/agent:0.1.0, 1 of 2 pods ready",
            "aggregator: registry.example.com/aggregator:0.1.0, 1 of 1 pods ready",
        ]
    );
    let json: Value = serde_json::from_slice(&versions(&server, &["-o", "json"]).stdout).unwrap();
    assert_eq!(json["clientVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["server"]["installed"]["seen"][0]["ready"], 1, "{json}");
    assert_eq!(server.requests().iter().filter(|asked| asked.contains("secrets")).count(), 0);
}

#[test]
fn a_version_that_cannot_be_asked_for_is_said_and_fails() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ask = |arguments: &[&str]| Command::new(PLUGIN).args(arguments).env_remove("KUBECONFIG").output().unwrap();
    let away = ask(&["version", "--server", &format!("http://{nobody}"), "--request-timeout", "2s"]);
    let said = text(&away.stdout);
    assert!(said.contains("Client Version: ") && said.contains("Server Version: not seen: "), "{said}");
    assert_eq!(away.status.code(), Some(1));
    let alone = ask(&["version", "--client"]);
    assert_eq!((text(&alone.stdout).lines().count(), alone.status.code()), (1, Some(0)));
    // A right that is missing is not an empty cluster.
    let server = Server::start("baseline");
    server.store().set_faults(&Faults::from(Rule::new(Fault::Forbidden).path("/api/v1/pods"))).unwrap();
    let said = text(&versions(&server, &[]).stdout);
    assert!(
        said.contains("Server Version: v") && said.contains("In the cluster: not seen: pods is forbidden: "),
        "{said}"
    );
}

/// What k9s puts in for these, in the arguments of the plugin file that is shipped.
fn k9s(server: &Server, [resource, version, group, name, namespace]: [&str; 5]) -> Output {
    let file = include_str!("../../../../deploy/k9s/plugins.yaml");
    let file: Value = serde_saphyr::from_str(file).unwrap();
    let plugin = &file["plugins"]["why-terminating"];
    assert_eq!((&plugin["command"], &plugin["args"][0]), (&json!("kubectl"), &json!("why-terminating")), "no shell");
    let config: Value = serde_json::from_slice(&std::fs::read(server.kubeconfig.path()).unwrap()).unwrap();
    let put_in = |argument: &Value| {
        let context = config["current-context"].as_str().unwrap();
        let values = [
            ("$RESOURCE_NAME", resource),
            ("$RESOURCE_VERSION", version),
            ("$RESOURCE_GROUP", group),
            ("$NAMESPACE", namespace),
            ("$CONTEXT", context),
            ("$NAME", name),
        ];
        let text = argument.as_str().unwrap().to_owned();
        values.iter().fold(text, |text, (name, value)| text.replace(name, value))
    };
    let arguments: Vec<String> = plugin["args"].as_array().unwrap()[1..].iter().map(put_in).collect();
    let (follow, arguments) = arguments.split_last().unwrap();
    assert_eq!(follow, "--watch", "or nothing would stay on the screen");
    assert!(arguments.iter().all(|argument| !argument.contains('$')), "{arguments:?}");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["-o", "json"]).collect();
    server.ask(&arguments)
}

#[test]
fn the_k9s_plugin_asks_about_what_is_selected() {
    let server = Server::start("finalizer-and-webhook");
    for (selected, cause) in [
        (["widgets", "v1", "example.com", "w1", "team-widgets"], "FinalizerControllerGone"),
        (["namespaces", "v1", "", "team-webhook", "-"], "WebhookUnavailable"),
    ] {
        let answer = k9s(&server, selected);
        let report: Value =
            serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", text(&answer.stderr)));
        assert_eq!(report["roots"][0]["finding"]["cause"], cause, "{report:#}");
    }
    let server = Server::start("dstate-fuse");
    let answer = k9s(&server, ["pods", "v1", "", "p", "exam-dstate"]);
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", text(&answer.stderr)));
    assert_eq!(report["roots"][0]["victims"][0]["thing"]["kind"], "Pod", "{report:#}");
}
