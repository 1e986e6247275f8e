//! What is destroyed when a deletion completes.

use std::collections::BTreeSet;

use findings::{Evidence, clean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Reads;
use crate::state::ObjectRef;

/// More of one root are counted.
pub(crate) const MAX_AT_RISK: usize = 24;
/// More names are counted.
const MAX_NAMES: usize = 5;

/// Something outside of the API that is destroyed when the deletion of an object completes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtRisk {
    /// What it is.
    pub what: AtRiskKind,
    /// What its driver or its cloud calls it; without that, the object that stands for it.
    pub name: String,
    /// The driver or object whose name that is: two drivers may call two disks the same.
    #[serde(skip)]
    pub driver: String,
    /// The object whose deletion destroys it.
    pub with: ObjectRef,
    /// The object that keeps that deletion from completing and is not being deleted itself: deleting it destroys.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub released_by: Option<ObjectRef>,
    /// What else decides whether it is destroyed, as `unless …` or `if …`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub condition: String,
    /// The field that shows it.
    pub evidence: Evidence,
    /// What was read for it beside the object.
    #[serde(skip)]
    pub reads: Reads,
}

/// What can be destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AtRiskKind {
    /// The disk of a PersistentVolume whose reclaim policy is Delete.
    Disk,
    /// Something else that holds data, which the controller of a finalizer deletes.
    ExternalData,
    /// The load balancer of a Service.
    LoadBalancer,
    /// Something else, which the controller of a finalizer deletes.
    ExternalResource,
    /// An object of the API that another one manages, and which the controller of that deletes first.
    ManagedObject,
}

impl AtRiskKind {
    const ALL: [AtRiskKind; 5] = [
        AtRiskKind::Disk,
        AtRiskKind::ExternalData,
        AtRiskKind::LoadBalancer,
        AtRiskKind::ExternalResource,
        AtRiskKind::ManagedObject,
    ];

    /// Whether data is lost with it.
    pub fn has_data(self) -> bool {
        matches!(self, AtRiskKind::Disk | AtRiskKind::ExternalData)
    }

    /// Of what its name is; that of an external thing says so itself.
    fn noun(self) -> &'static str {
        match self {
            AtRiskKind::Disk => "disk ",
            AtRiskKind::LoadBalancer => "load balancer ",
            AtRiskKind::ExternalData | AtRiskKind::ExternalResource | AtRiskKind::ManagedObject => "",
        }
    }

    fn nouns(self) -> &'static str {
        match self {
            AtRiskKind::Disk => "disks",
            AtRiskKind::LoadBalancer => "load balancers",
            AtRiskKind::ExternalData | AtRiskKind::ExternalResource => "things outside of the cluster",
            AtRiskKind::ManagedObject => "objects",
        }
    }
}

impl AtRisk {
    /// The name is cleaned here.
    pub fn new(what: AtRiskKind, name: &str, with: &ObjectRef, evidence: Evidence) -> Self {
        let (name, with) = (clean(name, 128), with.clone());
        let (driver, condition) = (String::new(), String::new());
        AtRisk { what, name, driver, with, released_by: None, condition, evidence, reads: Reads::default() }
    }

    /// Whether both are the same thing: the claim and the volume of a disk are both deleted.
    fn is_same(&self, other: &AtRisk) -> bool {
        (self.what, &self.name, &self.driver) == (other.what, &other.name, &other.driver)
    }

    /// Each once, by driver and name. Returns how many are left out of `most`.
    pub fn merge(all: &mut Vec<AtRisk>, most: usize) -> usize {
        all.sort_by(|one, other| {
            let key = |one: &AtRisk| (one.what, one.name.clone(), one.driver.clone(), one.released_by.is_none());
            key(one).cmp(&key(other)).then_with(|| one.with.cmp(&other.with))
        });
        all.dedup_by(|next, first| next.is_same(first));
        let left_out = all.len().saturating_sub(most);
        all.truncate(most);
        left_out
    }

    /// The same of what holds data, where there is room for no more.
    pub fn data_lines(all: &[AtRisk]) -> Vec<String> {
        let data: Vec<AtRisk> = all.iter().filter(|one| one.what.has_data()).cloned().collect();
        AtRisk::lines(&data, 0)
    }

    /// What every output shows first: a line for each kind. `more` are not in the list.
    pub fn lines(all: &[AtRisk], more: usize) -> Vec<String> {
        let of_kind = |kind: AtRiskKind| all.iter().filter(|one| one.what == kind).collect::<Vec<_>>();
        let last = AtRiskKind::ALL.into_iter().rfind(|kind| !of_kind(*kind).is_empty());
        let kinds = AtRiskKind::ALL.into_iter();
        kinds.filter_map(|kind| line(kind, &of_kind(kind), if Some(kind) == last { more } else { 0 })).collect()
    }
}

