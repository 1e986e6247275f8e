//! `--workload-kubeconfig`: a Machine leads on to its node in another cluster.

use std::path::Path;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::State;
use aggregator_core::workload::machines;
use anyhow::{Context as _, Result, bail};
use client::{Connection, connect};
use findings::quote_for_shell;

use super::args::{self, Flags, Share};
use super::query::{complete_state, query};

/// Asks that cluster about the nodes of the Machines in the answer, and adds what it finds.
pub async fn follow(state: &State, report: &mut ClusterReport, file: &Path, flags: &Flags) -> Result<()> {
    if flags.answer.share == Some(Share::Redacted) {
        bail!("--share=redacted replaces no names of the workload cluster: leave --workload-kubeconfig out");
    }
    let quoted =
        file.to_str().and_then(quote_for_shell).context("--workload-kubeconfig: no command can name this file")?;
    let machines = machines(state, report);
    if machines.is_empty() {
        report.notes.insert("No Machine of this answer has its node in another cluster".to_owned());
        return Ok(());
    }
    let to = Connection {
        kubeconfig: Some(file.to_owned()),
        request_timeout: flags.connection.request_timeout,
        ..Connection::default()
    };
    let (client, _) = connect(&args::connection(&to)).await.context("the workload cluster")?;
    for machine in machines {
        let mut workload = query(&client, &machine.subject(), flags).await.context("the workload cluster")?;
        workload.is_of_deleted_machine = machine.is_of_cluster_api();
        complete_state(&client, &mut workload, flags).await;
        machine.join(report, &workload, &quoted);
    }
    Ok(())
}
