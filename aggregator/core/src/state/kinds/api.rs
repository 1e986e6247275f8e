//! What serves the API: APIServices, CRDs, Services and their endpoints.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{CaBundle, Condition, Meta, lite};

lite! {
    /// An APIService: who serves a group and version.
    ApiService {
        /// Its metadata; the name is `<version>.<group>`.
        metadata: Meta,
        spec: ApiServiceSpec,
        status: Conditions,
    }

    /// Who serves a group and version.
    ApiServiceSpec {
        group: String,
        version: String,
        /// The Service behind it; none when the API server serves it itself.
        service: Option<ServiceRef>,
        /// Whose certificates it may show.
        ca_bundle: CaBundle,
    }

    ServiceRef {
        namespace: String,
        name: String,
        /// The port; 443 when it is not given.
        port: Option<i64>,
    }
}

impl std::fmt::Display for ServiceRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

lite! {
    /// A status that is a list of conditions.
    Conditions {
        conditions: Vec<Condition>,
    }

    Crd {
        /// Its metadata; the name is `<plural>.<group>`.
        metadata: Meta,
        spec: CrdSpec,
        status: CrdStatus,
    }

    /// What a CRD defines.
    CrdSpec {
        group: String,
        names: CrdNames,
        /// `Namespaced` or `Cluster`.
        scope: String,
        versions: Vec<CrdVersion>,
        /// How one version becomes another.
        conversion: Option<Conversion>,
    }

    /// The names of a custom resource.
    CrdNames {
        kind: String,
        plural: String,
    }

    /// A version of a custom resource.
    CrdVersion {
        name: String,
        served: bool,
        /// Whether what is written now is stored in it.
        storage: bool,
    }

    /// How one version becomes another.
    Conversion {
        /// `None` or `Webhook`.
        strategy: String,
        /// Who does it.
        webhook: Option<ConversionWebhook>,
    }

    /// Who converts.
    ConversionWebhook {
        /// Where to call it.
        client_config: ClientConfig,
    }

    /// Where to call a webhook.
    ClientConfig {
        service: Option<ServiceRef>,
        /// Or an address.
        url: Option<String>,
        /// Whose certificates it may show.
        ca_bundle: CaBundle,
    }

    CrdStatus {
        conditions: Vec<Condition>,
        /// In which versions objects are stored.
        stored_versions: Vec<String>,
    }
}

impl ClientConfig {
    /// Whether an error that names this host is about it. A Service is called by this name
    /// (kubernetes: apiserver/pkg/util/webhook/client.go, `hookClientConfigToClient`).
    pub fn is_at(&self, host: &str) -> bool {
        let own = |url: &String| {
            let (_, rest) = url.split_once("://")?;
            rest.split(['/', ':', '?']).next().map(|own| own == host)
        };
        match &self.service {
            Some(service) => format!("{}.{}.svc", service.name, service.namespace) == host,
            None => self.url.as_ref().and_then(own).unwrap_or(false),
        }
    }
}

impl EndpointSlice {
    /// When its endpoints last changed: the time of what changed them, else when it was made.
    pub fn changed_at(&self) -> Option<Timestamp> {
        let changed = self.metadata.annotations.get(ENDPOINTS_CHANGED);
        changed.and_then(|at| at.parse().ok()).or(self.metadata.creation_timestamp)
    }
}

impl Crd {
    /// The Service that converts its objects, if one does.
    pub fn converter(&self) -> Option<&ServiceRef> {
        self.conversion_client()?.service.as_ref()
    }

    /// Where to call the webhook that converts its objects, if there is one.
    pub fn conversion_client(&self) -> Option<&ClientConfig> {
        let conversion = self.spec.conversion.as_ref().filter(|conversion| conversion.strategy == "Webhook")?;
        conversion.webhook.as_ref().map(|webhook| &webhook.client_config)
    }

    /// Whether its converter is needed: what has the wanted version already is not sent to it (kubernetes:
    /// apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, `Convert`). Its own deletion takes the
    /// objects in the version in which they are stored now (pkg/controller/finalizer/crd_finalizer.go).
    pub fn needs_converter(&self) -> bool {
        let (versions, stored) = (&self.spec.versions, &self.status.stored_versions);
        if self.metadata.deletion_timestamp.is_some() {
            let now = versions.iter().find(|version| version.storage).map(|version| &version.name);
            return stored.iter().any(|version| now != Some(version));
        }
        versions.iter().map(|version| &version.name).chain(stored).collect::<BTreeSet<_>>().len() > 1
    }
}

lite! {
    Service {
        metadata: Meta,
        spec: ServiceSpec,
        status: ServiceStatus,
    }

    ServiceStatus {
        conditions: Vec<Condition>,
        load_balancer: LoadBalancerStatus,
    }

    /// How a load balancer stands.
    LoadBalancerStatus {
        /// Where it is reached.
        ingress: Vec<LoadBalancerIngress>,
    }

    /// One way to a load balancer.
    LoadBalancerIngress {
        /// Its address.
        ip: String,
        /// Or its name.
        hostname: String,
    }

    /// What was asked of a Service.
    ServiceSpec {
        /// Which pods serve it; without one another program writes its endpoints.
        selector: BTreeMap<String, String>,
        /// `ClusterIP`, `ExternalName` and others.
        #[serde(rename = "type")]
        kind: String,
        /// For `ExternalName`: the name it stands for.
        external_name: String,
    }
}

/// When what changed the endpoints happened (kubernetes: staging/src/k8s.io/api/core/v1/annotation_key_constants.go).
pub const ENDPOINTS_CHANGED: &str = "endpoints.kubernetes.io/last-change-trigger-time";

lite! {
    /// Some endpoints of a Service.
    EndpointSlice {
        metadata: Meta,
        endpoints: Vec<Endpoint>,
    }

    /// One address that serves.
    Endpoint {
        addresses: Vec<String>,
        conditions: EndpointConditions,
        /// The pod behind it.
        target_ref: Option<TargetRef>,
        node_name: String,
    }

    EndpointConditions {
        /// Whether it serves; absent means yes.
        ready: Option<bool>,
        /// Whether it serves, although its pod ends.
        serving: Option<bool>,
        /// Whether its pod ends.
        terminating: Option<bool>,
    }

    /// Names the object behind an endpoint.
    TargetRef {
        kind: String,
        name: String,
    }

    /// The endpoints of a Service as servers before 1.21 have them.
    Endpoints {
        /// Its metadata; the name is the Service's.
        metadata: Meta,
        /// Groups of addresses with the same ports.
        subsets: Vec<EndpointSubset>,
    }

    /// Addresses with the same ports.
    EndpointSubset {
        /// Those that are ready.
        addresses: Vec<EndpointAddress>,
    }

    /// A ready address.
    EndpointAddress {
        node_name: String,
    }
}

impl Endpoint {
    /// Whether the control plane may call it.
    pub fn is_ready(&self) -> bool {
        self.conditions.ready != Some(false) && !self.addresses.is_empty()
    }

    /// Whether its pod ends and serves until then.
    pub fn still_serves(&self) -> bool {
        let EndpointConditions { serving, terminating, .. } = self.conditions;
        serving == Some(true) && terminating == Some(true) && !self.addresses.is_empty()
    }
}
