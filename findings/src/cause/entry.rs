//! What one entry of the registry says.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::circumstance::Circumstance;
use crate::{Gate, Placeholder, clean, kill_guard, mount_namespace, placeholder::holes};

/// Where a cause sits: at one of a pod's gates, or at the node (then it may hold many pods).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// It blocks this gate of one pod.
    Gate(Gate),
    /// It is a state of the node, named once with all the pods it holds.
    Node,
    /// The API shows it, and it may hold anything that is being deleted.
    Cluster(ClusterArea),
}

named! {
    /// Where in the cluster a cause sits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ClusterArea {
        /// Groups and versions that are not served.
        Api = "Api",
        /// The control plane's own programs.
        ControlPlane = "ControlPlane",
        /// The namespace object.
        Namespace = "Namespace",
        /// Webhooks, policies, conversion, stored data.
        Admission = "Admission",
        /// Finalizers, owners and the controllers behind them.
        Finalizer = "Finalizer",
        /// Pods, as the API shows them, and their nodes.
        Pod = "PodAndNode",
        /// Claims, volumes and attachments.
        Storage = "Storage",
    }
}

/// How long a state must last before it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as the kubelet, or the controller, takes for a try of its own.
    Retry,
    /// So many seconds without a change: a shorter state comes and passes by itself.
    Seconds(u64),
    /// As long as it takes: nothing is known to be wrong, and the next try may well succeed. By itself it is
    /// never called stuck.
    NextTry,
}

impl Patience {
    /// In milliseconds, beside the time that a try takes; none when no time is long enough.
    pub fn ms(self) -> Option<u64> {
        match self {
            Patience::Retry => Some(0),
            Patience::Seconds(seconds) => Some(seconds * 1000),
            Patience::NextTry => None,
        }
    }

    /// Whether a state that has not changed for so long is reported.
    pub fn has_passed(self, unchanged_ms: u64) -> bool {
        self.ms().is_some_and(|ms| unchanged_ms >= ms)
    }
}

/// An entry of the registry.
///
/// It is written as a page, each field by the method of its name; [`causes!`] refuses one that is not whole.
#[derive(Debug)]
pub struct Cause {
    /// The stable id, never renamed: `FuseServerNotResponding`.
    pub id: &'static str,
    pub area: Area,
    /// A headline without a full stop.
    pub title: &'static str,
    /// What has happened and why that blocks the pod.
    pub meaning: &'static str,
    /// The facts without which the cause is not claimed.
    pub proof: &'static str,
    /// What to do, safest first.
    pub safe: &'static [Advice],
    /// What follows when the deletion continues; empty where nothing else is lost with it.
    pub note: &'static str,
    /// What people do instead, and what that breaks.
    pub danger: Danger,
    /// Issues and sources that show it in the wild.
    pub sources: &'static [&'static str],
    /// The `reason` of the Event (≤ 128 characters): the id, where several causes do not share one.
    pub event_reason: &'static str,
    pub diagnosis: Proven,
    /// How long it must last before it is reported.
    pub patience: Patience,
    /// Whether it keeps a volume from being detached: other nodes then wait, even if no pod of this one does.
    pub keeps_attached: bool,
    /// Whether it only says that something on the node is not finished, and not why: the node is to be looked at.
    pub only_the_node_knows: bool,
    /// Whether nothing is broken: something healthy uses the object, and is waited for.
    pub in_use: bool,
    /// Whether it says that a node is out of reach: then what its agent said last is not said again.
    pub node_is_lost: bool,
    /// Whether it holds a deletion from its first moment, and can be foreseen before one. All others are about something
    /// that has not happened in time.
    pub holds_from_the_start: bool,
    /// Whether what is proven of it does not end by itself, though it rests on a task in D: who was killed and waits for
    /// it waits until something is done.
    pub stays: bool,
    /// Whether it is known what follows when its roots end: the tasks that wait die, the volume is unmounted. Then it
    /// can be judged whether that is enough.
    pub followed: bool,
    /// Beside one of these it is not reported of the same pod: it would be their effect, or come after them.
    pub outranked_by: &'static [&'static Cause],
}

