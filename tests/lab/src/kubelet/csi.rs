//! How the kubelet has a CSI volume unpublished.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use cri::Connection;
use serde::Deserialize;

use super::volumes::{exists, is_mount};
use crate::standin::csi::{Empty, GET_INFO, NODE_UNPUBLISH_VOLUME, NodeUnpublishVolumeRequest, PluginInfo};

/// The kubelet waits two minutes for a driver.
const DEADLINE: Duration = Duration::from_secs(2);

/// What the kubelet reads of `vol_data.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolData {
    driver_name: String,
    volume_handle: String,
}

/// Unpublishes the volume in `dir` and removes what the kubelet itself put there.
pub fn tear_down(kubelet_root: &Path, dir: &Path) -> anyhow::Result<()> {
    if !exists(dir)? {
        return Ok(());
    }
    let (target, file) = (dir.join("mount"), dir.join("vol_data.json"));
    unpublish(kubelet_root, &file, &target)?;
    // Still mounted after the driver said OK: the kubelet takes that for done, and forgets it.
    if is_mount(&target)? {
        return Ok(());
    }
    if target.exists() {
        fs::remove_dir(&target).with_context(|| format!("failed to remove dir {}", target.display()))?;
    }
    fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))?;
    fs::remove_dir(dir).with_context(|| format!("remove {}", dir.display()))
}

/// Has the driver that `file` names unpublish what is at `target`.
pub fn unpublish(kubelet_root: &Path, file: &Path, target: &Path) -> anyhow::Result<()> {
    let volume = load(file)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let endpoint = executor
        .block_on(registered(kubelet_root, &volume.driver_name))
        .with_context(|| "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client")?;
    let question =
        NodeUnpublishVolumeRequest { volume_id: volume.volume_handle, target_path: target.display().to_string() };
    executor.block_on(async {
        let driver = Connection::new(&endpoint, DEADLINE)?;
        let answer: Result<Empty, _> = driver.call(NODE_UNPUBLISH_VOLUME, question).await;
        answer.map_err(|error| anyhow::anyhow!("kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: {error}"))
    })?;
    Ok(())
}

pub fn load(file: &Path) -> anyhow::Result<VolData> {
    let text = fs::read(file).with_context(|| {
        format!(
            "UnmountVolume.NewUnmounter failed: kubernetes.io/csi: failed to open volume data file [{}]",
            file.display()
        )
    })?;
    serde_json::from_slice(&text)
        .with_context(|| format!("kubernetes.io/csi: failed to parse volume data file [{}]", file.display()))
}

/// Asks every registration socket which driver it stands for.
async fn registered(kubelet_root: &Path, driver: &str) -> anyhow::Result<PathBuf> {
    for entry in fs::read_dir(kubelet_root.join("plugins_registry"))? {
        let connection = Connection::new(&entry?.path(), DEADLINE)?;
        let info: Result<PluginInfo, _> = connection.call(GET_INFO, Empty {}).await;
        if let Ok(info) = info
            && info.name == driver
        {
            return Ok(PathBuf::from(info.endpoint));
        }
    }
    anyhow::bail!("driver name {driver} not found in the list of registered CSI drivers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_volume_data_file_is_an_error_of_its_own() {
        let dir = std::env::temp_dir().join(format!("lab-vol-data-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("vol_data.json");
        assert!(load(&file).unwrap_err().to_string().contains("failed to open"));
        fs::write(&file, "").unwrap();
        assert!(load(&file).unwrap_err().to_string().contains("failed to parse"));
        fs::write(&file, serde_json::to_vec(&crate::volume::vol_data("v")).unwrap()).unwrap();
        assert_eq!(load(&file).unwrap().volume_handle, "handle-v");
        fs::remove_dir_all(&dir).unwrap();
    }
}
