//! Who removes a finalizer: the program that set it, and every account with a role that names the kind.

use std::collections::BTreeSet;

use super::installation::{self, Installed, NAME_LABEL};
use super::setter;
use super::workloads_of_account::{self, Runner, RunnerState};
use crate::rules::prelude::*;
use crate::rules::rights::{self, Permission, Rights};

/// Why an account is assumed to remove it, the weakest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Its account has a role that is cut to the kind.
    Rights(Fit),
    /// It is called as what the server recorded to have set the finalizer: so are others.
    Name,
    /// The server recorded that it set the finalizer; or it is called as what did, or is known to take it off, and may change
    /// the object.
    Setting,
}

/// One that may take it off.
#[derive(Clone)]
pub struct Candidate<'a> {
    /// Why it is thought of.
    pub by: Basis,
    pub account: Account,
    /// Whether the finalizer has its name: so it is the likeliest of several that have the same reason.
    pub is_named: bool,
    /// Whether it was installed with the kind, where there are several or its rights are wide.
    pub installed: Installed,
    /// What runs as that; none when nothing does.
    pub runs: Option<Runner<'a>>,
}

impl Candidate<'_> {
    /// The strongest reason first: that it set the finalizer, that it was installed with the kind, a controller's role, a mere
    /// name; of equals one that watches the namespace, the one that the finalizer is named after, then what does not run as it
    /// should.
    fn rank(&self, target: &ObjectRef) -> impl Ord + use<> {
        let is_close = self.by == Basis::Rights(Fit::Controller);
        let state = self.runs.as_ref().map(Runner::stands);
        let watches = !self.runs.as_ref().is_some_and(|runner| runner.leaves_out(target));
        (self.by == Basis::Setting, self.installed, is_close, self.by, watches, self.is_named, state)
    }

    /// Whether its rights are wider than the kind, and nothing else leads to it.
    pub fn is_weak(&self) -> bool {
        self.by < Basis::Rights(Fit::Controller) && self.installed != Installed::Together
    }

    /// Who, and how it stands: `Deployment ops/op: 0 of 1 pods ready`.
    pub fn words(&self, lister: &Lister) -> String {
        match &self.runs {
            Some(runner) => format!("{}: {}", runner.target, runner.words(lister)),
            None => format!("ServiceAccount {}/{}: nothing runs as it", self.account.0, self.account.1),
        }
    }

    /// Whether it takes nothing off as it stands.
    pub fn is_not_ready(&self) -> bool {
        self.runs.as_ref().is_some_and(|runner| runner.stands() != RunnerState::Ready)
    }
}

/// Who may take finalizers off a kind.
#[derive(Default)]
pub struct Controllers<'a> {
    /// The likeliest.
    pub first: Option<Candidate<'a>>,
    /// The others.
    pub also: Vec<Candidate<'a>>,
    /// Users and groups that may: what they are is not in the cluster.
    pub users: Vec<String>,
    /// Roles that are cut to the kind, and that no account has.
    pub unbound: Vec<String>,
    /// When the setter is unknown: service accounts that may change everything, which shows nothing about this kind.
    pub may_all: Vec<String>,
    /// Those of them that nothing runs as, where that was looked up.
    pub may_all_idle: Vec<String>,
    /// What runs as the others, where that was looked up.
    pub powerful: Vec<Runner<'a>>,
    /// Programs that may change the kind and were installed as another provider.
    pub apart: Vec<String>,
    /// Whether roles and workloads could be seen.
    pub is_visible: bool,
}

impl Controllers<'_> {
    /// Whether the others leave no doubt about the first. A role that only names the kind may be a person's.
    pub fn is_alone(&self) -> bool {
        let is_close = |first: &Candidate| match first.by {
            Basis::Setting => true,
            Basis::Rights(fit) => fit == Fit::Controller && self.may_all.is_empty(),
            Basis::Name => false,
        };
        let is_before =
            |first: &Candidate| self.also.iter().all(|other| (other.installed, other.by) < (first.installed, first.by));
        self.users.is_empty() && self.first.as_ref().is_some_and(|first| is_close(first) && is_before(first))
    }
}

