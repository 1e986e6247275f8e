//! The first screen: what a person reads first, and how the rest is found from there.

use aggregator_core::state::Subject;
use findings::render::{Detail, Style};
use plugin::report::{explain, screen, table, tree};

use crate::golden::stuck;
use crate::support::*;

fn shown(looked: &Looked) -> String {
    screen(&looked.report, 100, Style::Plain)
}

/// The first, second, … block.
fn block(text: &str, number: usize) -> Vec<String> {
    let found = text.split("\n\n").nth(number);
    found.unwrap_or_else(|| panic!("no block {number}: {text}")).lines().map(str::to_owned).collect()
}

fn pods(count: usize) -> World {
    (0..count).fold(healthy(), |world, number| world.going_pod("shop", &format!("web-{number}"), "node-a", "Running"))
}

/// A warning that ends in the middle warns of something else.
#[test]
fn what_proves_a_root_and_what_never_to_do_is_wrapped_and_not_cut() {
    for name in ["csi-unmount", "discovery-failure", "finalizer-and-webhook", "unreachable-node-pvc-chain"] {
        let looked = look(recording(name), everything());
        let text = screen(&looked.report, 80, Style::Plain);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for root in &looked.report.roots {
            let finding = &root.finding;
            let proof = &finding.chain.last().unwrap().state;
            for said in [Some(&finding.remedy.dont), finding.missing.as_ref(), Some(proof)].into_iter().flatten() {
                assert!(words.contains(said.as_str()), "{name}: {said}\n{text}");
            }
        }
    }
}

/// A server may quote a page of text; the screen is not its.
#[test]
fn what_is_longer_than_four_lines_ends_there() {
    let refusal = format!("is forbidden {}", "because of something ".repeat(40));
    let world = healthy().refuse("/api/v1/persistentvolumeclaims", 500, &refusal);
    let text = screen(&look(world, everything()).report, 80, Style::Plain);
    let unknown: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Unknown  ")).take(5).collect();
    assert!(unknown[3].ends_with('…') && unknown[4].is_empty(), "{text}");
}

#[test]
fn pods_of_which_only_the_node_knows_are_one_block() {
    let looked = look(pods(20), everything());
    let text = shown(&looked);
    assert!(text.lines().count() <= 17, "{text}");
    assert!(text.starts_with("20 objects stuck, 1 node to check (oldest 10m)"), "{text}");
    let block = block(&text, 1);
    assert!(block.len() <= 7, "{text}");
    let id = looked.report.roots[0].id;
    let head =
        format!("{id}  PodContainersNotStopped  not visible from the API: check node node-a  20 pods in shop  10m");
    assert_eq!(block[0], head);
    assert!(block[1].starts_with("   for example pod/web-0 in shop: container c is still running"), "{text}");
    let holds = block.iter().find(|line| line.starts_with("   Holds   pod/web-0 in shop, pod/web-1 in shop"));
    assert!(holds.is_some_and(|line| line.ends_with("and 17 more")), "{text}");
    assert!(!text.contains("ROOT CAUSE"), "{text}");
    // In the head and in the first line of all.
    assert_eq!(text.matches("10m").count(), 2, "{text}");
    assert!(block.contains(&"   Next    kubectl why-terminating pod/web-0 -n shop --on-node".to_owned()), "{text}");
    assert!(block.iter().any(|line| line.starts_with("   Do not  run kubectl delete pod --force")), "{text}");
}

/// Three namespaces with 25 pods each, deleted a moment ago.
fn deleted_a_moment_ago() -> World {
    let mut world = healthy();
    let (now, end) = (world.ago(5), world.ago(-15));
    for number in 1..=3 {
        let namespace = format!("team-{number}");
        world = world.going(&namespace, all_false());
        for pod in 0..25 {
            world = world.going_pod(&namespace, &format!("web-{pod}"), "node-a", "Running");
        }
    }
    world
        .list("/api/v1/namespaces")
        .iter_mut()
        .filter(|one| one["metadata"]["deletionTimestamp"].is_string())
        .for_each(|one| one["metadata"]["deletionTimestamp"] = now.clone().into());
    world
        .list("/api/v1/pods")
        .iter_mut()
        .filter(|one| one["metadata"]["deletionTimestamp"].is_string())
        .for_each(|one| one["metadata"]["deletionTimestamp"] = end.clone().into());
    world
}

