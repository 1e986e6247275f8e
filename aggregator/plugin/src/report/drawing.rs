//! What waits for what, as a drawing: Graphviz and Mermaid.

use std::collections::BTreeMap;
use std::sync::Arc;

use findings::{Entity, Link};

use aggregator_core::report::ClusterReport;

/// Nodes and edges, in the order they were met.
struct Drawing {
    /// Each node once: its text and whether it is a root cause.
    nodes: Vec<(String, bool)>,
    edges: Vec<(usize, usize)>,
}

fn drawing(report: &ClusterReport) -> Drawing {
    // A pid or a path means something on its own node only.
    let mut known: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    let mut drawing = Drawing { nodes: Vec::new(), edges: Vec::new() };
    for root in &report.roots {
        let victims =
            root.victims.iter().map(|victim| (root.finding.cause, victim.chain.iter().map(Arc::as_ref).collect()));
        let also = root.also.iter().map(|other| (other.cause, other.chain.iter().collect()));
        for (cause, chain) in victims.chain(also) {
            let chain: Vec<&Link> = chain;
            let mut above = None;
            for link in chain {
                let is_object = matches!(link.what, Some(Entity::Object { .. }));
                let node = root.told_by.as_ref().filter(|_| !is_object).map(|by| by.node.as_str());
                let at = *known.entry((&link.subject, node)).or_insert_with(|| {
                    drawing.nodes.push((link.subject.clone(), false));
                    drawing.nodes.len() - 1
                });
                if link.root
                    && let Some(node) = drawing.nodes.get_mut(at).filter(|node| !node.1)
                {
                    *node = (format!("{}\n{}", link.subject, cause.id), true);
                }
                if let Some(edge) = above.map(|above| (above, at)).filter(|edge| !drawing.edges.contains(edge)) {
                    drawing.edges.push(edge);
                }
                above = Some(at);
            }
        }
    }
    drawing
}

/// For `dot -Tsvg`.
pub fn dot(report: &ClusterReport) -> String {
    let Drawing { nodes, edges } = drawing(report);
    let mut text = String::from("digraph why_terminating {\n  rankdir=LR;\n  node [shape=box];\n");
    for (index, (words, root)) in nodes.iter().enumerate() {
        let escaped = words.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let mark = if *root { ", color=red, penwidth=2" } else { "" };
        text.push_str(&format!("  n{index} [label=\"{escaped}\"{mark}];\n"));
    }
    for (from, to) in edges {
        text.push_str(&format!("  n{from} -> n{to};\n"));
    }
    text + "}\n"
}

/// For a Markdown page.
pub fn mermaid(report: &ClusterReport) -> String {
    let Drawing { nodes, edges } = drawing(report);
    let mut text = String::from("flowchart LR\n");
    for (index, (words, root)) in nodes.iter().enumerate() {
        // Mermaid reads entities inside quotes, and a line break as HTML has it.
        let escaped = words.replace('&', "#amp;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;");
        let mark = if *root { ":::root" } else { "" };
        text.push_str(&format!("  n{index}[\"{}\"]{mark}\n", escaped.replace('\n', "<br>")));
    }
    for (from, to) in edges {
        text.push_str(&format!("  n{from} --> n{to}\n"));
    }
    text + "  classDef root stroke:#c00,stroke-width:2px\n"
}
