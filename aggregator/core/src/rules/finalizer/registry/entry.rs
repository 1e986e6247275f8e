//! A page of the registry of finalizers.

use std::fmt;

use findings::Cause;

use crate::state::{Field, Finalizers};

/// A finalizer, or a family of them. It is written as a page, each field by the method of its name.
#[derive(Debug)]
pub struct KnownFinalizer {
    pub names: &'static [Pattern],
    /// The kinds of objects that have it, where these are not [`KnownFinalizer::only`].
    on: &'static str,
    /// The kinds it is taken off, when others have it too and keep it for ever.
    pub only: &'static [&'static str],
    /// Who takes it off.
    pub released_by: &'static str,
    /// Where that program runs, when that is not to be seen in the cluster or depends on a setting.
    pub runs: &'static str,
    /// The group of the API that is served where a cloud runs that program out of sight.
    pub hosted_with: &'static str,
    /// What must have happened by then, after "when".
    pub when: &'static str,
    /// The finalizers of the same object that go before it: while one is there, its program does nothing.
    pub after: &'static [&'static str],
    /// Whether that is another program than the operator of the kinds: who may change these says nothing of it.
    pub by_another: bool,
    /// The program that takes it off, as its workload or a container of that is called, where others set it too.
    pub program: &'static str,
    /// The same where its workload is called as this label of the object, with this at the end.
    pub program_by_label: Option<(&'static str, &'static str)>,
    /// Whether it is set by a program that never takes it off.
    pub set_by_another: bool,
    /// The objects for whose last it waits.
    pub used_by: &'static [UsedBy],
    /// Whether that program is a part of the server of k3s or RKE2.
    pub in_server: bool,
    /// Finalizers of other names that are its own where that server has set them.
    pub set_by_server: &'static [&'static str],
    /// Whether each namespace may have one such program of its own.
    pub in_each_namespace: bool,
    /// Whether its program cleans up by a Job that it creates in the object's namespace.
    pub by_job: bool,
    /// Whether nothing is behind it any more.
    pub is_empty: bool,
    /// What is lost when it is removed by hand.
    pub lost: &'static str,
    /// What its controller deletes outside of the API before it takes it off.
    destroys: Option<Destroyed>,
    /// What in its owner's documents says how to come back from a deletion by mistake.
    pub by_mistake: &'static str,
    /// The repository and the path in it that say so.
    pub source: &'static str,
    /// Whether a controller of kube-controller-manager takes it off.
    pub in_controller_manager: bool,
    /// What to say when it stays.
    pub cause: &'static Cause,
    /// Whether that is said even if its controller is known to be down: to start some of them again is what
    /// destroys.
    pub comes_first: bool,
}

/// What a controller deletes outside of the API for an object.
#[derive(Clone, Copy, Debug)]
pub struct Destroyed {
    /// What that is, before the name of the object: `Kafka topic`.
    pub noun: &'static str,
    /// Whether it holds data.
    pub has_data: bool,
    /// The kinds for which it does; all when empty.
    of: &'static [&'static str],
    /// What else decides it, as `unless …` or `if …`.
    pub condition: &'static str,
    /// The annotation of the object that keeps it, also once the object is being deleted.
    pub kept_by: Option<&'static str>,
}

impl Destroyed {
    /// Something that holds data.
    pub const fn data(noun: &'static str) -> Self {
        Destroyed { noun, has_data: true, of: &[], condition: "", kept_by: None }
    }

    /// Something that holds none, or of which that is not known.
    pub const fn resource(noun: &'static str) -> Self {
        Destroyed { has_data: false, ..Self::data(noun) }
    }

    /// See [`Destroyed::of`].
    pub const fn of(mut self, kinds: &'static [&'static str]) -> Self {
        self.of = kinds;
        self
    }

    /// See [`Destroyed::kept_by`].
    pub const fn kept_by(mut self, annotation: &'static str) -> Self {
        self.kept_by = Some(annotation);
        self
    }

    /// See [`Destroyed::condition`].
    pub const fn depending(mut self, condition: &'static str) -> Self {
        self.condition = condition;
        self
    }
}

/// The group without a name.
pub const CORE: &str = "core";