impl Cause {
    /// Begins the page of a cause that blocks this gate of a pod.
    pub const fn gate(gate: Gate, id: &'static str) -> Self {
        Cause::new(Area::Gate(gate), id)
    }

    /// Begins the page of a state of the node.
    pub const fn node(id: &'static str) -> Self {
        Cause::new(Area::Node, id)
    }

    /// Begins the page of a cause that the API shows.
    pub const fn cluster(area: ClusterArea, id: &'static str) -> Self {
        Cause::new(Area::Cluster(area), id)
    }

    /// The key of a root that is this cause at work in `thing`.
    pub fn root(&self, thing: impl std::fmt::Display) -> String {
        clean(&format!("{}:{thing}", self.id), 300)
    }

    const fn new(area: Area, id: &'static str) -> Self {
        Cause {
            id,
            area,
            title: "",
            meaning: "",
            proof: "",
            safe: &[],
            note: "",
            danger: Danger::new("", ""),
            sources: &[],
            event_reason: id,
            diagnosis: Proven::Untested,
            patience: Patience::Retry,
            keeps_attached: false,
            only_the_node_knows: false,
            in_use: false,
            node_is_lost: false,
            holds_from_the_start: false,
            stays: false,
            followed: false,
            outranked_by: &[],
        }
    }

    /// Sets [`Cause::danger`]: doing this breaks that.
    pub const fn dont(self, action: &'static str, breaks: &'static str) -> Self {
        self.danger(Danger::new(action, breaks))
    }

    /// How a chain calls it: what only a node knows is no root cause yet, and what is not broken is none.
    pub const fn label(&self) -> &'static str {
        match (self.only_the_node_knows, self.in_use) {
            (true, _) => "SEEN SO FAR",
            (false, true) => "WAITING FOR",
            (false, false) => "ROOT CAUSE",
        }
    }

    /// See [`Cause::outranked_by`].
    pub fn is_outranked_by(&self, other: &Cause) -> bool {
        self.outranked_by.iter().any(|higher| higher.id == other.id)
    }

    /// Whether one of its steps needs this.
    pub fn takes(&self, placeholder: Placeholder) -> bool {
        self.safe.iter().flat_map(Advice::placeholders).any(|name| name == placeholder.as_str())
    }

    /// Refuses, when the project is compiled, a page on which something is missing.
    pub(in crate::cause) const fn whole(self) -> Self {
        assert!(!self.id.is_empty() && !self.title.is_empty() && !self.event_reason.is_empty());
        assert!(!self.meaning.is_empty() && !self.proof.is_empty(), "what it means, and what proves it");
        assert!(!self.safe.is_empty() && !self.sources.is_empty(), "a safe step, and where it was seen");
        assert!(!self.danger.action.is_empty() && !self.danger.breaks.is_empty(), "what not to do, and why");
        self
    }
}

/// Methods that set one field each; a flag is one that needs no value.
macro_rules! fields {
    ($of:ident: $($name:ident: $type:ty),*; $($flag:ident),*) => {
        impl $of {
            $(
                #[doc = concat!("Sets [`", stringify!($of), "::", stringify!($name), "`].")]
                pub const fn $name(mut self, $name: $type) -> Self {
                    self.$name = $name;
                    self
                }
            )*
            $(
                #[doc = concat!("Sets [`", stringify!($of), "::", stringify!($flag), "`].")]
                pub const fn $flag(mut self) -> Self {
                    self.$flag = true;
                    self
                }
            )*
        }
    };
}

