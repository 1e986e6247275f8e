//! `docs/SUMMARY.md`, the table of contents of the book (`mdbook build`): a page that is not in it is not in the book.

use std::fmt::Write as _;

use anyhow::Result;

use super::{causes, text};

pub const PAGE: &str = "docs/SUMMARY.md";

/// The pages that are written by hand or stand alone, under their headings.
const PARTS: &[(&str, &[(&str, &str)])] = &[
    (
        "From the symptom to the answer",
        &[
            ("My namespace is stuck", "answers/namespace.md"),
            ("A pod is stuck", "answers/pod.md"),
            ("A CSI unmount failed", "answers/csi-unmount.md"),
            ("The node is gone", "answers/node-gone.md"),
            ("The drain hangs", "answers/drain.md"),
        ],
    ),
    (
        "Using it",
        &[
            ("Quick start", "quick-start.md"),
            ("The plugin", "kubectl.md"),
            ("Elsewhere: k9s and CI", "integrations.md"),
            ("The agent", "agent.md"),
            ("The service", "service.md"),
            ("Alerts", "alerts.md"),
        ],
    ),
    (
        "Knowing it",
        &[
            ("How it works", "how-it-works.md"),
            ("Its rights", "security.md"),
            ("Where it runs", "support.md"),
            ("How often `check` is right", "accuracy.md"),
            ("Which changes its tests notice", "mutants.md"),
            ("What was seen on which versions", "seen-on.md"),
            ("What it endures", "soak.md"),
            ("What it costs", "benchmarks.md"),
            ("What other tools show", "compared.md"),
            ("What it depends on", "dependencies.md"),
            ("Releasing it", "release.md"),
        ],
    ),
];

pub fn page() -> Result<String> {
    let mut page = String::from("<!-- Written by `cargo run -p xtask -- docs`. Do not edit. -->\n\n# Summary\n");
    for (title, chapters) in PARTS {
        writeln!(page, "\n# {title}\n")?;
        for (name, path) in *chapters {
            writeln!(page, "- [{name}]({path})")?;
        }
    }
    writeln!(page, "\n# What it knows\n\n- [Finalizers](finalizers.md)\n- [Causes](causes.md)")?;
    for cause in causes::listed() {
        writeln!(page, "  - [{}](causes/{}.md)", text(cause.id), cause.id)?;
    }
    Ok(page)
}