/// Objects of a kind that use one that is held.
#[derive(Debug)]
pub struct UsedBy {
    /// The kinds of the held object that this is so for; all when empty.
    pub of: &'static [&'static str],
    /// The group, or [`CORE`]; empty when it is that of the held object.
    pub group: &'static str,
    pub plural: &'static str,
    /// What leads from it to the held object.
    pub by: Back,
    /// Whether it is in the namespace of the held object, if both live in namespaces.
    pub is_beside: bool,
    /// Whether a controller may count those of other namespaces by mistake.
    pub by_name: bool,
    /// Whether it needs the object only until its status says that it is done: `readyToUse`, or the phase of a claim or pod.
    pub until_done: bool,
    /// Whether others may use the object too, or the same without naming it.
    pub or_others: bool,
}

/// What leads from an object to one that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// This field names it.
    Field(Field),
    Owner,
}

impl UsedBy {
    /// Objects of this kind, in the same namespace.
    pub const fn new(group: &'static str, plural: &'static str, by: Back) -> Self {
        UsedBy { of: &[], group, plural, by, is_beside: true, by_name: false, until_done: false, or_others: false }
    }

    /// See [`UsedBy::of`].
    pub const fn of(mut self, kinds: &'static [&'static str]) -> Self {
        self.of = kinds;
        self
    }

    /// In whichever namespace.
    pub const fn anywhere(mut self) -> Self {
        self.is_beside = false;
        self
    }

    /// See [`UsedBy::by_name`].
    pub const fn by_name(mut self) -> Self {
        self.by_name = true;
        self
    }

    /// See [`UsedBy::until_done`].
    pub const fn until_done(mut self) -> Self {
        self.until_done = true;
        self
    }

    /// See [`UsedBy::or_others`].
    pub const fn or_others(mut self) -> Self {
        self.or_others = true;
        self
    }

    /// Whether objects of this kind are used so.
    pub fn is_for(&self, kind: &str) -> bool {
        self.of.is_empty() || self.of.contains(&kind)
    }
}

