//! What goes on in a large cluster all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use apiserver::Store;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::crowd::{Crowd, node_name};
use crate::cluster::text::uid;
use crate::cluster::{LOST, Size};

/// How much changes in each second.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Leases that are renewed.
    pub leases: f64,
    /// Pods whose status is written.
    pub pods: f64,
    /// Stuck objects that come or go.
    pub stuck: f64,
}

/// Pods that are written again and again, and stuck ones that come and go.
const PODS: u64 = 2000;
const STUCK: u64 = 200;

/// It ends when this is dropped.
pub struct Live {
    ended: Arc<AtomicBool>,
    /// Leases, pods and stuck objects so far.
    done: Arc<[AtomicU64; 3]>,
    threads: Vec<JoinHandle<()>>,
}

impl Live {
    /// Begins.
    pub fn start(store: &Store, size: Size, rates: Rates) -> anyhow::Result<Self> {
        let crowd = Crowd::new(size, Timestamp::now())?;
        let (ended, done) = (Arc::new(AtomicBool::new(false)), Arc::new([const { AtomicU64::new(0) }; 3]));
        let mut live = Live { ended, done, threads: Vec::new() };
        let values = |node| Crowd::pod_values(node, "web", "web");
        let pod = crowd.pod.value("team-00003", "churn", &values("node-0013"))?;
        let mut stuck = crowd.pod.value("team-00002", "live", &values("node-0010"))?;
        stuck["metadata"]["finalizers"] = json!(["billing.example.com/account"]);
        stuck["metadata"]["deletionTimestamp"] = crowd.ago(3600).into();
        stuck["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        stuck["status"]["phase"] = json!("Failed");
        stuck["status"]["containerStatuses"][0]["state"] = json!({"terminated": {"exitCode": 137, "reason": "Error"}});
        let lease = crowd.lease.value("kube-node-lease", "lease", &[])?;
        let nodes = u64::try_from(size.nodes)?;
        let of = store.clone();
        live.every(0, rates.leases, move |turn| {
            let name = node_name(usize::try_from(turn % nodes)?);
            if name == LOST {
                return Ok(());
            }
            let mut lease = named(&lease, "leases", &name);
            let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
            (lease["spec"]["renewTime"], lease["spec"]["holderIdentity"]) = (now.into(), name.clone().into());
            of.put("leases", Some("kube-node-lease"), &name, &lease)
        });
        let of = store.clone();
        live.every(1, rates.pods, move |turn| {
            let name = format!("churn-{}", turn % PODS);
            let mut pod = named(&pod, "pods", &name);
            pod["status"]["containerStatuses"][0]["restartCount"] = (turn / PODS).into();
            of.put_pod("team-00003", &name, &pod)
        });
        let of = store.clone();
        live.every(2, rates.stuck, move |turn| {
            let name = format!("live-{}", turn % STUCK);
            if (turn / STUCK).is_multiple_of(2) {
                return of.put_pod("team-00002", &name, &named(&stuck, "pods", &name));
            }
            of.remove_pod("team-00002", &name).map(drop)
        });
        Ok(live)
    }

    /// Does something so often in a second, as far as the machine can.
    fn every(&mut self, which: usize, rate: f64, act: impl Fn(u64) -> anyhow::Result<()> + Send + 'static) {
        let (ended, done) = (Arc::clone(&self.ended), Arc::clone(&self.done));
        self.threads.push(std::thread::spawn(move || {
            let begun = Instant::now();
            for turn in 0.. {
                let due = Duration::from_secs_f64(turn as f64 / rate.max(0.01));
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                match act(turn) {
                    Ok(()) => done[which].fetch_add(1, Ordering::Relaxed),
                    Err(error) => return eprintln!("bench: the cluster stands still: {error:#}"),
                };
            }
        }));
    }

    /// Leases, pods and stuck objects that were written so far.
    pub fn done(&self) -> [u64; 3] {
        [0, 1, 2].map(|which: usize| self.done[which].load(Ordering::Relaxed))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn named(object: &Value, dir: &str, name: &str) -> Value {
    let mut object = object.clone();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    object["metadata"]["uid"] = uid(dir, &namespace, name).into();
    object["metadata"]["name"] = name.into();
    object
}
