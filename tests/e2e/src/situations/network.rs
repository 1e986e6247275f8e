//! The node's pod network, which the runtime cannot take down.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::pod;
use crate::situation::{Cure, Situation, Staged};

/// All of them.
pub fn all() -> Vec<Situation> {
    // As if the network's own DaemonSet were back.
    let come_back = || Cure::Done(|_, _| Configuration::find()?.restore().map(|()| Staged::default()));
    vec![
        Situation::of_node("cni-plugin", "CniTeardownFailing", without_plugin, come_back()).alone(),
        Situation::of_node("cni-config", "NetworkNotReady", without_configuration, come_back()).alone(),
    ]
}

/// The configuration that the runtime uses: the first of its directory.
struct Configuration {
    path: PathBuf,
    /// Where the right one waits.
    aside: PathBuf,
}

impl Configuration {
    fn find() -> anyhow::Result<Self> {
        let dir = std::env::var_os("CNI_CONF_DIR").map_or_else(|| PathBuf::from("/etc/cni/net.d"), PathBuf::from);
        let entries = fs::read_dir(&dir).with_context(|| format!("CNI_CONF_DIR {}", dir.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let aside = paths.iter().find(|path| has_extension(path, "e2e"));
        let path = aside.map(|aside| aside.with_extension(""));
        let path = path.or_else(|| paths.iter().find(|path| has_extension(path, "conflist")).cloned());
        let path = path.with_context(|| format!("no conflist in {}", dir.display()))?;
        let aside = PathBuf::from(format!("{}.e2e", path.display()));
        Ok(Self { path, aside })
    }

    fn restore(&self) -> anyhow::Result<()> {
        if self.aside.exists() {
            fs::rename(&self.aside, &self.path).context("put the configuration back")?;
        }
        Ok(())
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The plugin was uninstalled.
fn without_plugin(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let configuration = Configuration::find()?;
    let mut words: Value = serde_json::from_slice(&fs::read(&configuration.path)?)?;
    words["plugins"][0]["type"] = json!("uninstalled");
    fs::rename(&configuration.path, &configuration.aside)?;
    fs::write(&configuration.path, words.to_string())?;
    Ok(Staged::until_the_end(configuration))
}

fn without_configuration(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let configuration = Configuration::find()?;
    fs::rename(&configuration.path, &configuration.aside)?;
    Ok(Staged::until_the_end(configuration))
}
