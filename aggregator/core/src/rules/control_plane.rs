//! Whether the controllers act at all.

use findings::{FaultKind, Unknown, duration};

use crate::messages::errors;
use crate::rules::phrases::{age, within};
use crate::rules::prelude::*;

const MANAGER: &str = "kube-controller-manager";

/// A Lease that ran out longer ago may be left from a time with leader election.
const MAX_EXPIRED_SECONDS: u64 = 24 * 60 * 60;

/// An API server renews its own Lease every ten seconds.
const MAX_IDENTITY_SECONDS: u64 = 60;

/// One that still could when the controller manager renewed its Lease for the last time has done so within this time of it.
const MAX_IDENTITY_RENEWAL_SECONDS: u64 = 15;

/// Kubelets that are cut off together have renewed their Leases within so many seconds of each other.
const MAX_SPREAD_SECONDS: i64 = 120;

/// Whether no controller judges nodes, so that a Node's own status may be old.
pub fn is_silent(case: &mut Case) -> bool {
    let answer = case.lister.get::<Lease>(known::LEASES, Some("kube-system"), MANAGER);
    let lease = case.diagnosis.silently(answer);
    lease.is_some_and(|lease| case.lister.expired_for(lease).is_some() && wrote_since(case.lister, lease).is_none())
}

/// What kube-controller-manager wrote after the Lease had run out: without leader election it runs and renews none.
fn wrote_since<'l>(lister: &'l Lister, lease: &Lease) -> Option<&'l (jiff::Timestamp, ObjectRef)> {
    let good_for = lease.spec.lease_duration_seconds.max(1).saturating_mul(2);
    let ran_out = lease.spec.renew_time?.as_second().saturating_add(good_for);
    lister.controllers_wrote().filter(|(at, _)| at.as_second() > ran_out)
}

/// What shows that etcd fails.
pub struct StorageFailure {
    words: String,
    evidence: (String, String),
    /// What keeps it from being proven.
    missing: Option<&'static str>,
}

/// Whether our own questions failed at etcd, or were not answered in time while the API server's own check of it fails. As
/// long as it takes no writes, no controller can write down what it ran into.
pub fn storage_failure(case: &mut Case) -> Option<StorageFailure> {
    let unknown = &case.diagnosis.unknown;
    if let Some(met) = unknown.iter().find(|unknown| errors::is_of_etcd(&unknown.fault.message)) {
        let Unknown { source, why, .. } = met.unknown();
        let evidence = (format!("our own question for {source}"), why.clone());
        let missing = Some("whether that is the etcd of kube-apiserver: an aggregated API may have another");
        return Some(StorageFailure { words: format!("answers {why}"), evidence, missing });
    }
    if !unknown.iter().any(|unknown| unknown.fault.kind == FaultKind::TimedOut) {
        return None;
    }
    let answer = case.lister.failed_checks();
    let is_failed = case.diagnosis.silently(answer)?.iter().any(|name| name == "etcd");
    is_failed.then(|| StorageFailure {
        words: "does not answer: the API server's own check of it fails".to_owned(),
        evidence: ("GET /livez?verbose".to_owned(), "[-]etcd failed".to_owned()),
        missing: None,
    })
}

impl StorageFailure {
    /// As what holds an object that is being deleted.
    pub fn root(self, target: &ObjectRef) -> RootCause {
        let (source, says) = self.evidence;
        let root = RootCause::below(&cause::ETCD_NOT_WORKING, target).same_as("etcd").evidence(source, says);
        let root = root.step(Step::named("etcd", self.words));
        match self.missing {
            Some(missing) => root.probable(missing),
            None => root,
        }
    }

    /// Where it is not known whether something is being deleted.
    pub fn note(&self) -> String {
        let id = cause::ETCD_NOT_WORKING.id;
        format!("etcd {}. Run `kubectl why-terminating causes {id}` for the steps.", self.words)
    }
}