/// What is asked about.
pub struct Wanted<'w> {
    pub target: &'w ObjectRef,
    pub finalizer: &'w str,
    /// The name of the program that set the finalizer, when it is distinctive, or is known to remove it.
    pub program: Option<&'w str>,
    /// Whether the server recorded that it did: a name by itself is not unique.
    pub is_recorded: bool,
    /// What the role of a program that removes it is cut to.
    pub cut: &'w Cut,
}

/// Looks for who takes the finalizer off; `None` while an answer is still out.
pub fn find<'a>(case: &mut Case<'_, 'a>, wanted: &Wanted) -> Option<Controllers<'a>> {
    let failures = case.diagnosis.failures;
    let mut rights = Rights::new(wanted.cut);
    rights.add_cluster_wide(case);
    let mut found = candidates(case, wanted, &rights);
    if let (false, false, Some(own)) = (case.diagnosis.pending, is_settled(wanted, &found), &wanted.target.namespace) {
        rights.add_namespaced(case, &Scope::Namespace(own.clone()));
        found = candidates(case, wanted, &rights);
    }
    // Roles are many in a large cluster. Those of the object's own namespace may have been deleted before it; the same of
    // other namespaces then still show it.
    let is_lost = found.iter().all(|one| one.runs.is_none());
    if !case.diagnosis.pending && is_lost && wanted.target.namespace.is_some() {
        rights.add_namespaced(case, &Scope::All);
        found = candidates(case, wanted, &rights);
    }
    if !case.diagnosis.pending && !found.iter().any(|one| one.by == Basis::Setting) {
        found.extend(named(case, wanted));
    }
    if case.diagnosis.pending {
        return None;
    }
    let apart = compare_installations(case, wanted, &mut found);
    found.sort_by_key(|one| std::cmp::Reverse(one.rank(wanted.target)));
    let mut found = found.into_iter();
    let first = found.next();
    let account = first.as_ref().map(|first| &first.account);
    let is_set_by_it = first.as_ref().is_some_and(|first| first.by == Basis::Setting);
    let powerful = if is_set_by_it { BTreeSet::new() } else { rights::all_powerful(case.lister, account) };
    // Where an owner was found the others only make that less certain.
    let is_found = first.as_ref().is_some_and(|first| first.runs.is_some() && !first.is_weak());
    let (busy, runners) = match is_found || powerful.is_empty() {
        true => (powerful.clone(), Vec::new()),
        false => {
            let foremost = powerful.iter().collect();
            let runners = workloads_of_account::find(case, &powerful, &foremost, |_| false);
            (runners.iter().map(|runner| runner.account.clone()).collect(), runners)
        }
    };
    if case.diagnosis.pending {
        return None;
    }
    let shown = |(namespace, name): &Account| format!("{namespace}/{name}");
    let (may_all, may_all_idle): (Vec<&Account>, Vec<&Account>) =
        powerful.iter().partition(|account| busy.contains(*account));
    Some(Controllers {
        may_all: may_all.into_iter().map(shown).collect(),
        may_all_idle: may_all_idle.into_iter().map(shown).collect(),
        powerful: runners,
        apart,
        first,
        also: found.collect(),
        users: rights.others.iter().cloned().collect(),
        unbound: rights.unbound(),
        is_visible: case.diagnosis.failures == failures,
    })
}

/// The workload that is called as the program that set the finalizer. It is the one if it may change the object: the server
/// recorded no more than the first word of a User-Agent.
pub fn named<'a>(case: &mut Case<'_, 'a>, wanted: &Wanted) -> Vec<Candidate<'a>> {
    let Some(program) = wanted.program.filter(|name| is_object_name(name)) else { return Vec::new() };
    // What sets one is a Deployment; of what is known by its name one may be a StatefulSet.
    let kinds =
        if wanted.is_recorded { &[known::DEPLOYMENTS][..] } else { &[known::DEPLOYMENTS, known::STATEFUL_SETS] };
    let mut found: Vec<Runner> = kinds.iter().flat_map(|kind| called(case, *kind, program)).collect();
    // A chart puts the release before the name.
    if found.is_empty() && !wanted.is_recorded {
        found = kinds.iter().flat_map(|kind| labelled(case, *kind, program)).collect();
    }
    let candidate = |runner: Runner<'a>| {
        let by = by_name(case, wanted, &runner);
        let is_named = is_named_in(wanted.finalizer, &runner);
        Candidate { by, account: runner.account.clone(), is_named, installed: Installed::Unknown, runs: Some(runner) }
    };
    found.into_iter().map(candidate).collect()
}

