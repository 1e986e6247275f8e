//! A CSI driver of our own that a real kubelet asks to unpublish, in all its manners.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use lab::{mounts, wait_for};
use serde_json::{Value, json};

use crate::cluster::{Cluster, deleted_afterwards};
use crate::pod;
use crate::process::{Killed, stand_in};
use crate::situation::{Cure, Situation, Staged};
use crate::thrown_away::thrown_away_afterwards;

/// All of them. Each has a driver of its own, as the kubelet counts by driver.
pub fn all() -> Vec<Situation> {
    let move_away = Cure::Typed(&["umount ", "mv "]);
    vec![
        Situation::of_node("csi-fine", "", fine, Cure::None),
        Situation::of_node("csi-fails", "CsiUnpublishFails", fails, comes_back())
            .with_counters()
            .saying(&["answers Internal to NodeUnpublishVolume"]),
        Situation::of_node("csi-leaves", "CsiUnpublishLeftMount", leaves, move_away)
            .with_counters()
            .saying(&["NodeUnpublishVolume of e2e-csi-leaves.example.com: OK "]),
        Situation::of_node(
            "csi-twice",
            "VolumeMountedTwice",
            mounts_twice,
            Cure::Typed(&["umount ", "umount ", "mv "]),
        )
        .one_of("what is moved away"),
        Situation::of_node("csi-note", "VolDataMissing", loses_note, Cure::Typed(&["printf "])),
        Situation::of_node("csi-fuse", "FuseServerGone", dead_fuse, Cure::Typed(&["umount "])),
        Situation::of_node("csi-dead", "CsiDriverNotRegistered", dies, comes_back()),
        Situation::of_node("csi-gone", "CsiDriverNotRegistered", goes, comes_back()),
        Situation::of_node("csi-claim", "CsiDriverNotRegistered", goes_with_claim, comes_back()),
    ]
}

/// A driver that unmounts, in the place of the other.
fn comes_back() -> Cure {
    Cure::Done(|cluster, namespace| Ok(Staged::until_the_end(Driver::start(cluster, namespace, "blunt")?)))
}

fn driver_of(namespace: &str) -> String {
    format!("{namespace}.example.com")
}

/// The driver, until the end.
struct Driver {
    process: Killed,
    sockets: Sockets,
}

/// Where the kubelet looks for it.
struct Sockets {
    own: PathBuf,
    registration: PathBuf,
}

impl Sockets {
    /// The kubelet's client (grpc-go) makes the path the `:authority` of its calls, and the server of these (h2) takes
    /// no `%` in one but before an `@`.
    fn of(driver: &str) -> Self {
        let kubelet = Path::new("/var/lib/kubelet");
        Self {
            own: kubelet.join("plugins").join(driver).join("node@csi.sock"),
            registration: kubelet.join("plugins_registry").join(format!("{driver}@reg.sock")),
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.registration);
        let _ = std::fs::remove_file(&self.own);
        let _ = self.own.parent().map(std::fs::remove_dir);
    }
}

impl Driver {
    /// Starts one, and waits until the kubelet has reported it to the API server.
    fn start(cluster: &Cluster, namespace: &str, manner: &str) -> anyhow::Result<Self> {
        let name = driver_of(namespace);
        let sockets = Sockets::of(&name);
        let (own, registration) = (sockets.own.display().to_string(), sockets.registration.display().to_string());
        let process = stand_in([
            "csi-driver", "--name", &name, "--manner", manner, "--socket", &own, "--registration", &registration,
        ])?;
        wait_for("the driver is registered", Duration::from_secs(30), || {
            std::thread::sleep(Duration::from_millis(500));
            let node = cluster.json(&["get", "csinode", &cluster.node])?;
            Ok(node["spec"]["drivers"].to_string().contains(&name).then_some(()))
        })?;
        Ok(Self { process, sockets })
    }
}

