//! The token is exchanged, as every hour in a real cluster.

use std::fs;

use anyhow::ensure;
use serde_json::Value;

use super::{events::series, ground::Staged};

/// The old token is refused from one moment to the next; the new one is in the file.
pub fn rotated(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("token")?;
    let file = cluster.dir().join("token");
    fs::write(&file, "first")?;
    cluster.store().set_tokens(&["first"])?;
    let mut config: Value = serde_json::from_slice(&fs::read(cluster.kubeconfig())?)?;
    config["users"][0]["user"] = serde_json::json!({"tokenFile": file});
    fs::write(cluster.kubeconfig(), config.to_string())?;
    let agent = staged.agent(&cluster, &["--event-renewal=5s", "--event-refill=1s"])?;
    staged.wait_told(&cluster, &agent)?;
    let told = || anyhow::Ok(series(cluster.events()?.about(&staged.pod.uid).warning()?));
    fs::write(&file, "second")?;
    cluster.store().set_tokens(&["second"])?;
    let before = told()?;
    agent.wait("the agent uses the new token", || Ok((told()? > before).then_some(())))?;
    let refused = cluster.store().requests()?.iter().filter(|request| request.status == 401).count();
    ensure!((1..20).contains(&refused), "{refused} requests were refused");
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    Ok(())
}