/// Deployments that are called as the domain of a finalizer begins: `alpha`, or `alpha-operator`, of
/// `alpha.example.com/cleanup`. What is not ready is first.
pub fn namesakes<'a>(case: &mut Case<'_, 'a>, finalizer: &str) -> Vec<Runner<'a>> {
    let domain = finalizer.split('/').next().unwrap_or(finalizer);
    // The last two are the domain of who wrote it; one that begins with a common word has its name there.
    let parts: Vec<&str> = domain.split('.').collect();
    let Some(name) = parts.iter().rev().skip(1).rev().find(|part| setter::is_telling(part)) else { return Vec::new() };
    if parts.len() < 3 || !is_object_name(name) {
        return Vec::new();
    }
    // One list for all finalizers: tenants choose their names, and a query for each would keep out those of others.
    let answer = case.lister.metadata(&known::DEPLOYMENTS.into(), Scope::All);
    let adds = "whether a program has the name of the finalizer";
    let all = case.diagnosis.optional("deployments", adds, answer).unwrap_or_default();
    let names = std::iter::once("").chain(ROLES_OF_PROGRAMS).map(|role| format!("{name}{role}"));
    let names = names.filter(|name| all.iter().any(|one| one.metadata.name == *name));
    let mut found: Vec<Runner> = names.flat_map(|name| called(case, known::DEPLOYMENTS, &name)).collect();
    found.sort_by_key(|runner| std::cmp::Reverse(runner.stands()));
    found
}

/// Workloads of this name, in any namespace.
fn called<'a>(case: &mut Case<'_, 'a>, kind: ApiResource, name: &str) -> Vec<Runner<'a>> {
    selected(case, kind, name, Select::Fields(format!("metadata.name={name}")))
}

/// Workloads of the program that charts label so.
fn labelled<'a>(case: &mut Case<'_, 'a>, kind: ApiResource, name: &str) -> Vec<Runner<'a>> {
    selected(case, kind, name, Select::Labels(format!("{NAME_LABEL}={name}")))
}

fn selected<'a>(case: &mut Case<'_, 'a>, kind: ApiResource, name: &str, select: Select) -> Vec<Runner<'a>> {
    let answer = case.lister.select::<Workload>(kind, Scope::All, select);
    let adds = "whether the program that set the finalizer, or takes it off, runs";
    let all = case.diagnosis.optional(format!("{} called {name}", kind.plural), adds, answer).unwrap_or_default();
    let target = |one: &Workload| {
        ObjectRef::namespaced(kind, one.metadata.namespace.as_deref().unwrap_or_default(), &one.metadata.name)
    };
    all.into_iter().map(|one| Runner::workload(target(one), one)).collect()
}

/// What is only called like it is the one if it may change the object.
fn by_name(case: &mut Case, wanted: &Wanted, runner: &Runner) -> Basis {
    match rights::may(case, &runner.account, CHANGES, wanted.target) {
        Permission::Granted => Basis::Setting,
        Permission::Not(_) | Permission::NotTold | Permission::Open => Basis::Name,
    }
}

/// What programs append to the name of what they are for.
const ROLES_OF_PROGRAMS: [&str; 4] = ["-controller-manager", "-controller", "-operator", "-manager"];

/// The name of a program without what it is: `widget` of `widget-operator`.
pub fn bare(name: &str) -> &str {
    ROLES_OF_PROGRAMS.iter().find_map(|role| name.strip_suffix(role)).unwrap_or(name)
}

