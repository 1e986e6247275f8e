//! What goes into the reconciler and what comes out.

use std::{collections::BTreeSet, time::Duration};

use agent_core::observation::{ApiFacts, ApiPod, Fault, Seen};
use findings::event::{EventName, FindingAnnotation, Phase, Subjects};
use findings::{NodeReport, PodUid};

use crate::Instant;
use crate::event::{Draft, Identity, NodeRef};
use crate::index::{NodeInfo, WatchEvent};
use crate::tracker::{ExistingEvent, Tracker, Written};

#[allow(clippy::large_enum_variant, reason = "one at a time is on its way")]
#[derive(Debug)]
pub enum Input {
    /// Nothing but that time has passed.
    Tick,
    /// The watch has reported something.
    Watch(WatchEvent),
    /// To [`Command::List`].
    Listed(Result<Vec<ApiPod>, Fault>),
    /// To [`Command::GetNode`]; none when there is no such Node.
    Node(Result<Option<NodeInfo>, Fault>),
    /// To [`Command::ReadOwn`].
    OwnEvents(Result<Vec<OwnEvent>, Fault>),
    /// To [`Command::Scan`].
    Scanned(Box<Scan>),
    /// To [`Command::Write`].
    Wrote(WriteOutcome),
    /// To [`Command::ReadExisting`]; none when there is none.
    Existing(Result<Option<Box<ExistingEvent>>, Fault>),
}

/// Something is to be done. Each is answered once.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Scan the node, with the API server's word if it is asked at all.
    Scan(Option<Seen<ApiFacts>>),
    /// List the pods of this node.
    List {
        /// Whether an answer from a cache will not do: nothing is called forgotten by an old list.
        consistent: bool,
    },
    GetNode,
    /// Read the Events of this agent.
    ReadOwn,
    Write(Box<Draft>),
    /// Read what stands where an Event could not be written.
    ReadExisting(EventName),
}

/// A scan and its judgement.
#[derive(Clone, Debug)]
pub struct Scan {
    pub began: Instant,
    pub at: Instant,
    /// Processor time it took. Waiting for a runtime that is silent costs nothing.
    pub took: Duration,
    pub report: NodeReport,
    /// See [`Snapshot::complete`](crate::tracker::Snapshot::complete).
    pub complete: bool,
    /// Pods that are held here and that the API server does not have.
    pub forgotten: BTreeSet<PodUid>,
}

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It stands.
    Done {
        /// `eventTime` as it stands.
        event_time: String,
    },
    /// An Event of this name stands there and says something else in a part that cannot be changed.
    Differs,
    /// The API server did not take it, and may later.
    Busy {
        /// `Retry-After`.
        after: Option<Duration>,
    },
    /// Its outcome is unknown: there was no answer, or one of a server in trouble.
    Unknown {
        /// `Retry-After`.
        after: Option<Duration>,
    },
    /// It will not take it.
    Refused,
}

impl WriteOutcome {
    /// As metrics have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            WriteOutcome::Done { .. } => "written",
            WriteOutcome::Differs => "differs",
            WriteOutcome::Busy { .. } => "busy",
            WriteOutcome::Unknown { .. } => "unknown",
            WriteOutcome::Refused => "refused",
        }
    }
}

/// An Event that an earlier run of this agent has written.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnEvent {
    /// `metadata.name`.
    pub name: EventName,
    /// Everything of it that cannot be changed.
    pub existing: ExistingEvent,
    /// When it was last written, in seconds since the epoch.
    pub written_s: i64,
    pub annotation: FindingAnnotation,
    /// [`FindingAnnotation::since`], in seconds since the epoch.
    pub since_s: i64,
}

/// Goes on with those that hold: Warnings about this Node that no Normal event has ended.
///
/// Others may write Events in that namespace too. Only what this agent could renew is taken for its own: it
/// says in every part that cannot be changed what this agent would say, and bears the name that this agent
/// would have given it, or that name with a salt.
pub(super) fn restore(tracker: &mut Tracker, events: Vec<OwnEvent>, of: &NodeRef, now: Instant) {
    let (holding, ended): (Vec<OwnEvent>, Vec<OwnEvent>) =
        events.into_iter().partition(|event| event.existing.identity.kind == "Warning");
    let is_ended = |event: &OwnEvent| {
        let over = event.name.end_name(event.since_s);
        ended.iter().any(|end| over.is_base_of(&end.name))
    };
    for event in holding.into_iter().filter(|event| is_ours(event, of) && !is_ended(event)) {
        let is_of_pod = event.existing.identity.related.is_some();
        let written = Written {
            at: now.convert_wall(event.written_s),
            event_time: event.existing.event_time,
            count: event.existing.count,
            pods: event.annotation.pods.iter().map(|pod| pod.uid.clone()).collect(),
            note: event.existing.note,
            may_stand: true,
        };
        tracker.restore(event.name, event.annotation, is_of_pod, written, now.convert_wall(event.since_s));
    }
}

fn is_ours(event: &OwnEvent, of: &NodeRef) -> bool {
    let OwnEvent { name, existing, annotation, .. } = event;
    let pod = annotation.pods.first().filter(|_| existing.identity.related.is_some());
    let first = EventName::new(
        &of.node,
        &of.uid,
        pod.map_or(Subjects::Node, |pod| Subjects::Pod(&pod.uid)),
        &annotation.finding,
    );
    annotation.phase == Phase::Holds
        && existing.identity == Identity::new(of, true, annotation.finding.cause.event_reason, pod)
        && first.is_base_of(name)
}
