//! `mcp` as a process: its answers are those of the command line, bounded, and hold no secret.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use aggregator_core::report::ClusterReport;

use crate::attacks::put_pod;
use crate::served::Server;
use crate::support::*;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");
/// As `cli/mcp.rs` says it.
const MAX_ANSWER_BYTES: usize = 65_536;

/// The agent's side, with the messages of the protocol's version 2025-06-18.
struct Agent {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    requests: u32,
}

/// What a tool answered: its texts, or an error.
type Answer = Result<Vec<String>, String>;

impl Agent {
    fn start(server: &Server) -> Agent {
        let mut command = Command::new(PLUGIN);
        command.args(["mcp", "--kubeconfig"]).arg(server.kubeconfig.path()).env_remove("KUBECONFIG");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut agent = Agent { child, to, from, requests: 0 };
        let client = json!({"name": "test", "version": "0"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        assert_eq!(agent.request("initialize", &hello)["serverInfo"]["name"], "why-terminating");
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer["id"], self.requests);
        answer["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let texts = answer["content"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        let texts: Vec<String> = texts.map(|one| one["text"].as_str().unwrap().to_owned()).collect();
        assert!(texts.iter().map(String::len).sum::<usize>() <= MAX_ANSWER_BYTES, "{tool}");
        if answer["isError"] == true { Err(texts.concat()) } else { Ok(texts) }
    }

    /// Its standard input ends. Returns what it wrote beside its answers.
    fn end(self) -> String {
        drop(self.to);
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{:?}", output.status);
        String::from_utf8(output.stderr).unwrap()
    }
}

fn report(answer: Answer) -> ClusterReport {
    serde_json::from_str(&answer.unwrap()[0]).unwrap()
}

#[test]
fn its_answers_are_those_of_the_command_line() {
    let server = Server::start("finalizer-and-webhook");
    let mut agent = Agent::start(&server);
    let tools = agent.request("tools/list", &json!({}))["tools"].as_array().unwrap().clone();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["before", "explain", "roots"]);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:#?}");

    let namespace = "team-widgets";
    let command_line = |arguments: &[&str]| -> ClusterReport {
        let output = server.plugin(arguments).args(["-o", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"))
    };
    // The recording is of one time: of the second that passes between two questions nothing but this shows.
    let timeless = |report: ClusterReport| {
        let mut text = serde_json::to_value(report).unwrap();
        forget_times(&mut text);
        text
    };
    let object = format!("ns/{namespace}");
    for (tool, arguments, typed) in [
        ("roots", json!({}), &[][..]),
        ("roots", json!({"namespace": namespace}), &["-n", namespace]),
        ("explain", json!({"what": object}), &[&object]),
        ("before", json!({"object": "ns/default"}), &["--before", "ns/default"]),
    ] {
        let told = timeless(report(agent.call(tool, arguments)));
        assert_eq!(told, timeless(command_line(typed)), "{tool}");
    }
    let all = report(agent.call("roots", json!({})));
    let one = report(agent.call("explain", json!({"what": all.roots[0].id.to_string()})));
    assert_eq!((one.roots.len(), one.roots[0].id), (1, all.roots[0].id));
    assert!(all.roots.len() > 1);
    agent.end();
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "at" | "overdue_seconds"));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        Value::String(text) if text.contains("ago") || text.contains(" for ") => text.clear(),
        _ => {}
    }
}

#[test]
fn a_mistake_is_an_error_in_words_and_no_flag() {
    let server = Server::start("baseline");
    let mut agent = Agent::start(&server);
    let marker = server.kubeconfig.path().with_extension("state");
    for what in ["--live", "ns/", &format!("--save-state={}", marker.display()), "pod/not-there", "0123abcd", ""] {
        let error = agent.call("explain", json!({"what": what, "namespace": "shop"})).unwrap_err();
        assert!(error.contains("pod/db-0") || error.contains("no ") || error.contains("not"), "{what}: {error}");
    }
    let error = agent.call("before", json!({"object": "pods"})).unwrap_err();
    assert!(error.contains("for example ns/shop"), "{error}");
    assert!(!marker.exists());
    agent.end();
}

