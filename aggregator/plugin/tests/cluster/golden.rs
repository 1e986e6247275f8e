//! The answers word for word. `UPDATE_GOLDEN=1 cargo test` writes them again; read the difference.

use std::path::Path;

use aggregator_core::report::ClusterReport;
use findings::render::{Detail, Style};
use plugin::report::{dot, mermaid, name, screen, table, tree};

use crate::support::*;

pub const RECORDINGS: [&str; 8] = [
    "baseline", "discovery-failure", "finalizer-and-webhook", "unreachable-node-pvc-chain", "volumes-busy",
    "runtime-and-freezer", "dstate-fuse", "csi-unmount",
];

pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{name} differs; write it again with UPDATE_GOLDEN=1 and read the difference\n{text}");
}

/// A recording, an hour later where the deletions in it are 9 seconds old, which is nothing yet.
pub fn stuck(name: &str) -> World {
    let mut world = recording(name);
    if name == "finalizer-and-webhook" {
        world.at += jiff::SignedDuration::from_hours(1);
        let now = world.ago(0);
        for lease in world.list("/apis/coordination.k8s.io/v1/leases") {
            lease["spec"]["renewTime"] = now.clone().into();
        }
    }
    world
}

#[test]
fn trees_of_80_and_120_columns() {
    for recording_name in RECORDINGS {
        let looked = look(stuck(recording_name), everything());
        for width in [80, 120] {
            let text = tree(&looked.report, Detail::Short, width, Style::Plain);
            let is_command = |line: &str| line.starts_with("              ");
            let too_long = text.lines().find(|line| line.chars().count() > width && !is_command(line));
            assert_eq!(too_long, None, "{recording_name} at {width}");
            assert_golden(&format!("{recording_name}.{width}.txt"), &text);
        }
    }
}

/// On Kubernetes 1.36.2, where `make e2e` held a pod's volume: what the plugin said there as JSON, in its other form.
#[test]
fn what_was_said_on_a_real_cluster() {
    let json = include_str!("../golden/acceptance-holder.json");
    let report: ClusterReport = serde_json::from_str(json).unwrap();
    assert_golden("acceptance-holder.80.txt", &tree(&report, Detail::Short, 80, Style::Plain));
}

/// At most seven parts a root, and no line longer than the terminal but for a command.
#[test]
fn first_screens_of_80_and_120_columns() {
    for recording_name in RECORDINGS {
        let looked = look(stuck(recording_name), everything());
        for width in [80, 120] {
            let text = screen(&looked.report, width, Style::Plain);
            let is_free =
                |line: &str| line.trim_start().starts_with("Next") || line.starts_with(|c: char| c.is_ascii_hexdigit());
            let too_long = text.lines().find(|line| line.chars().count() > width && !is_free(line));
            assert_eq!(too_long, None, "{recording_name} at {width}");
            let is_block = |block: &&str| block.get(..8).is_some_and(|id| id.parse::<findings::RootId>().is_ok());
            let blocks = text.split("\n\n").filter(is_block);
            for block in blocks {
                assert!(block.lines().count() <= if width == 80 { 14 } else { 10 }, "{recording_name}: {block}");
            }
            assert_golden(&format!("{recording_name}.screen.{width}.txt"), &text);
        }
    }
}

/// What docs/answers/namespace.md shows.
#[test]
fn the_answer_in_the_documents() {
    let looked = look(stuck("finalizer-and-webhook"), everything());
    assert_golden("webhook-and-widgets.80.txt", &screen(&looked.report, 80, Style::Plain));
}

#[test]
fn json() {
    for recording_name in RECORDINGS {
        let looked = look(stuck(recording_name), everything());
        let text = serde_json::to_string_pretty(&looked.report).unwrap() + "\n";
        assert_golden(&format!("{recording_name}.json"), &text);
    }
}

#[test]
fn every_other_form() {
    let looked = look(stuck("finalizer-and-webhook"), everything());
    let report = &looked.report;
    assert_golden("finalizer-and-webhook.wide.txt", &tree(report, Detail::Wide, 100, Style::Plain));
    assert_golden("finalizer-and-webhook.table.txt", &table(report, true, Style::Plain));
    assert_golden("finalizer-and-webhook.name.txt", &name(report));
    assert_golden("finalizer-and-webhook.dot", &dot(report));
    assert_golden("finalizer-and-webhook.mermaid", &mermaid(report));
}

#[test]
fn one_line_per_root_in_a_busy_cluster() {
    let mut world = recording("discovery-failure").node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    for number in 0..4 {
        world = world.going(&format!("team-{number}"), serde_json::json!(null)).going_pod(
            "db",
            &format!("db-{number}"),
            "node-a",
            "Running",
        );
    }
    let looked = look(world, everything());
    assert_golden("busy.table.txt", &table(&looked.report, true, Style::Plain));
}

#[test]
fn json_can_be_read_again() {
    let looked = look(recording("unreachable-node-pvc-chain"), everything());
    let text = serde_json::to_string(&looked.report).unwrap();
    let read: aggregator_core::report::ClusterReport = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.schema, ClusterReport::SCHEMA);
}
