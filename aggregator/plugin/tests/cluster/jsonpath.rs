//! `-o jsonpath=` selects what the real kubectl selects of the same object; `custom-columns=` has a row for each root.

use std::process::Command;

use findings::render::Style;
use plugin::report::{Columns, Template};

use crate::connecting::kubectl;
use crate::golden::stuck;
use crate::support::*;

#[test]
fn a_template_selects_what_kubectl_selects() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let clusters = json!([
        {"name": "a", "cluster": {"server": "https://a:1", "insecure-skip-tls-verify": true}},
        {"name": "b", "cluster": {"server": "https://b:2", "tls-server-name": "x y"}},
        {"name": "c", "cluster": {"server": "https://c:3"}}
    ]);
    let config = json!({"apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": [], "users": []});
    std::fs::write(file.path(), config.to_string()).unwrap();
    let kubectl_says = |form: &str| {
        let mut command = Command::new(kubectl());
        command.args(["config", "view", "-o", form, "--kubeconfig"]).arg(file.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{form}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&kubectl_says("json")).unwrap();
    for template in [
        "{.kind}",
        "{$.kind}",
        "{@.kind}",
        "kind: {.kind}, {.apiVersion}",
        "{.clusters[*].name}",
        "{.clusters[0].cluster.server}",
        "{.clusters[-1:].name}",
        "{.clusters[0:2].name}",
        "{.clusters[0]['name']}",
        "{..server}",
        "{.nowhere}",
        r#"{range .clusters[*]}{.name}{"\t"}{.cluster.server}{"\n"}{end}"#,
        "{range .clusters[*]}{.name}{'\\n'}{end}done",
        "{range .clusters[*]}{range .cluster}{.server},{end};{end}",
        r#"{.clusters[?(@.name=="b")].cluster.server}"#,
        r#"{.clusters[?(@.name!="b")].name}"#,
        r#"{"}{"}{.kind}"#,
    ] {
        let parsed: Template = template.parse().unwrap_or_else(|why| panic!("{template}: {why}"));
        assert_eq!(parsed.render(&json).unwrap(), kubectl_says(&format!("jsonpath={template}")), "{template}");
    }
}

#[test]
fn a_row_for_each_root_cause() {
    let report = look(stuck("finalizer-and-webhook"), everything()).report;
    let columns: Columns = "CAUSE:.finding.cause,NAMES:.victims[*].thing.name,NONE:.nowhere".parse().unwrap();
    let table = columns.render(&report, true, Style::Plain).unwrap();
    assert_eq!(
        table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>(),
        [
            "CAUSE NAMES NONE",
            "WebhookUnavailable team-webhook <none>",
            "FinalizerControllerGone team-widgets <none>",
            "FinalizerControllerGone team-widgets <none>"
        ],
        "{table}"
    );
    assert!(!columns.render(&report, false, Style::Plain).unwrap().contains("CAUSE"));
}