/// A pod with a volume, inline where none is given, of a driver of this manner.
fn run(cluster: &Cluster, namespace: &str, manner: &str, volume: Option<Value>) -> anyhow::Result<(Driver, Staged)> {
    let name = driver_of(namespace);
    cluster.apply(&[json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
        "spec": {
            "attachRequired": false, "podInfoOnMount": false, "fsGroupPolicy": "None",
            "volumeLifecycleModes": ["Ephemeral", "Persistent"]
        }
    })])?;
    let object = deleted_afterwards("csidriver", &name);
    let driver = Driver::start(cluster, namespace, manner)?;
    let volume = volume.unwrap_or_else(|| json!({"csi": {"driver": name}}));
    pod::run(cluster, namespace, pod::SLEEPS, &volume)?;
    Ok((driver, object))
}

fn staged(cluster: &Cluster, namespace: &str, manner: &str) -> anyhow::Result<Staged> {
    let (driver, object) = run(cluster, namespace, manner, None)?;
    Ok(Staged::until_the_end(driver).and(object))
}

fn fine(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    staged(cluster, namespace, "proper")
}

fn fails(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    staged(cluster, namespace, "fails")
}

fn leaves(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = thrown_away_afterwards();
    Ok(staged(cluster, namespace, "leaves")?.and(afterwards))
}

/// Of the volume that the driver has published.
fn published(cluster: &Cluster, namespace: &str, file: &str) -> anyhow::Result<PathBuf> {
    let volumes = pod::dir(cluster, namespace)?.join("volumes/kubernetes.io~csi");
    let volume = std::fs::read_dir(&volumes)?.next().context("no volume was published")??;
    Ok(volume.path().join(file))
}

/// As after a restart of the kubelet, with a driver that does not look first. Its own unmount takes one away.
fn mounts_twice(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = thrown_away_afterwards();
    let staged = staged(cluster, namespace, "once")?.and(afterwards);
    let target = published(cluster, namespace, "mount")?;
    mounts::tmpfs(&target)?;
    mounts::tmpfs(&target)?;
    Ok(staged)
}

/// The kubelet's own note about the volume has gone.
fn loses_note(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (claim, volume) = claim(cluster, namespace)?;
    let (driver, object) = run(cluster, namespace, "proper", Some(claim))?;
    std::fs::remove_file(published(cluster, namespace, "vol_data.json")?)?;
    Ok(Staged::until_the_end(driver).and(object).and(volume))
}

/// What the driver has published is a FUSE mount, and its server is gone.
fn dead_fuse(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let staged = staged(cluster, namespace, "proper")?;
    let target = published(cluster, namespace, "mount")?;
    mounts::unmount(&target)?;
    let server = stand_in(["hangfs".as_ref(), target.as_os_str(), "--source".as_ref(), "s3fs".as_ref()])?;
    wait_for("the FUSE mount", Duration::from_secs(10), || Ok(mounts::is_mounted(&target)?.then_some(())))?;
    drop(server);
    Ok(staged)
}

/// Its process is dead, and its sockets are there.
fn dies(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (Driver { process, sockets }, object) = run(cluster, namespace, "proper", None)?;
    drop(process);
    Ok(Staged::until_the_end(sockets).and(object))
}

/// It was uninstalled.
fn goes(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (driver, object) = run(cluster, namespace, "proper", None)?;
    drop(driver);
    Ok(object)
}

/// The same, with a claim.
fn goes_with_claim(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (claim, volume) = claim(cluster, namespace)?;
    let (driver, object) = run(cluster, namespace, "proper", Some(claim))?;
    drop(driver);
    Ok(object.and(volume))
}

/// A volume of a pod by a claim, and what takes away the PersistentVolume.
fn claim(cluster: &Cluster, namespace: &str) -> anyhow::Result<(Value, Staged)> {
    let (size, name) = (json!({"storage": "1Mi"}), format!("{namespace}-volume"));
    let volume = deleted_afterwards("pv", &name);
    cluster.apply(&[
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": size, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "", "csi": {"driver": driver_of(namespace), "volumeHandle": name}
            }
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "claimed", "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": size}, "storageClassName": "",
                "volumeName": name
            }
        }),
    ])?;
    Ok((json!({"persistentVolumeClaim": {"claimName": "claimed"}}), volume))
}
