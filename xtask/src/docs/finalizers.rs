//! `docs/finalizers.md`, written from the registry of finalizers.

use std::fmt::Write as _;

use anyhow::Result;

use super::cell;

pub const PAGE: &str = "docs/finalizers.md";

const INTRODUCTION: &str = "\
<!-- Written by `cargo run -p xtask -- docs` from aggregator/core/src/rules/finalizer/registry. Do not edit. -->

# Finalizers

The finalizers that why-terminating knows by name: who takes each off and when, what is lost when somebody else does, and
the source that says so. What stands under *When* goes on as soon as that program works again. `*` stands for anything. A
finalizer that is not here is explained by who set it and by who may change the object.

The finalizers that have rules of their own stand in [causes.md](causes.md): `kubernetes` of a Namespace,
`foregroundDeletion`, `orphan`, `kubernetes.io/pvc-protection`, `kubernetes.io/pv-protection`, `external-attacher/*`,
`external-provisioner.volume.kubernetes.io/finalizer` and `customresourcecleanup.apiextensions.k8s.io`.

";

pub fn page() -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    writeln!(page, "| Finalizer | On | Taken off by | When | What is lost otherwise | Cause | Source |")?;
    writeln!(page, "|---|---|---|---|---|---|---|")?;
    for known in aggregator_core::known_finalizers() {
        let names: Vec<String> =
            known.names.iter().flat_map(|name| name.to_string().split(", ").map(code).collect::<Vec<_>>()).collect();
        let owner = match known.runs {
            "" => known.released_by.to_owned(),
            runs => format!("{}, {runs}", known.released_by),
        };
        let lost = match known.by_mistake {
            "" => known.lost.to_owned(),
            by_mistake => format!("{}. If it was deleted by mistake: {by_mistake}", known.lost),
        };
        let id = known.cause.id;
        let (repository, path) = known.source.split_once(": ").unwrap_or((known.source, ""));
        writeln!(
            page,
            "| {} | {} | {} | {} | {} | [{id}](causes/{id}.md) | {} {} |",
            names.join(", "),
            cell(known.on),
            cell(&owner),
            cell(known.when),
            cell(&lost),
            cell(repository),
            code(path)
        )?;
    }
    Ok(page)
}

fn code(words: &str) -> String {
    format!("`{words}`")
}