#[test]
fn a_normal_deletion_is_one_line() {
    let looked = look(deleted_a_moment_ago(), everything());
    let text = shown(&looked);
    let line = "3 namespaces and 75 pods are terminating normally; the last grace period ends in 15s.";
    assert!(text.starts_with(&format!("Nothing is stuck in what was scanned\n\n{line}\n")), "{text}");
    let wide = tree(&looked.report, Detail::Wide, 100, Style::Plain);
    for kind in ["\n  3 namespaces (ns/team-1, ", "\n  75 pods (pod/web-0 in team-1, "] {
        assert!(wide.contains(kind) && !text.contains(kind), "{wide}");
    }
    assert!(!wide.contains("ROOT CAUSE") && !wide.contains("Do not"), "{wide}");
    let named = look(deleted_a_moment_ago(), object("ns", "", "team-1"));
    let text = tree(&named.report, Detail::Short, 100, Style::Plain);
    assert!(text.starts_with("Nothing is stuck\n\n1 namespace and 25 pods are terminating normally;"), "{text}");
    assert!(text.lines().count() <= 10, "a line for each kind: {text}");
    assert!(text.contains("  25 pods (pod/web-0 in team-1"), "{text}");
    for word in ["ROOT CAUSE", "Next", "Do not", "Do  "] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_line_of_many_names_the_finalizer() {
    let mut world = healthy().with_custom("example.com", "widgets", "Widget");
    for number in 1..=9 {
        let (namespace, finalizer) = (format!("team-{number}"), format!("op{number}.io/x"));
        world = world.going(&namespace, remain("widgets.example.com has 1 resource instances")).held(
            "example.com/v1",
            "Widget",
            &namespace,
            "w",
            &[&finalizer],
        );
    }
    let text = shown(&look(world, everything()));
    assert!(text.contains("  widget/w in team-9  finalizer op9.io/x  1 widget, 1 ns  10m\n"), "{text}");
}

/// What is one thing stays on one line, where that is wide enough.
#[test]
fn of_many_roots_no_name_is_broken_off_at_80_columns() {
    let mut world = healthy().with_custom("example.com", "widgets", "Widget");
    for number in 1..=9 {
        let (name, finalizer) =
            (format!("a-widget-with-a-longer-name-{number}"), format!("account-{number}.example.org/x"));
        world = world.active("team").held("example.com/v1", "Widget", "team", &name, &[&finalizer]);
    }
    let text = screen(&look(world, everything()).report, 80, Style::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let lines =
        "  widget/a-widget-with-a-longer-name-9 in team\n             finalizer account-9.example.org/x  1 widget";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn the_oldest_root_is_first_and_each_has_its_proof() {
    let world = healthy().with_custom("example.com", "widgets", "Widget");
    let long = world.ago(7200);
    let world = world
        .going("young", remain("widgets.example.com has 1 resource instances"))
        .held("example.com/v1", "Widget", "young", "w1", &["one.io/x"])
        .going("old", remain("widgets.example.com has 1 resource instances"))
        .held("example.com/v1", "Widget", "old", "w2", &["two.io/x"])
        .change("/api/v1/namespaces", "old", |one| one["metadata"]["deletionTimestamp"] = long.into());
    let text = shown(&look(world, everything()));
    assert!(text.starts_with("4 objects stuck, 2 root causes (oldest 2h)"), "{text}");
    assert!(text.lines().next().unwrap().ends_with("whole chain and steps: add --explain ID"), "{text}");
    let (first, second) = (block(&text, 1), block(&text, 2));
    assert!(first[0].contains("widget/w2 in old  1 widget, 1 ns  2h"), "{text}");
    assert!(first[1].contains("two.io/x") && second[1].contains("one.io/x"), "{text}");
    // What of the proof is missing has a line of its own.
    assert!(first[3].starts_with("   Not verified: that no other controller removes it"), "{text}");
    assert_eq!((first[4].as_str(), first.len()), ("   Holds   ns/old", 10), "{text}");
    assert!(first[6].starts_with("   Fix     Install the same version of the controller again"), "{text}");
}

#[test]
fn an_id_leads_to_the_whole_tree() {
    let looked = look(stuck("finalizer-and-webhook"), everything());
    let at = looked.causes().iter().position(|cause| *cause == "WebhookUnavailable").unwrap();
    let text = explain(&looked.report, looked.report.roots[at].id, Detail::Short, 100, Style::Plain).unwrap();
    assert!(text.contains("ROOT CAUSE WebhookUnavailable") && text.contains("  Do     1. "), "{text}");
    assert!(!text.contains("FinalizerControllerGone"), "{text}");
    let unknown = findings::RootId::new("another");
    assert_eq!(explain(&looked.report, unknown, Detail::Short, 100, Style::Plain), None);
}

#[test]
fn which_steps_nobody_has_executed_is_for_those_who_want_all() {
    let looked = look(stuck("finalizer-and-webhook"), everything());
    let short = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(!short.contains("untested") && !short.contains("No test of this project"), "{short}");
    assert!(tree(&looked.report, Detail::Wide, 100, Style::Plain).contains("(untested)"));
}

#[test]
fn what_is_probable_names_the_proof() {
    let looked = look(recording("csi-unmount"), everything());
    let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(text.contains("Probable. Not verified: whether this volume is still mounted on"), "{text}");
    assert!(block(&shown(&looked), 1)[1].starts_with("   probable: "), "{}", shown(&looked));
}

#[test]
fn the_time_of_the_deletion_stands_beside_its_age() {
    let world = pods(1);
    let day = world.ago(600).get(..10).unwrap().to_owned();
    let looked = look(world, object("pod", "shop", "web-0"));
    let text = tree(&looked.report, Detail::Short, 100, Style::Plain);
    assert!(text.contains(&format!("Stuck for 10m (deletionTimestamp {day} ")), "{text}");
    assert!(!text.contains("Deleted by"), "{text}");
    let wide = tree(&looked.report, Detail::Wide, 100, Style::Plain);
    assert!(wide.contains("Deleted by: not recorded in the object; in the audit log"), "{wide}");
    assert!(wide.contains("objectRef.name = \"web-0\" and objectRef.namespace = \"shop\" | fields"), "{wide}");
    assert!(wide.contains("resourceName:\"namespaces/shop/pods/web-0\"'\n"), "{wide}");
}

#[test]
fn what_was_scanned_and_what_was_not_are_the_last_lines() {
    let text = shown(&look(healthy(), everything()));
    assert!(text.starts_with("Nothing is stuck in what was scanned\n\nScanned      56 kinds"), "{text}");
    assert!(text.ends_with("\nNot scanned  secrets: only with --all-kinds, by metadata\n"), "{text}");
    let text = shown(&look(healthy(), Subject::Everything { namespace: None, all_kinds: true }));
    assert!(text.starts_with("Nothing is stuck\n") && !text.contains("Not scanned"), "{text}");
}

#[test]
fn the_table_has_one_row_for_each_root_and_is_never_cut() {
    let long = "a-name-that-is-longer-than-most-terminals-are-wide.".repeat(3) + "x";
    let world = healthy().active("shop").going_pod("shop", &long, "node-a", "Running");
    let looked = look_at_anything(world, everything());
    let text = table(&looked.report, true, Style::Plain);
    let (head, row) = text.trim_end().split_once('\n').unwrap();
    let columns: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(columns, ["ID", "AGE", "CAUSE", "ROOT", "VICTIMS"]);
    assert!(row.starts_with(&format!("{}   10m ", looked.report.roots[0].id)) && row.ends_with(&long), "{row}");
}

#[test]
fn what_could_not_be_looked_at_is_one_line() {
    let world = healthy().refuse("/api/v1/persistentvolumeclaims", 403, "persistentvolumeclaims is forbidden");
    let text = shown(&look(world, everything()));
    assert!(text.starts_with("Nothing stuck was found, but not everything could be read"), "{text}");
    assert!(text.contains("\nUnknown  persistentvolumeclaims: not visible to us"), "{text}");
}

#[test]
fn rights_that_are_missing_are_said_once_with_the_command_that_asks_for_them() {
    let refused = |world: World, path: &str, resource: &str, group: &str| {
        let words = format!(
            "{resource} is forbidden: User \"jane\" cannot list resource \"{resource}\" in API group \"{group}\" at the \
             cluster scope"
        );
        world.refuse(path, 403, &words)
    };
    let one = refused(healthy(), "/api/v1/nodes", "nodes", "");
    let text = shown(&look(one, everything()));
    assert!(text.contains("\nUnknown  no permission to list nodes (all namespaces); hides which nodes are"), "{text}");
    assert!(text.contains("\n         kubectl auth can-i list nodes -A\n"), "{text}");
    let line = plugin::report::not_read(&look(refused(healthy(), "/api/v1/nodes", "nodes", ""), everything()).report);
    let says = "not everything could be read: no permission to list nodes (all namespaces); to ask for it: kubectl auth can-i list nodes -A";
    assert_eq!(line.as_deref(), Some(says));
    assert_eq!(plugin::report::not_read(&look(healthy(), everything()).report), None);
    let two = refused(healthy(), "/api/v1/nodes", "nodes", "");
    let two = refused(two, "/apis/storage.k8s.io/v1/volumeattachments", "volumeattachments", "storage.k8s.io");
    let looked = look(two, everything());
    for text in [shown(&looked), tree(&looked.report, Detail::Short, 100, Style::Plain)] {
        assert_eq!(text.matches("Unknown  ").count(), 1, "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("no permission to list nodes, volumeattachments.storage.k8s.io (all namespaces)"),
            "{text}"
        );
        assert!(text.contains("\n         kubectl auth can-i --list\n"), "{text}");
        assert!(
            words.contains("which nodes are being deleted") && words.contains("which volumeattachments are"),
            "{text}"
        );
    }
    let scanned = looked.report.looked_at;
    let is_scanned = |kind: &str| scanned.iter().any(|one| one == kind);
    assert!(is_scanned("persistentvolumes") && !is_scanned("nodes") && !is_scanned("volumeattachments"), "{scanned:?}");
}

#[test]
fn what_an_agent_reports_is_verified_first() {
    let pod = "ee7644fa-c649-4025-9178-81dc31cad0c6";
    let looked = look(recording("dstate-fuse").told(AgentEventFixture::fuse(&[pod])), everything());
    let block = block(&shown(&looked), 1);
    assert!(block[0].contains("FuseServerNotResponding  pid 22655 s3fs on node-a"), "{block:#?}");
    assert!(block[1].starts_with("   node-a says (12s ago): "), "{block:#?}");
    let next = "   Next    kubectl why-terminating pod/p -n exam-dstate --live";
    assert!(block.iter().any(|line| line == next), "{block:#?}");
}

#[test]
fn what_does_not_fit_leaves_no_hole_where_there_is_nothing_to_explain() {
    let hidden = look(healthy().refuse("/api/v1/pods", 403, "no"), everything());
    assert!(hidden.report.roots.is_empty(), "{:#?}", hidden.report);
    let text = screen(&hidden.report, 40, Style::Plain);
    assert!(!text.contains("\n\n\n"), "{text}");
}
