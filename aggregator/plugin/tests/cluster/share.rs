//! `--share`: the answer in Markdown, in which nothing of it can be markup.

use plugin::report::share;

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
fn an_answer_cannot_close_its_fence_and_a_version_is_no_markup() {
    let report = look(recording("baseline"), everything()).report;
    let shared = share(&report, Some("v1.36.2\n# <b>[x](y)"), "a ```` b\n```\n");
    assert!(shared.contains(", Kubernetes v1.36.2bxy\n\n`````text\n"), "{shared}");
    assert!(shared.ends_with("```\n`````\n"), "{shared}");
}