fields! {
    Cause:
    title: &'static str,
    meaning: &'static str,
    proof: &'static str,
    safe: &'static [Advice],
    note: &'static str,
    danger: Danger,
    sources: &'static [&'static str],
    event_reason: &'static str,
    diagnosis: Proven,
    patience: Patience,
    outranked_by: &'static [&'static Cause];
    keeps_attached, only_the_node_knows, in_use, node_is_lost, holds_from_the_start, stays, followed
}
fields! { Advice: when: &'static [Circumstance]; if_known, on_the_node }
fields! { Danger: right_when: &'static str; }

/// One piece of advice: the template of a [`Step`](crate::Step).
#[derive(Debug)]
pub struct Advice {
    /// What to do, as an imperative sentence without a full stop; `{comm}` and the like are filled in.
    pub text: &'static str,
    /// The command, where each value takes the place of its placeholder quoted for the shell. A `kill` is always
    /// printed with its guard ([`Advice::shown_commands`]).
    pub command: Option<&'static str>,
    /// The command that takes its place where one of its values is not known.
    pub otherwise: Option<&'static str>,
    /// How the advice was proven.
    pub proven: Proven,
    /// Whether it is left out when one of its values cannot be known, or is not so: a process that is not
    /// stopped, a holder that must not be killed. Of any other step a finder gives every value.
    pub if_known: bool,
    /// The facts without which it is left out: of each kind of fact one of those named here must be so.
    pub when: &'static [Circumstance],
    /// Whether its command runs on the node, with the agent's program, although the API shows the cause.
    pub on_the_node: bool,
    /// Whether it changes nothing: it reads, or waits.
    pub is_check: bool,
}

/// Advice that no test has executed, without a command.
pub const fn step(text: &'static str) -> Advice {
    Advice {
        is_check: false,
        text,
        command: None,
        otherwise: None,
        proven: Proven::Untested,
        if_known: false,
        when: &[],
        on_the_node: false,
    }
}

/// The same where it only reads or waits.
pub const fn check(text: &'static str) -> Advice {
    Advice { is_check: true, ..step(text) }
}

impl Advice {
    pub const fn run(mut self, command: &'static str) -> Self {
        self.command = Some(command);
        self
    }

    /// Adds two commands that read a log ([`log_of`]). Where that is may not be known.
    pub const fn read(mut self, (journal, file): (&'static str, &'static str)) -> Self {
        (self.command, self.otherwise, self.if_known) = (Some(journal), Some(file), true);
        self
    }

    /// This scenario of the lab executes it.
    pub const fn lab(mut self, scenario: &'static str) -> Self {
        self.proven = Proven::Lab(scenario);
        self
    }

    /// This situation of `tests/e2e` types it.
    pub const fn e2e(mut self, situation: &'static str) -> Self {
        self.proven = Proven::Cluster(situation);
        self
    }

    /// See [`Proven::Typed`].
    pub const fn typed(mut self) -> Self {
        self.proven = Proven::Typed;
        self
    }

    /// The facts that it depends on, after "when".
    pub fn condition(&self) -> Option<String> {
        let mut kinds: Vec<Vec<Circumstance>> = Vec::new();
        for fact in self.when {
            match kinds.iter_mut().find(|kind| kind.iter().any(|other| other.is_about_the_same(*fact))) {
                Some(kind) => kind.push(*fact),
                None => kinds.push(vec![*fact]),
            }
        }
        let either = |kind: &Vec<Circumstance>| kind.iter().map(|fact| fact.words()).collect::<Vec<_>>().join(", or ");
        (!kinds.is_empty()).then(|| kinds.iter().map(either).collect::<Vec<_>>().join("; and "))
    }

    /// Whether a finding gives it whatever the case.
    pub fn is_promised(&self) -> bool {
        !self.if_known && self.when.is_empty()
    }

    /// Whether its command deletes an object.
    pub fn deletes(&self) -> bool {
        self.commands().any(|command| command.starts_with("kubectl ") && command.contains(" delete "))
    }

    /// The commands of which one is printed.
    pub fn commands(&self) -> impl Iterator<Item = &'static str> {
        [self.command, self.otherwise].into_iter().flatten()
    }

    /// Its commands as they are printed, with the names of placeholders where no value is known.
    pub fn shown_commands(&self) -> impl Iterator<Item = Cow<'static, str>> {
        self.commands().map(kill_guard::shown)
    }

    /// Its command as it is printed where its path is in another mount namespace, if that is another command.
    pub fn entered_command(&self) -> Option<String> {
        self.command.and_then(mount_namespace::entered)
    }

    /// Whether a test has executed it.
    pub fn is_tested(&self) -> bool {
        matches!(self.proven, Proven::Lab(_) | Proven::Cluster(_) | Proven::Typed)
    }

    /// The names in its text and its command that need a value.
    pub fn placeholders(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.text)
            .chain(self.commands())
            .flat_map(|template| holes(template).filter_map(|(_, name)| name))
    }
}

