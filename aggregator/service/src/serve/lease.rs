//! Holds the Lease, or waits for it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::election::{Election, LEASE_DURATION, RETRY_INTERVAL, Record, Step};
use crate::leader::{Leader, since_start};

/// Where the Lease is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl std::str::FromStr for LeaseName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').ok_or("a Lease is named NAMESPACE/NAME")?;
        let is_name = |name: &str| {
            let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            (1..=253).contains(&name.len()) && name.bytes().all(is_known)
        };
        if !is_name(namespace) || !is_name(name) {
            return Err("a Lease is named NAMESPACE/NAME");
        }
        Ok(LeaseName { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// Waits for a Lease and renews it.
pub struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    election: Election,
    leader: Leader,
    /// No request takes longer: what is answered later was answered for somebody who may be paused.
    deadline: Duration,
}

impl Candidate {
    /// Nobody leads yet.
    pub fn new(client: Client, lease: LeaseName) -> (Self, Leader) {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
        // Two processes of one host are two.
        let identity = format!("{host}_{:016x}", fastrand::u64(..));
        let leader = Leader::waiting();
        let candidate = Candidate {
            api: Api::namespaced(client, &lease.namespace),
            name: lease.name,
            election: Election::new(identity.clone()),
            identity,
            leader: leader.clone(),
            deadline: Duration::from_secs(5),
        };
        (candidate, leader)
    }

    /// What writes say that they come from.
    pub fn identity(&self) -> String {
        self.identity.clone()
    }

    /// For the end.
    pub fn resignation(&self) -> Resignation {
        Resignation { api: self.api.clone(), name: self.name.clone(), identity: self.identity.clone() }
    }

    /// Tries for ever, and tells when it begins and ends to lead.
    pub async fn run(mut self) {
        let mut led = false;
        loop {
            let tried = tokio::time::timeout(self.deadline, self.step()).await;
            if let Ok(Err(error)) = &tried {
                tracing::debug!(%error, "the Lease");
            }
            let leads = self.leader.remaining().is_some();
            if leads != led {
                tracing::info!(identity = %self.identity, "{}", if leads { "leading" } else { "leading no more" });
                led = leads;
            }
            // Not all at the same moment.
            tokio::time::sleep(RETRY_INTERVAL.mul_f64(0.8 + 0.2 * fastrand::f64())).await;
        }
    }

    async fn step(&mut self) -> kube::Result<()> {
        let Some(lease) = self.api.get_opt(&self.name).await? else {
            tracing::debug!("there is no Lease of this name; it comes with the chart");
            self.election.lost();
            self.publish();
            return Ok(());
        };
        let began = since_start();
        let Step::Take { transitions } = self.election.observe(record(lease.spec.as_ref()), began) else {
            self.election.lost();
            self.publish();
            return Ok(());
        };
        let now = MicroTime(Timestamp::now());
        let is_ours = |spec: &&LeaseSpec| spec.holder_identity.as_ref() == Some(&self.identity);
        let before = lease.spec.as_ref().filter(is_ours);
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: before.and_then(|spec| spec.acquire_time.clone()).or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        };
        // With its version: of two who take it at once one is refused.
        self.api.replace(&self.name, &PostParams::default(), &Lease { spec: Some(spec), ..lease }).await?;
        self.election.taken(began);
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        self.leader.extend_to(self.election.writes_until());
    }
}

fn record(spec: Option<&LeaseSpec>) -> Record {
    let Some(spec) = spec else { return Record::default() };
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        lease: Duration::from_secs(seconds),
        transitions: spec.lease_transitions.unwrap_or(0),
        renewed: spec.renew_time.as_ref().map(|time| time.0.to_string()).unwrap_or_default(),
    }
}

/// Gives the Lease back at the end, so that the other need not wait.
pub struct Resignation {
    api: Api<Lease>,
    name: String,
    identity: String,
}

impl Resignation {
    /// Gives it back if it is ours.
    pub async fn resign(self) {
        let given_back = async {
            let lease = self.api.get_opt(&self.name).await.ok().flatten()?;
            let spec = lease.spec.clone()?;
            if spec.holder_identity.as_ref() == Some(&self.identity) {
                let spec = LeaseSpec { holder_identity: Some(String::new()), ..spec };
                let lease = Lease { spec: Some(spec), ..lease };
                self.api.replace(&self.name, &PostParams::default(), &lease).await.ok()?;
            }
            Some(())
        };
        let _ = tokio::time::timeout(RETRY_INTERVAL, given_back).await;
    }
}
