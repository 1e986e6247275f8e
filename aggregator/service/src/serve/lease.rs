//! Holds the Lease, or waits for it.

use std::time::Duration;

use client::{ApiClient, Client, Content, Fault, Limits};
use http::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::election::{Election, LEASE_DURATION, RETRY_INTERVAL, Record, Step};
use crate::leader::{Leader, since_start};

/// No step takes longer: a later answer may have come while the process was paused.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// No Lease is longer.
const MAX_LEASE_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    pub namespace: String,
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

/// A Lease, of which all but the spec is written back as it was read.
#[derive(Deserialize, Serialize)]
struct Lease {
    #[serde(default)]
    spec: LeaseSpec,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaseSpec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u64>,
    acquire_time: Option<String>,
    renew_time: Option<String>,
    lease_transitions: Option<i32>,
}

/// Waits for a Lease and renews it.
pub struct Candidate {
    lease: LeaseClient,
    election: Election,
    leader: Leader,
}

/// Where the Lease is, and who wants it.
#[derive(Clone)]
struct LeaseClient {
    api: ApiClient,
    path: String,
    identity: String,
}

impl LeaseClient {
    /// The Lease as it stands.
    async fn get(&self) -> Result<Option<Lease>, Fault> {
        self.api.get(&self.path).await
    }

    /// With its version: of two who take it at once one is refused. The Lease as it stands then.
    async fn replace(&self, lease: &Lease) -> Result<Lease, Fault> {
        self.api.send(Method::PUT, &self.path, Content::Json(&json!(lease))).await?.success()?.json()
    }

    fn holds(&self, spec: &LeaseSpec) -> bool {
        spec.holder_identity.as_ref() == Some(&self.identity)
    }
}

impl Candidate {
    /// No replica leads yet.
    pub fn new(client: Client, lease: LeaseName) -> (Self, Leader) {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
        // Two processes of one host are two.
        let identity = format!("{host}_{:016x}", fastrand::u64(..));
        let leader = Leader::waiting();
        let LeaseName { namespace, name } = lease;
        let lease = LeaseClient {
            api: ApiClient::new(client, Limits::new(STEP_TIMEOUT, MAX_LEASE_BYTES)),
            path: format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"),
            identity: identity.clone(),
        };
        (Candidate { lease, election: Election::new(identity), leader: leader.clone() }, leader)
    }

    /// What writes say that they come from.
    pub fn identity(&self) -> String {
        self.lease.identity.clone()
    }

    /// For the end.
    pub fn resignation(&self) -> Resignation {
        Resignation(self.lease.clone())
    }

    /// Tries for ever, and reports when it begins and ends to lead.
    pub async fn run(mut self) {
        let mut led = false;
        loop {
            let tried = tokio::time::timeout(STEP_TIMEOUT, self.step()).await;
            if let Ok(Err(error)) = &tried {
                tracing::debug!(%error, "the Lease");
            }
            let leads = self.leader.remaining().is_some();
            if leads != led {
                tracing::info!(identity = %self.lease.identity, "{}", if leads { "leading" } else { "leading no more" });
                led = leads;
            }
            // Not all at the same moment.
            tokio::time::sleep(RETRY_INTERVAL.mul_f64(0.8 + 0.2 * fastrand::f64())).await;
        }
    }

    async fn step(&mut self) -> Result<(), Fault> {
        let Some(mut lease) = self.lease.get().await? else {
            tracing::debug!("there is no Lease of this name; it comes with the chart");
            self.election.lost();
            self.publish();
            return Ok(());
        };
        let began = since_start();
        let Step::Take { transitions } = self.election.observe(record(&lease.spec), began) else {
            self.election.lost();
            self.publish();
            return Ok(());
        };
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let acquired = lease.spec.acquire_time.take().filter(|_| self.lease.holds(&lease.spec));
        lease.spec = LeaseSpec {
            holder_identity: Some(self.lease.identity.clone()),
            lease_duration_seconds: Some(LEASE_DURATION.as_secs()),
            acquire_time: acquired.or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
        };
        let answered = self.lease.replace(&lease).await?;
        // Else another server has answered OK for the API server, such as a proxy.
        if self.lease.holds(&answered.spec) {
            self.election.taken(began);
            self.publish();
        }
        Ok(())
    }

    fn publish(&self) {
        self.leader.extend_to(self.election.writes_until());
    }
}

fn record(spec: &LeaseSpec) -> Record {
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        lease: Duration::from_secs(spec.lease_duration_seconds.unwrap_or(0)),
        transitions: spec.lease_transitions.unwrap_or(0),
        renewed: spec.renew_time.clone().unwrap_or_default(),
    }
}

/// Gives the Lease back at the end, so that the other need not wait.
pub struct Resignation(LeaseClient);

impl Resignation {
    /// Gives it back if it is ours.
    pub async fn resign(self) {
        let Resignation(client) = self;
        let given_back = async {
            let mut lease = client.get().await.ok().flatten().filter(|lease| client.holds(&lease.spec))?;
            lease.spec.holder_identity = Some(String::new());
            client.replace(&lease).await.ok()
        };
        let _ = tokio::time::timeout(RETRY_INTERVAL, given_back).await;
    }
}