#[test]
fn a_long_answer_is_cut_and_says_so() {
    let server = Server::start("baseline");
    for pod in 0..1_000 {
        put_pod(server.store(), "victim", &format!("p{pod}"), json!(["example.com/never"]), json!({}));
    }
    let mut agent = Agent::start(&server);
    let told = agent.call("roots", json!({})).unwrap();
    assert!(told[1].starts_with("Cut to 65536 bytes: at most "), "{}", told[1]);
    let cut: ClusterReport = serde_json::from_str(&told[0]).unwrap();
    assert_eq!(cut.counts.stuck, 1_000, "the numbers are of all");
    assert!(cut.roots[0].finding.chain.last().unwrap().root);
    agent.end();
}

#[test]
fn no_answer_holds_a_secret() {
    const SECRETS: [&str; 6] = ["of-the-token", "of-env", "of-args", "of-the-secret", "of-the-key", "of-config"];
    let server = Server::start("baseline");
    let container = json!({
        "name": "app", "image": "app", "command": ["sh", "-c", "of-args"], "args": ["--password=of-args"],
        "env": [{"name": "PASSWORD", "value": "of-env"}]
    });
    put_pod(server.store(), "shop", "db-0", json!(["example.com/never"]), json!({}));
    let mut pod = server.store().pod("shop", "db-0").unwrap().unwrap();
    pod["spec"] = json!({"nodeName": "node-a", "containers": [container]});
    pod["status"] = json!({"phase": "Running"});
    server.store().put_pod("shop", "db-0", &pod).unwrap();
    let secret = json!({
        "metadata": {
            "name": "db", "namespace": "shop", "uid": "s", "finalizers": ["example.com/never"],
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z"
        },
        "data": {"password": "of-the-secret"}
    });
    server.store().put("secrets", Some("shop"), "db", &secret).unwrap();
    let mut config: Value = serde_json::from_slice(&std::fs::read(server.kubeconfig.path()).unwrap()).unwrap();
    config["users"][0]["user"]["token"] = json!("of-the-token");
    std::fs::write(server.kubeconfig.path(), config.to_string()).unwrap();

    let mut answers = Vec::new();
    let mut agent = Agent::start(&server);
    for (tool, arguments) in [
        ("roots", json!({})),
        ("explain", json!({"what": "pod/db-0", "namespace": "shop"})),
        ("explain", json!({"what": "secret/db", "namespace": "shop"})),
        ("explain", json!({"what": "secrets"})),
        ("before", json!({"object": "ns/shop"})),
    ] {
        answers.push(agent.call(tool, arguments));
    }
    assert!(answers[1].as_ref().unwrap()[0].contains("db-0"));
    agent.end();

    // Kubeconfigs that lead nowhere, some of which their reader would quote.
    let users = "/users/0/user";
    for (pointer, wrong) in [
        ("/users/0", json!("of-config")),
        (users, json!("of-config")),
        (users, json!({"client-certificate-data": "b2YtdGhlLWtleQ==", "client-key-data": "of-the-key"})),
        (
            users,
            json!({"exec": {"command": "sh", "args": ["-c", "echo of-the-token; exit 1"], "interactiveMode": "Never"}}),
        ),
        ("/clusters/0/cluster", json!({"server": "http://u:of-config@127.0.0.1:1"})),
        ("/clusters/0/cluster", json!({"server": "https://127.0.0.1:1", "proxy-url": "of-config://x y"})),
    ] {
        let mut broken = config.clone();
        broken["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
        *broken.pointer_mut(pointer).unwrap() = wrong;
        std::fs::write(server.kubeconfig.path(), broken.to_string()).unwrap();
        let mut agent = Agent::start(&server);
        answers.push(agent.call("roots", json!({})));
        assert!(answers.last().unwrap().is_err(), "{pointer}: {:?}", answers.last());
        agent.end();
    }
    for answer in answers {
        let text = answer.map_or_else(|error| error, |texts| texts.concat());
        assert_eq!(SECRETS.iter().find(|secret| text.contains(**secret)), None, "{text}");
    }
}