fn line(kind: AtRiskKind, same: &[&AtRisk], more: usize) -> Option<String> {
    let first = same.first()?;
    let count = same.len() + more;
    let is_ambiguous = |one: &AtRisk| same.iter().any(|other| other.name == one.name && other.driver != one.driver);
    let name = |one: &&AtRisk| match is_ambiguous(one) {
        true => format!("{} of {}", one.name, clean(&one.driver, 128)),
        false => one.name.clone(),
    };
    let names: Vec<String> = same.iter().take(MAX_NAMES).map(name).collect();
    let names = match count - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    let is_one = count == 1;
    let things = if is_one { format!("{}{names}", kind.noun()) } else { format!("{count} {} ({names})", kind.nouns()) };
    let label = if kind.has_data() { "Data at risk" } else { "At risk" };
    let conditions: BTreeSet<&str> = same.iter().map(|one| one.condition.as_str()).collect();
    let condition = match (kind, Vec::from_iter(conditions).as_slice()) {
        (AtRiskKind::Disk, _) => " (reclaim policy Delete)".to_owned(),
        (_, [""]) => String::new(),
        (_, [only]) => format!(" ({only})"),
        _ => " (unless a policy keeps it)".to_owned(),
    };
    let released_by =
        first.released_by.as_ref().filter(|by| same.iter().all(|one| one.released_by.as_ref() == Some(*by)));
    let sentence = match (released_by.filter(|_| more == 0), is_one) {
        (Some(by), _) => format!("deleting {by} lets {things} be deleted"),
        (None, true) => format!("{things} is deleted with {}", first.with),
        (None, false) if same.iter().all(|one| one.with == first.with) => {
            format!("{things} are deleted with {}", first.with)
        }
        (None, false) => format!("{things} are deleted once these deletions complete"),
    };
    Some(format!("{label}: {sentence}{condition}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::known;

    fn disk(name: &str) -> AtRisk {
        let evidence = Evidence::new(format!("PersistentVolume {name}"), "persistentVolumeReclaimPolicy: Delete");
        AtRisk::new(AtRiskKind::Disk, name, &ObjectRef::claim("shop", name), evidence)
    }

    #[test]
    fn what_releases_it_is_named_where_that_is_one_object() {
        let by = |pod: &str| Some(ObjectRef::pod("shop", pod));
        let of = |name: &str, pod| AtRisk { released_by: by(pod), ..disk(name) };
        let why = "(reclaim policy Delete)";
        assert_eq!(
            AtRisk::lines(&[of("vol-3", "db-0")], 0),
            [format!("Data at risk: deleting Pod shop/db-0 lets disk vol-3 be deleted {why}")]
        );
        assert_eq!(
            AtRisk::lines(&[of("a", "db-0"), of("b", "db-1")], 0),
            [format!("Data at risk: 2 disks (a, b) are deleted once these deletions complete {why}")]
        );
        assert_eq!(
            AtRisk::lines(&[disk("a")], 0),
            [format!("Data at risk: disk a is deleted with PersistentVolumeClaim shop/a {why}")]
        );
        assert!(AtRisk::lines(&[disk("a")], 2)[0].contains("3 disks (a and 2 more)"));
        assert!(AtRisk::lines(&[], 0).is_empty());
    }

    #[test]
    fn each_is_named_once_with_what_releases_it() {
        let by = AtRisk { released_by: Some(ObjectRef::pod("shop", "db-0")), ..disk("a") };
        let mut all = vec![disk("b"), disk("a"), by.clone(), disk("c")];
        assert_eq!((AtRisk::merge(&mut all, 2), all), (1, vec![by, disk("b")]));
    }

    #[test]
    fn one_name_of_two_drivers_is_two_disks() {
        let of = |driver: &str| AtRisk { driver: driver.to_owned(), ..disk("vol-1") };
        let mut all = vec![of("a.example.com"), of("b.example.com"), of("a.example.com")];
        assert_eq!((AtRisk::merge(&mut all, 5), all.len()), (0, 2));
        assert!(AtRisk::lines(&all, 0)[0].contains("2 disks (vol-1 of a.example.com, vol-1 of b.example.com)"));
    }

    #[test]
    fn a_load_balancer_holds_no_data() {
        let service = ObjectRef::namespaced(known::SERVICES, "shop", "web");
        let one = AtRisk::new(AtRiskKind::LoadBalancer, "203.0.113.7", &service, Evidence::new("", ""));
        assert_eq!(
            AtRisk::lines(&[disk("a"), one], 0)[1],
            "At risk: load balancer 203.0.113.7 is deleted with Service shop/web"
        );
    }
}
