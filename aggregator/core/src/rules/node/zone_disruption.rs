//! Who is silent together with a node, and whether the node controller has stopped evicting because
//! of that.

use findings::duration;

use crate::rules::phrases::{count, within};
use crate::rules::prelude::*;
use crate::state::taint::UNREACHABLE;

const ZONE: &str = "topology.kubernetes.io/zone";
/// Such nodes do not count when the node controller judges a zone.
const NOT_COUNTED: &str = "node.kubernetes.io/exclude-disruption";

/// The node controller's defaults: a zone is disrupted when more than two and more than 55 % of its
/// nodes are not ready, and a disrupted zone of at most 50 nodes is not evicted at all.
const DISRUPTED_NODES: usize = 3;
const DISRUPTED_PERCENT: usize = 55;
const LARGE_ZONE_NODES: usize = 50;

/// The taint NoExecute follows within this time where nothing is disrupted.
const MAX_TAINT_DELAY_SECONDS: i64 = 120;

/// Where else nodes are silent.
pub struct Disruption {
    /// How many nodes are silent or not ready, this one included.
    silent: usize,
    /// Of how many.
    all: usize,
    /// `of zone eu-1a`; none when all of the cluster was looked at, by its Leases.
    place: Option<String>,
    /// What the node controller makes of it.
    extent: Extent,
}

#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// It evicts.
    Few,
    /// Most of a zone: it evicts slowly or not at all.
    MostOfZone,
    /// All nodes: it evicts nothing.
    Everything,
}

impl Disruption {
    /// Looks at the heartbeats of all nodes, which are small, and at nodes only when many are silent.
    pub fn read(case: &mut Case, on: &Node) -> Option<Disruption> {
        let answer = case.lister.list::<Lease>(known::LEASES, within("kube-node-lease"));
        let leases =
            case.diagnosis.optional("leases of kube-node-lease", "whether other nodes are silent too", answer)?;
        let silent = leases.iter().filter(|lease| case.lister.expired_for(lease).is_some()).count();
        let all = leases.len();
        if all == 0 {
            return None;
        }
        if silent == all {
            return Some(Disruption { silent, all, place: None, extent: Extent::Everything });
        }
        if silent < DISRUPTED_NODES {
            return Some(Disruption { silent, all, place: None, extent: Extent::Few });
        }
        Disruption::zone(case, on)
    }

    fn zone(case: &mut Case, on: &Node) -> Option<Disruption> {
        let zone = on.metadata.labels.get(ZONE);
        let answer = match zone {
            Some(zone) => {
                case.lister.select::<Node>(known::NODES, Scope::All, Select::Labels(format!("{ZONE}={zone}")))
            }
            None => case.lister.list::<Node>(known::NODES, Scope::All),
        };
        let nodes = case.diagnosis.optional("nodes", "how many of the zone are silent", answer)?;
        let counted: Vec<&Node> = nodes
            .into_iter()
            .filter(|node| node.metadata.labels.get(ZONE) == zone && !node.metadata.labels.contains_key(NOT_COUNTED))
            .collect();
        let all = counted.len();
        let silent = counted.iter().filter(|node| !is_true(&node.status.conditions, "Ready")).count();
        // Where none is ready, the zone is evicted as if nothing were wrong.
        let is_most = silent >= DISRUPTED_NODES && silent < all && silent * 100 >= all * DISRUPTED_PERCENT;
        let extent = if is_most { Extent::MostOfZone } else { Extent::Few };
        let place = zone.map_or("without a zone".to_owned(), |zone| format!("of zone {zone}"));
        Some(Disruption { silent, all, place: Some(place), extent })
    }

    /// `3 of 5 nodes of zone a are not ready`. A Lease may be left of a node that is gone, so what
    /// only Leases show is said of Leases.
    pub fn words(&self) -> String {
        let Disruption { silent, all, place, .. } = self;
        match place {
            Some(place) if *silent == 1 => format!("1 of {} {place} is not ready", count(*all, "node")),
            Some(place) => format!("{silent} of {} {place} are not ready", count(*all, "node")),
            None if *silent == 1 => format!("1 of {} of nodes has run out", count(*all, "Lease")),
            None => format!("{silent} of {} of nodes have run out", count(*all, "Lease")),
        }
    }

    /// Whether no other node is silent.
    pub fn is_alone(&self) -> bool {
        self.silent <= 1
    }

    /// What that makes likely.
    pub fn hint(&self) -> Option<&'static str> {
        match self.extent {
            Extent::Everything if self.all > 1 => {
                Some("the network of the control plane is more likely broken than all of them")
            }
            Extent::MostOfZone => Some("the network or the power of the zone is more likely broken than each of them"),
            _ if self.silent == 1 && self.all > 1 => Some("so it is this host, its kubelet or its own link"),
            _ => None,
        }
    }
}

/// Why the pods of a silent node are not asked to go.
pub struct Suspended {
    /// Equal for all nodes that the same disruption holds.
    pub root: String,
    /// Why, in words: the same for these nodes.
    pub why: String,
    evidence: Vec<(String, String)>,
    /// What of the proof was not seen.
    missing: Option<&'static str>,
}

impl Suspended {
    /// The node's state, in words.
    pub fn words(&self) -> String {
        format!("silent, and not evicted: {}", self.why)
    }

    /// Adds what shows it.
    pub fn prove(self, root: RootCause) -> RootCause {
        let root = root.with_evidence(self.evidence);
        self.missing.into_iter().fold(root, RootCause::probable)
    }
}

/// Whether the node controller has stopped evicting, as far as taints and other nodes show it.
pub fn suspended(case: &mut Case, on: &Node) -> Option<Suspended> {
    let ready = condition(&on.status.conditions, "Ready").filter(|ready| ready.status == "Unknown")?;
    let is_late =
        ready.last_transition_time.is_some_and(|since| case.lister.seconds_since(since) >= MAX_TAINT_DELAY_SECONDS);
    if !is_late || on.taint(UNREACHABLE, "NoSchedule").is_none() || on.taint(UNREACHABLE, "NoExecute").is_some() {
        return None;
    }
    let disruption = Disruption::read(case, on)?;
    let rate = match disruption.extent {
        Extent::Few => return None,
        Extent::Everything => "nothing is evicted anywhere",
        Extent::MostOfZone if disruption.all <= LARGE_ZONE_NODES => "nothing is evicted in it",
        Extent::MostOfZone => "one node of it is evicted in 100 s",
    };
    let manager = "kube-controller-manager";
    let answer = case.lister.get::<Lease>(known::LEASES, Some("kube-system"), manager);
    let lease =
        case.diagnosis.optional(format!("Lease kube-system/{manager}"), "whether the node controller runs", answer);
    if let Some(age) = lease.and_then(|lease| case.lister.expired_for(lease)) {
        case.diagnosis.note(format!("Nothing is evicted while {manager} is silent, for {} now.", duration(age)));
        return None;
    }
    Some(Suspended {
        root: disruption.place.clone().unwrap_or_default(),
        why: format!("{}, so {rate}", disruption.words()),
        evidence: vec![
            (
                format!("Node {}", on.metadata.name),
                format!("Ready={}, taint {UNREACHABLE}:NoSchedule and not NoExecute", ready.status),
            ),
            ("nodes and their Leases".to_owned(), disruption.words()),
        ],
        missing: match (disruption.extent, lease) {
            (Extent::Everything, Some(_)) => None,
            (Extent::Everything, None) => Some("whether kube-controller-manager runs: its Lease could not be seen"),
            _ => Some("the limits that the node controller was started with: those of a zone can be set otherwise"),
        },
    })
}