/// Names of finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Is(&'static str),
    /// All that begin so.
    StartsWith(&'static str),
    /// All of this domain and of those below it, which is what stands before the slash.
    Domain(&'static str),
}

impl Pattern {
    /// Whether it names this finalizer.
    pub fn matches(self, finalizer: &str) -> bool {
        match self {
            Pattern::Is(name) => finalizer == name,
            Pattern::StartsWith(start) => finalizer.starts_with(start),
            Pattern::Domain(domain) => {
                let own = finalizer.split_once('/').map_or(finalizer, |(own, _)| own);
                own.strip_suffix(domain).is_some_and(|below| below.is_empty() || below.ends_with('.'))
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Is(name) => f.write_str(name),
            Pattern::StartsWith(start) => write!(f, "{start}*"),
            Pattern::Domain(domain) => write!(f, "*.{domain}, {domain}/*"),
        }
    }
}

impl KnownFinalizer {
    /// Begins the page of these names.
    pub const fn new(names: &'static [Pattern], cause: &'static Cause) -> Self {
        KnownFinalizer {
            names,
            on: "",
            only: &[],
            released_by: "",
            runs: "",
            hosted_with: "",
            when: "",
            after: &[],
            by_another: false,
            program: "",
            program_by_label: None,
            set_by_another: false,
            used_by: &[],
            in_server: false,
            set_by_server: &[],
            in_each_namespace: false,
            by_job: false,
            is_empty: false,
            lost: "",
            destroys: None,
            by_mistake: "",
            source: "",
            in_controller_manager: false,
            cause,
            comes_first: false,
        }
    }

    /// See [`KnownFinalizer::program_by_label`].
    pub const fn program_by_label(mut self, label: &'static str, end: &'static str) -> Self {
        self.program_by_label = Some((label, end));
        self
    }

    /// See [`KnownFinalizer::after`].
    pub const fn after(mut self, first: &'static [&'static str]) -> Self {
        self.after = first;
        self
    }

    /// Whether it waits for another finalizer of the object.
    pub fn waits_for_another(&self, finalizers: &Finalizers) -> bool {
        self.after.iter().any(|first| finalizers.iter().any(|one| one == first))
    }

    /// See [`KnownFinalizer::in_controller_manager`].
    pub const fn in_controller_manager(mut self) -> Self {
        self.in_controller_manager = true;
        self.released_by = "kube-controller-manager";
        self
    }

    /// See [`KnownFinalizer::used_by`].
    pub const fn used_by(mut self, kinds: &'static [UsedBy]) -> Self {
        self.used_by = kinds;
        self
    }

    /// See [`KnownFinalizer::in_server`].
    pub const fn in_server(mut self) -> Self {
        self.in_server = true;
        self.runs = "in the server of k3s or RKE2";
        self
    }

    /// See [`KnownFinalizer::set_by_server`].
    pub const fn set_by_server(mut self, names: &'static [&'static str]) -> Self {
        self.set_by_server = names;
        self
    }

    /// See [`KnownFinalizer::in_each_namespace`].
    pub const fn in_each_namespace(mut self) -> Self {
        self.in_each_namespace = true;
        self
    }

    /// See [`KnownFinalizer::by_job`].
    pub const fn by_job(mut self) -> Self {
        self.by_job = true;
        self
    }

    /// See [`KnownFinalizer::destroys`].
    pub const fn destroys(mut self, destroyed: Destroyed) -> Self {
        self.destroys = Some(destroyed);
        self
    }

    /// What its controller deletes outside of the API for an object of this kind.
    pub fn destroyed(&self, kind: &str) -> Option<Destroyed> {
        self.destroys.filter(|destroyed| destroyed.of.is_empty() || destroyed.of.contains(&kind))
    }

    /// See [`KnownFinalizer::is_empty`].
    pub const fn is_empty(mut self) -> Self {
        self.is_empty = true;
        self
    }

    /// See [`KnownFinalizer::comes_first`].
    pub const fn comes_first(mut self) -> Self {
        self.comes_first = true;
        self
    }

    /// See [`KnownFinalizer::by_another`].
    pub const fn by_another(mut self) -> Self {
        self.by_another = true;
        self
    }

    /// See [`KnownFinalizer::set_by_another`].
    pub const fn set_by_another(mut self) -> Self {
        self.set_by_another = true;
        self
    }

    /// See [`KnownFinalizer::only`].
    pub const fn only(mut self, kinds: &'static [&'static str]) -> Self {
        self.only = kinds;
        self
    }

    /// The kinds of objects that have it, in words.
    pub fn kinds(&self) -> String {
        if self.on.is_empty() { self.only.join(", ") } else { self.on.to_owned() }
    }

    /// Whether it is taken off objects of this kind.
    pub fn is_for(&self, kind: &str) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    /// Who takes it off and when, as a sentence says it in brackets.
    pub fn sentence(&self) -> String {
        let runs = if self.runs.is_empty() { String::new() } else { format!("; it runs {}", self.runs) };
        format!("{} removes it when {}{runs}", self.released_by, self.when)
    }

    /// What happens when its deletion goes on, and what else could be done.
    pub fn goes_on(&self) -> String {
        let KnownFinalizer { released_by, when, by_mistake, .. } = self;
        let instead = match by_mistake.is_empty() {
            true => String::new(),
            false => format!(
                ". If it was deleted by mistake, start nothing and remove nothing yet: {by_mistake} says how it is made \
                 again"
            ),
        };
        format!("{released_by} removes the finalizer when {when}{instead}")
    }
}

/// Methods that set one field each.
macro_rules! fields {
    ($($name:ident),*) => {
        impl KnownFinalizer {
            $(
                #[doc = concat!("Sets [`KnownFinalizer::", stringify!($name), "`].")]
                pub const fn $name(mut self, $name: &'static str) -> Self {
                    self.$name = $name;
                    self
                }
            )*
        }
    };
}

fields! { on, released_by, runs, program, hosted_with, when, lost, by_mistake, source }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_what_is_below_it_and_nothing_beside_it() {
        let domain = Pattern::Domain("ceph.rook.io");
        for own in ["ceph.rook.io/disaster-protection", "cephcluster.ceph.rook.io", "ceph.rook.io", "a.ceph.rook.io/b"]
        {
            assert!(domain.matches(own), "{own}");
        }
        for other in ["notceph.rook.io", "rook.io/ceph.rook.io", "ceph.rook.io.example.com", "x/ceph.rook.io"] {
            assert!(!domain.matches(other), "{other}");
        }
    }
}
