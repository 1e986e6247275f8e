//! How one gets to where the steps run, on nodes without a shell.

use findings::render::{Detail, Style};
use plugin::report::tree;

use crate::support::*;

const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";

/// A pod that a process on node-a holds, where the node says this of itself.
fn on(system: &str, provider_id: &str) -> World {
    let world = recording("dstate-fuse").policy(86_400).told(AgentEventFixture::fuse(&[POD]));
    world.change("/api/v1/nodes", "node-a", |node| {
        node["status"]["nodeInfo"]["osImage"] = system.into();
        node["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.7"}]);
        node["spec"]["providerID"] = provider_id.into();
    })
}

/// The steps that do not run on the node, after the one that asks its agent.
fn ways(looked: &Looked) -> Vec<String> {
    let steps = looked.report.roots.iter().flat_map(|root| &root.finding.remedy.steps);
    let here = steps.skip(1).filter(|step| !step.on_the_node);
    here.filter_map(|step| step.command.clone()).collect()
}

#[test]
fn the_way_to_a_node_without_a_shell_stands_before_what_is_typed_there() {
    for (system, provider_id, command) in [
        ("Talos (v1.11.2)", "", "kubectl -n kube-system debug node/node-a -it --profile=sysadmin --image=debian"),
        (
            "Bottlerocket OS 1.26.1 (aws-k8s-1.31)",
            "aws:///eu-west-1a/i-0123456789abcdef0",
            "aws ssm start-session --target i-0123456789abcdef0",
        ),
        (
            "Container-Optimized OS from Google",
            "gce://shop-1/europe-west1-b/gke-shop-7",
            "gcloud compute ssh gke-shop-7 --project shop-1 --zone europe-west1-b",
        ),
    ] {
        let looked = look(on(system, provider_id), everything());
        assert_eq!(ways(&looked), [command], "{:#?}", looked.report);
        let shown = tree(&looked.report, Detail::Short, 400, Style::Plain);
        assert!(shown.contains("The first two steps run here; run the others on node-a as root"), "{shown}");
    }
    for (system, provider_id) in [
        ("Ubuntu 24.04.1 LTS", "aws:///eu-west-1a/i-0123456789abcdef0"),
        ("Container-Optimized OS from Google", "elsewhere"),
        ("Bottlerocket OS 1.26.1 (aws-k8s-1.31)", "aws:///eu-west-1a/\u{1b}"),
        ("", ""),
    ] {
        assert_eq!(ways(&look(on(system, provider_id), everything())), [""; 0], "{system}");
    }
}

#[test]
fn on_a_talos_whose_kubelet_is_silent_no_pod_starts() {
    let world = on("Talos (v1.11.2)", "").node_ready("node-a", "False", "KubeletNotReady", "container runtime is down");
    let looked = look(world, everything());
    let commands = looked.commands();
    assert!(commands.iter().any(|command| command == "talosctl -n 10.0.0.7 logs kubelet"), "{commands:#?}");
    assert!(!commands.iter().any(|command| command.contains(" debug node/")), "{commands:#?}");
}