/// No API server has renewed its own Lease, and one of them answers: it cannot write (kubernetes:
/// pkg/controlplane/apiserver/server.go, `IdentityLeaseRenewIntervalPeriod`). Sooner it is only probable, where the controller
/// manager stopped at the same time.
fn cannot_write(case: &mut Case, target: &ObjectRef, manager_silent_for: Option<u64>) -> Option<RootCause> {
    let select = Select::Labels("apiserver.kubernetes.io/identity=kube-apiserver".to_owned());
    let answer = case.lister.select::<Lease>(known::LEASES, within("kube-system"), select);
    let leases = case.diagnosis.silently(answer)?;
    let age = |lease: &Lease| Some(case.lister.read_at(lease).as_second() - lease.spec.renew_time?.as_second());
    let ages: Option<Vec<i64>> = leases.iter().map(|lease| age(lease)).collect();
    let age = u64::try_from(ages?.into_iter().min()?).ok()?;
    let is_proven = age > MAX_IDENTITY_SECONDS;
    if !is_proven && manager_silent_for.is_none_or(|manager| age + MAX_IDENTITY_RENEWAL_SECONDS < manager) {
        return None;
    }
    let silent_for = duration(age);
    let words = format!("takes no writes: no API server has renewed its own Lease for {silent_for}, and one answers");
    let root = RootCause::below(&cause::ETCD_NOT_WORKING, target)
        .same_as("etcd")
        .evidence("Leases of the API servers in kube-system", format!("none was renewed for {silent_for}"))
        .step(Step::named("etcd", words));
    Some(match is_proven {
        true => root,
        false => root.probable("whether the API servers are only late: they renew their Leases every 10s"),
    })
}

/// The Leases of all nodes, where there are several and every one has run out: then it is not the nodes. When the last
/// of them was renewed goes with it.
pub fn nobody_heard(case: &mut Case) -> Option<(usize, jiff::Timestamp)> {
    let answer = case.lister.list::<Lease>(known::LEASES, within("kube-node-lease"));
    let leases = case.diagnosis.silently(answer)?;
    let is_out = |lease: &&Lease| case.lister.expired_for(lease).is_some();
    let last = leases.iter().filter_map(|lease| lease.spec.renew_time).max()?;
    // The Lease of a node that is gone is left behind; those that end together belong together.
    let is_together = |lease: &&&Lease| {
        lease.spec.renew_time.is_some_and(|at| last.as_second() - at.as_second() <= MAX_SPREAD_SECONDS)
    };
    let together = leases.iter().filter(is_together).count();
    (together > 1 && leases.iter().all(is_out)).then_some((together, last))
}

/// One root for all that follows from it: silent nodes, and controllers that do not act.
pub fn nothing_renewed(case: &mut Case, target: &ObjectRef, manager_silent_for: Option<u64>) -> Option<RootCause> {
    cannot_write(case, target, manager_silent_for).or_else(|| all_leases_expired(case, target))
}

fn all_leases_expired(case: &mut Case, target: &ObjectRef) -> Option<RootCause> {
    let (count, last) = nobody_heard(case)?;
    let manager = match is_silent(case) {
        true => format!(", and that of {MANAGER} too"),
        false => String::new(),
    };
    let words = format!(
        "all {count}{manager} have run out, the last was renewed {} ago: the way to the API server, its clock or its \
         storage is more likely broken than every node",
        age(case.lister, last)
    );
    Some(
        RootCause::below(&cause::ALL_LEASES_EXPIRED, target)
            .same_as("leases")
            .evidence(
                "Leases of kube-node-lease",
                format!("none is renewed; {count} were until {last} and shortly before"),
            )
            .step(Step::named("Leases of all nodes", words)),
    )
}

/// The controller manager's Lease, if it has run out.
pub fn silent(case: &mut Case, target: &ObjectRef) -> Option<RootCause> {
    let name = MANAGER;
    let answer = case.lister.get::<Lease>(known::LEASES, Some("kube-system"), name);
    let lease = case.diagnosis.required(format!("Lease kube-system/{name}"), "whether the controllers run", answer)?;
    let silent_for = case.lister.expired_for(lease)?;
    if let Some((at, object)) = wrote_since(case.lister, lease) {
        case.diagnosis.note(format!(
            "Lease kube-system/{name} has not been renewed for {}, and kube-controller-manager wrote to {object} at \
             {at}: it runs, without leader election.",
            duration(silent_for)
        ));
        return None;
    }
    if let Some(root) = nothing_renewed(case, target, Some(silent_for)) {
        return Some(root);
    }
    let words =
        format!("has not renewed its Lease for {} (held by {})", duration(silent_for), lease.spec.holder_identity);
    let root = RootCause::below(&cause::CONTROLLER_MANAGER_SILENT, target)
        .same_as(name)
        .step(Step::named("kube-controller-manager", &words))
        .evidence(format!("Lease kube-system/{name}"), words);
    if silent_for < MAX_EXPIRED_SECONDS {
        return Some(root);
    }
    let doubt = "it has written no object that was seen since; without leader election it would run and renew no Lease";
    Some(
        root.evidence("managedFields", doubt)
            .probable("whether it runs without leader election: then it renews no Lease"),
    )
}