/// How each warning begins; the outputs with labels print it as one.
pub const DO_NOT: &str = "Do not ";

#[derive(Debug)]
pub struct Danger {
    /// The tempting command or act, forbidden: begins with [`DO_NOT`].
    pub action: &'static str,
    pub breaks: &'static str,
    /// The condition under which it is right after all, after "only"; empty when there is none.
    pub right_when: &'static str,
}

impl Danger {
    /// This act breaks that.
    pub const fn new(action: &'static str, breaks: &'static str) -> Self {
        Danger { action, breaks, right_when: "" }
    }

    /// What it breaks, or what else, and when it is right after all.
    pub fn breaks_and_when(&self, breaks: &str) -> String {
        match self.right_when {
            "" => breaks.to_owned(),
            condition => format!("{breaks} Right only {condition}."),
        }
    }
}

/// How something was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proven {
    /// By this lab scenario, on a real kernel with a real runtime.
    Lab(&'static str),
    /// In this situation of `tests/e2e`, on a real cluster; `docs/evidence/seen-on.md` and the README there have the versions.
    Cluster(&'static str),
    /// Its command only reads: the real kubectl typed it, and got what it asks for from the fake
    /// API server that answers as recorded.
    Typed,
    /// By judging what a real API server answered in this recorded situation.
    Recording(&'static str),
    /// By judging a saved observation made after the reference; the lab cannot stage it.
    Observation,
    /// Not by a test: the page and the output say so.
    Untested,
}

/// A reference to an entry; serialized as its id.
#[derive(Clone, Copy, Debug)]
pub struct CauseRef(pub &'static Cause);

impl std::ops::Deref for CauseRef {
    type Target = Cause;
    fn deref(&self) -> &Cause {
        self.0
    }
}

impl PartialEq for CauseRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for CauseRef {}

impl Serialize for CauseRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id)
    }
}

impl JsonSchema for CauseRef {
    fn schema_name() -> Cow<'static, str> {
        "Cause".into()
    }

    /// Any id, because a newer version knows more of them.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The id of a cause; docs/causes.md explains each. Newer versions know more of them.",
            "pattern": "^[A-Z][A-Za-z0-9]*$",
        })
    }
}

impl<'de> Deserialize<'de> for CauseRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        super::find(&id).map(CauseRef).ok_or_else(|| serde::de::Error::custom(UnknownCause(id)))
    }
}

/// A finding names a cause that this version does not know.
#[derive(Debug, thiserror::Error)]
#[error("cause {0:?} is not in this version's registry; use the version that wrote it, or a newer one")]
pub struct UnknownCause(pub String);

/// What reads the log of the `kubelet` or the `runtime`, all of it or lines with a pattern: in the journal of its unit, and
/// where it writes a file.
macro_rules! log_of {
    ($whose:literal, $since:literal) => {
        (
            concat!("journalctl -u {", $whose, "_journal} --since ", $since, " --no-pager"),
            concat!("tail -n 200 {", $whose, "_log}"),
        )
    };
    ($whose:literal, $since:literal, $pattern:literal) => {
        (
            concat!("journalctl -u {", $whose, "_journal} --since ", $since, " --no-pager --grep ", $pattern),
            concat!("grep -F -e ", $pattern, " {", $whose, "_log} | tail -n 50"),
        )
    };
}

/// Declares the causes of one area, and `ALL` of them.
macro_rules! causes {
    ($($name:ident = $cause:expr;)*) => {
        $(#[doc = "An entry of the registry."] pub static $name: $crate::cause::Cause = $cause.whole();)*
        pub(in crate::cause) static ALL: &[&$crate::cause::Cause] = &[$(&$name),*];
    };
}

/// Names the causes of these files here, and `ALL` of them in the order of the documents.
macro_rules! files_of_causes {
    ($($($part:ident)::+),* $(,)?) => {
        $(pub use self::$($part)::+::*;)*
        pub(super) static ALL: &[&[&$crate::cause::Cause]] = &[$(self::$($part)::+::ALL),*];
    };
}
