//! A CSI driver of our own that a real kubelet asks to unpublish, in all its manners.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::wait_for;
use serde_json::{Value, json};

use crate::cluster::{Cluster, deleted_afterwards};
use crate::pod;
use crate::process::{Killed, stand_in};
use crate::situation::{Cure, Situation, Staged};

const VOLUME: &str = "e2e-claimed";

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
    /// Starts one, and waits until the kubelet has told the API server of it.
    fn start(cluster: &Cluster, namespace: &str, manner: &str) -> anyhow::Result<Self> {
        let name = driver_of(namespace);
        let sockets = Sockets::of(&name);
        let (own, registration) = (sockets.own.display().to_string(), sockets.registration.display().to_string());
        let process = stand_in([
            "csi-driver",
            "--name",
            &name,
            "--manner",
            manner,
            "--socket",
            &own,
            "--registration",
            &registration,
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

/// What the step has moved away is thrown away, too.
fn leaves(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let before = moved();
    let throw_away = move || {
        for dir in moved().into_iter().filter(|dir| !before.contains(dir)) {
            let _ = std::fs::remove_dir_all(dir);
        }
    };
    Ok(staged(cluster, namespace, "leaves")?.and(Staged::at_the_end(throw_away)))
}

fn moved() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/var/tmp").into_iter().flatten().flatten();
    let is_moved = |path: &PathBuf| path.to_string_lossy().contains("/moved.");
    entries.map(|entry| entry.path()).filter(is_moved).collect()
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
    let size = json!({"storage": "1Mi"});
    let volume = deleted_afterwards("pv", VOLUME);
    cluster.apply(&[
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME},
            "spec": {
                "capacity": size, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "", "csi": {"driver": driver_of(namespace), "volumeHandle": "e2e-1"}
            }
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "claimed", "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": size}, "storageClassName": "",
                "volumeName": VOLUME
            }
        }),
    ])?;
    let claim = json!({"persistentVolumeClaim": {"claimName": "claimed"}});
    let (driver, object) = run(cluster, namespace, "proper", Some(claim))?;
    drop(driver);
    Ok(object.and(volume))
}
