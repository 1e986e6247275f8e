//! `--share`: the answer in Markdown, in which nothing of it can be markup.

use aggregator_core::state::State;
use plugin::report::{redact, share};

use crate::served::Server;
use crate::support::*;

#[test]
fn a_ticket_has_versions_time_and_the_answer() {
    let server = Server::start("finalizer-and-webhook");
    let ask = |arguments: &[&str]| String::from_utf8(server.plugin(arguments).output().unwrap().stdout).unwrap();
    let (plain, shared) = (ask(&["ns/team-widgets"]), ask(&["ns/team-widgets", "--share", "--color=always"]));
    let (head, rest) = shared.split_once("\n\n```text\n").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(head.starts_with(&format!("kubectl why-terminating {version}, 20")), "{head}");
    assert!(head.ends_with(", Kubernetes v0.0.0-master+8e16b12fda5b1dccc41a6de48b3e356cc7d5048b"), "{head}");
    let answer = rest.strip_suffix("```\n").unwrap();
    assert_eq!(answer.lines().count(), plain.lines().count());
    assert!(answer.contains("team-widgets") && !answer.contains('\u{1b}'), "{answer}");
    let refused = server.plugin(&["--share", "-o", "json"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn names_are_replaced_and_what_shows_the_software_stays() {
    let server = Server::start("csi-unmount");
    let output = server.plugin(&["--share=redacted", "-o", "wide"]).output().unwrap();
    let shared = String::from_utf8(output.stdout).unwrap();
    for name in ["csi-try", "node-a", "pv-csi-1", "data-1"] {
        assert!(!shared.contains(name), "{name} is in {shared}");
    }
    assert!(shared.contains("Pod namespace-1/pod-1") && shared.contains("exam.csi.example.com"), "{shared}");
    // The same stands for the same.
    assert!(shared.contains("kubectl get csinode node-1 -o yaml") && shared.contains("CSINode node-1"), "{shared}");
    let watched =
        server.plugin(&["wait", "pod/p1", "-n", "csi-try", "--share=redacted", "--timeout=1s"]).output().unwrap();
    assert_eq!(watched.status.code(), Some(1), "{watched:?}");
    assert!(!String::from_utf8(watched.stdout).unwrap().contains("csi-try"));
}

/// In a host's name too, and at the end of a sentence.
#[test]
fn a_name_is_replaced_wherever_it_stands_whole() {
    let world = healthy().held("v1", "ConfigMap", "shop", "blue-web", &["blue.example.com/hold"]);
    let state = State::new(everything(), world.at);
    let mut report = look(world, everything()).report;
    report.notes = ["dial blue-web.shop.svc:443: refused by blue-web.", "blue-web-2 and data stay, and a.shop.io/hold"]
        .map(String::from)
        .into();
    let notes: Vec<String> = redact(&report, &state).unwrap().notes.into_iter().collect();
    assert_eq!(
        notes,
        [
            "blue-web-2 and data stay, and a.shop.io/hold",
            "dial configmap-1.namespace-1.svc:443: refused by configmap-1."
        ]
    );
}

#[test]
fn an_answer_cannot_close_its_fence_and_a_version_is_no_markup() {
    let report = look(recording("baseline"), everything()).report;
    let shared = share(&report, Some("v1.36.2\n# <b>[x](y)"), "a ```` b\n```\n");
    assert!(shared.contains(", Kubernetes v1.36.2bxy\n\n`````text\n"), "{shared}");
    assert!(shared.ends_with("```\n`````\n"), "{shared}");
}