/// Whether a part of the finalizer is the name of this workload or of its account.
pub fn is_named_in(finalizer: &str, runner: &Runner) -> bool {
    let names = [&runner.target.name, &runner.account.1].map(|name| bare(name));
    finalizer.split(['.', '/', '_']).any(|part| part.len() > 1 && names.contains(&bare(part)))
}

/// Compares the installation of each with that of the kind. Those of another provider are taken away, and named.
fn compare_installations(case: &mut Case, wanted: &Wanted, found: &mut Vec<Candidate>) -> Vec<String> {
    let is_of_provider = |one: &Candidate| {
        let workload = one.runs.as_ref().and_then(|runner| runner.workload);
        workload.is_some_and(|object| object.metadata.labels.contains_key(installation::PROVIDER))
    };
    let is_open = found.len() > 1 || found.iter().any(|one| one.is_weak() || is_of_provider(one));
    if !is_open || wanted.target.resource.is_built_in() || found.iter().any(|one| one.by == Basis::Setting) {
        return Vec::new();
    }
    let Some(crd) = installation::definition(case, &wanted.target.resource) else { return Vec::new() };
    for one in found.iter_mut() {
        let workload = one.runs.as_ref().and_then(|runner| runner.workload);
        one.installed = workload.map_or(Installed::Unknown, |object| installation::compare(crd, &object.metadata));
    }
    let apart: Vec<String> =
        found.extract_if(.., |one| one.installed == Installed::Apart).map(|one| one.words(case.lister)).collect();
    apart
}

/// A manager may call itself anything; a selector takes names only.
pub fn is_object_name(name: &str) -> bool {
    name.len() <= 63 && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether nothing that is closer to the kind can come: what set the finalizer, or a controller's own role.
fn is_settled(wanted: &Wanted, found: &[Candidate]) -> bool {
    let needed = if wanted.program.is_some() { Basis::Setting } else { Basis::Rights(Fit::Controller) };
    found.iter().any(|one| one.by >= needed && one.runs.as_ref().is_some_and(|it| it.stands() == RunnerState::Ready))
}

fn candidates<'a>(case: &mut Case<'_, 'a>, wanted: &Wanted, rights: &Rights) -> Vec<Candidate<'a>> {
    let accounts: BTreeSet<Account> = rights.accounts.keys().cloned().collect();
    let best = rights.accounts.values().max();
    let foremost = rights.accounts.iter().filter(|(_, fit)| Some(*fit) == best).map(|(account, _)| account).collect();
    let is_it = |runner: &Runner| {
        let is_named = |program: &str| {
            runner.account.1 == program
                || runner.workload.is_some_and(|object| setter::is_it(program, &runner.target.name, object))
        };
        wanted.program.is_some_and(is_named)
    };
    let is_found = |found: &[Runner]| {
        found.iter().filter(|one| one.stands() == RunnerState::Ready).any(|one| match wanted.program {
            Some(_) => is_it(one),
            None => rights.accounts.get(&one.account) == best,
        })
    };
    let mut all = Vec::new();
    let runners = workloads_of_account::find(case, &accounts, &foremost, is_found);
    for (account, fit) in &rights.accounts {
        let all_own = || runners.iter().filter(|runner| runner.account == *account);
        let is_served = all_own().any(|runner| runner.stands() == RunnerState::Ready);
        // Among workloads that share an account, one that is scaled to 0 is no reason.
        let is_meant = |runner: &&Runner| !is_served || runner.stands() != RunnerState::ScaledDown || is_it(runner);
        let own = all_own().filter(is_meant);
        let candidate = |runner: &Runner<'a>| {
            let by = match is_it(runner) {
                true if wanted.is_recorded => Basis::Setting,
                true => by_name(case, wanted, runner),
                false => Basis::Rights(*fit),
            };
            let is_named = is_named_in(wanted.finalizer, runner);
            let installed = Installed::Unknown;
            Candidate { by, account: account.clone(), is_named, installed, runs: Some(runner.clone()) }
        };
        let before = all.len();
        all.extend(own.map(candidate));
        if all.len() == before {
            let by = Basis::Rights(*fit);
            let installed = Installed::Unknown;
            all.push(Candidate { by, account: account.clone(), is_named: false, installed, runs: None });
        }
    }
    all
}
