//! What is reported of namespaces as Events: what holds each, once for each root, and when it has ended. Pure: it follows
//! from the incidents, so that both replicas would write the same, under the same names. Only which of several causes an end
//! names follows from earlier Events, where those are known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::incidents::{Hold, Incident};
use findings::event::MAX_NOTE_BYTES;
use findings::{Verdict, clean, duration};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

/// `reportingController` of what the service writes.
pub const CONTROLLER: &str = "why-terminating/aggregator";
/// `action`: what the namespace controller was doing.
pub const ACTION: &str = "DeleteNamespace";
/// An Event lives an hour; one that still holds is renewed before.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(30 * 60);
/// A root that changes more often is reported no more often, but for the first time: what is seen first is often that
/// something is left, and a minute later by whom.
const MIN_CHANGE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// What ended so shortly before the last hold ended with it: a node is ready some seconds after its runtime answers. And an
/// effect of a reported cause is not reported before.
const SAME_END_WINDOW: SignedDuration = SignedDuration::from_secs(30);
/// So long the API shows a pod as unfinished, or its node as silent, after what an agent had named has ended: the kubelet
/// tries again after two minutes at most, and some volumes are in use by each other. Longer, and it is reported as what
/// holds.
const EXPLAINED_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// So long the end of an incident is written, by the leader at that time.
const END_RETENTION: SignedDuration = SignedDuration::from_mins(10);
/// In one round: a thousand namespaces that get stuck at once are reported one after the other.
const MAX_NOTES_PER_ROUND: usize = 10;

/// An Event that is to be there. What it says cannot be changed once it is written, so it contains no counts and no times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `metadata.name`.
    pub name: String,
    /// The Namespace it regards.
    pub namespace: String,
    pub uid: String,
    /// Warning while it holds, Normal when it has ended.
    pub is_warning: bool,
    pub reason: &'static str,
    pub note: String,
    /// How often it was written before.
    pub renewals: i32,
}

/// What was reported of one namespace.
#[derive(Debug)]
struct Announced {
    name: String,
    at: Duration,
    renewals: i32,
    /// Whether another root was reported before.
    has_changed: bool,
}

/// What was reported, by the namespace's uid.
#[derive(Debug, Default)]
pub struct Announcer {
    told: BTreeMap<String, Announced>,
}

impl Announcer {
    /// What to write now. `now` is since some moment in the past, `date` is what the API server's clock says.
    pub fn due<'a>(
        &self,
        incidents: impl IntoIterator<Item = &'a Incident>,
        now: Duration,
        date: Timestamp,
    ) -> Vec<Note> {
        namespaces(incidents)
            .filter_map(|incident| self.due_note(incident, now, date))
            .take(MAX_NOTES_PER_ROUND)
            .collect()
    }

    fn due_note(&self, incident: &Incident, now: Duration, date: Timestamp) -> Option<Note> {
        let told = self.told.get(&incident.uid);
        let mut note = match &incident.end {
            None => hold_note(incident, date, told)?,
            Some(end) if end.at.checked_add(END_RETENTION).is_ok_and(|until| date <= until) => {
                end_note(incident, end.at, told)
            }
            Some(_) => return None,
        };
        let Some(told) = told else { return Some(note) };
        let since = now.saturating_sub(told.at);
        if told.name == note.name {
            note.renewals = told.renewals + 1;
            return (note.is_warning && since >= RENEWAL_INTERVAL).then_some(note);
        }
        (!note.is_warning || !told.has_changed || since >= MIN_CHANGE_INTERVAL).then_some(note)
    }

    pub fn written(&mut self, note: &Note, now: Duration) {
        let before = self.told.get(&note.uid);
        let has_changed = before.is_some_and(|told| told.has_changed || told.name != note.name);
        let told = Announced { name: note.name.clone(), at: now, renewals: note.renewals, has_changed };
        self.told.insert(note.uid.clone(), told);
    }

    /// Forgets those of which nothing can be due any more.
    pub fn forget<'a>(&mut self, incidents: impl IntoIterator<Item = &'a Incident>) {
        let known: BTreeSet<&str> = namespaces(incidents).map(|incident| incident.uid.as_str()).collect();
        self.told.retain(|uid, _| known.contains(uid.as_str()));
    }
}

/// The hold to name where none holds for good: the oldest.
fn main_hold(incident: &Incident) -> Option<&Hold> {
    incident.last_held_by().min_by_key(|hold| (hold.verdict != Verdict::Stuck, hold.since, &hold.root))
}

/// Whether all it says is that something on a node is not finished, and an agent says why, or did so a while before.
fn is_explained(incident: &Incident, hold: &Hold, now: Timestamp) -> bool {
    let begin = hold.until.unwrap_or(now).checked_sub(EXPLAINED_WINDOW).unwrap_or(Timestamp::MIN);
    let says_why = |other: &Hold| {
        let says_more = hold.cause.only_the_node_knows || hold.cause.is_outranked_by(&other.cause);
        let is_its = other.told_by.is_some() && other.verdict == Verdict::Stuck;
        says_more && is_its && other.until.is_none_or(|until| until > begin)
    };
    hold.told_by.is_none() && incident.holds.iter().any(says_why)
}

/// What to name at the end: the last that held for good, of several that ended together the reported one, else the oldest.
/// It mostly ends a moment before the namespace, which is then held by nothing, or is just being emptied.
fn last_hold<'a>(incident: &'a Incident, end: Timestamp, told: Option<&Announced>) -> Option<&'a Hold> {
    let until = |hold: &Hold| hold.until.unwrap_or(end);
    let is_cause = |hold: &&Hold| hold.verdict == Verdict::Stuck && !is_explained(incident, hold, end);
    let stuck = || incident.holds.iter().filter(is_cause);
    let last = stuck().map(until).max()?;
    let together = last.checked_sub(SAME_END_WINDOW).unwrap_or(Timestamp::MIN);
    let is_untold = |hold: &Hold| told.is_none_or(|told| told.name != event_name(incident, hold));
    let ended_together = stuck().filter(|hold| until(hold) >= together);
    ended_together.min_by_key(|hold| (is_untold(hold), hold.since, Reverse(until(hold))))
}

fn hold_note(incident: &Incident, now: Timestamp, told: Option<&Announced>) -> Option<Note> {
    // What passes by itself needs no work.
    let is_work = |hold: &&Hold| hold.verdict == Verdict::Stuck && !is_explained(incident, hold, now);
    // The reported cause has just been cured, and the controller needs some seconds to go on.
    let lasts = |hold: &&Hold| {
        told.is_none_or(|told| told.name == event_name(incident, hold))
            || now.duration_since(hold.since) >= SAME_END_WINDOW
    };
    let hold = incident.last_held_by().filter(is_work).filter(lasts).min_by_key(|hold| (hold.since, &hold.root))?;
    let namespace = &incident.object.name;
    let chain: Vec<&str> = hold.chain.iter().map(|link| link.subject.as_str()).collect();
    let text = format!(
        "This namespace is held: {}. Chain: {}. More: kubectl why-terminating namespace/{namespace}",
        hold.cause.title,
        chain.join(" > "),
    );
    Some(note(incident, &event_name(incident, hold), true, hold.cause.event_reason, &text))
}

/// The name of the Event that reports a hold.
fn event_name(incident: &Incident, hold: &Hold) -> String {
    format!("{}.{}", incident.object.name, hash(&[&incident.uid, hold.cause.id, &hold.root]))
}

fn end_note(incident: &Incident, at: Timestamp, told: Option<&Announced>) -> Note {
    let namespace = &incident.object.name;
    let by = last_hold(incident, at, told)
        .or_else(|| main_hold(incident))
        .map(|hold| format!("; it was held by {}", hold.cause.id))
        .unwrap_or_default();
    let text = format!("This namespace is gone, after {}{by}", duration(incident.seconds(at)));
    note(incident, &format!("{namespace}.{}.over", hash(&[&incident.uid])), false, "NamespaceNoLongerHeld", &text)
}

fn note(incident: &Incident, name: &str, is_warning: bool, reason: &'static str, text: &str) -> Note {
    let (namespace, uid) = (incident.object.name.clone(), incident.uid.clone());
    // The longest note is so long in bytes, and `clean` counts characters.
    let note = (0..5).map(|halved| clean(text, MAX_NOTE_BYTES >> halved)).find(|note| note.len() <= MAX_NOTE_BYTES);
    Note { name: name.to_owned(), namespace, uid, is_warning, reason, note: note.unwrap_or_default(), renewals: 0 }
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn namespaces<'a>(incidents: impl IntoIterator<Item = &'a Incident>) -> impl Iterator<Item = &'a Incident> {
    incidents.into_iter().filter(|incident| incident.object.kind == "Namespace")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::incidents::End;
    use aggregator_core::state::{ObjectRef, known};
    use findings::{CauseRef, Confidence, Link, cause};

    use super::*;

    const DATE: Timestamp = Timestamp::UNIX_EPOCH;
    const LATER: Timestamp = Timestamp::constant(60, 0);

    fn at(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn incident(roots: &[&str]) -> Incident {
        let hold = |root: &&str| Hold {
            cause: CauseRef(cause::all().next().unwrap()),
            gate: None,
            confidence: Confidence::Proven,
            verdict: Verdict::Stuck,
            root: (*root).to_owned(),
            chain: vec![Arc::new(Link::new((*root).to_owned(), ""))],
            told_by: None,
            since: DATE,
            until: None,
            reads: aggregator_core::access::Reads::default(),
        };
        Incident {
            id: "1".to_owned(),
            object: ObjectRef::cluster_wide(known::NAMESPACES, "shop"),
            uid: "u".to_owned(),
            asked: DATE,
            stuck_since: DATE,
            holds: roots.iter().map(hold).collect(),
            has_more_holds: false,
            end: None,
        }
    }

    #[test]
    fn one_root_is_told_once_and_renewed_before_its_event_goes() {
        let (mut announcer, incidents) = (Announcer::default(), [incident(&["a"])]);
        let first = announcer.due(&incidents, at(0), DATE).remove(0);
        assert!(first.is_warning && first.note.contains("Chain: a."), "{first:?}");
        announcer.written(&first, at(0));
        assert_eq!(announcer.due(&incidents, at(29), DATE), []);
        let again = announcer.due(&incidents, at(30), DATE).remove(0);
        assert_eq!((again.name.as_str(), again.renewals), (first.name.as_str(), 1));
        announcer.written(&again, at(30));
        assert_eq!(announcer.due(&incidents, at(59), DATE), []);
    }

    #[test]
    fn roots_that_change_all_the_time_are_not_told_all_the_time() {
        let mut announcer = Announcer::default();
        let mut written = 0;
        for second in 0..3600 {
            let root = if second % 2 == 0 { "a" } else { "b" };
            for note in announcer.due(&[incident(&[root])], Duration::from_secs(second), LATER) {
                announcer.written(&note, Duration::from_secs(second));
                written += 1;
            }
        }
        assert!((2..=14).contains(&written), "{written}");
    }

    #[test]
    fn what_is_found_after_a_minute_is_told_then() {
        let mut announcer = Announcer::default();
        for (minute, root) in [(0, "left"), (1, "holder")] {
            let note = announcer.due(&[incident(&[root])], at(minute), LATER).remove(0);
            assert!(note.note.contains(&format!("Chain: {root}.")), "{note:?}");
            announcer.written(&note, at(minute));
        }
        assert_eq!(announcer.due(&[incident(&["left"])], at(2), LATER), []);
        assert_eq!(announcer.due(&[incident(&["left"])], at(6), LATER).len(), 1);
    }

    /// As on a real cluster: the account of an operator was there again, and seconds later its new pod finished.
    #[test]
    fn what_follows_what_was_told_is_told_when_it_lasts() {
        let mut announcer = Announcer::default();
        let mut one = incident(&["account", "controller"]);
        one.holds[1].since = second(10);
        one.holds[1].cause = CauseRef(cause::all().nth(1).unwrap());
        announcer.written(&announcer.due(std::slice::from_ref(&one), at(0), DATE).remove(0), at(0));
        one.holds[0].until = Some(second(10));
        assert_eq!(announcer.due(std::slice::from_ref(&one), at(1), second(20)), []);
        let later = announcer.due(std::slice::from_ref(&one), at(1), second(40));
        assert!(later[0].note.contains("Chain: controller."), "{later:?}");
        one.holds[1].until = Some(second(18));
        one.end = Some(End { at: second(19), seen: true, left_behind: Vec::new() });
        let over = announcer.due(std::slice::from_ref(&one), at(1), second(20)).remove(0);
        assert!(over.note.ends_with(&format!("; it was held by {}", one.holds[0].cause.id)), "{}", over.note);
    }

    /// As on a real cluster: a pod was let go, and its namespace was not empty at the next look.
    #[test]
    fn what_goes_by_itself_is_not_told_as_what_holds() {
        let mut announcer = Announcer::default();
        let mut one = incident(&["holder", "emptying"]);
        one.holds[1].verdict = Verdict::Progressing;
        let note = announcer.due(std::slice::from_ref(&one), at(0), DATE).remove(0);
        assert!(note.note.contains("Chain: holder."), "{note:?}");
        announcer.written(&note, at(0));
        one.holds[0].until = Some(DATE);
        assert_eq!(announcer.due(std::slice::from_ref(&one), at(1), DATE), []);
        one.holds[1].verdict = Verdict::Stuck;
        assert_eq!(announcer.due(&[one], at(1), LATER).len(), 1);
    }

    #[test]
    fn both_replicas_call_it_the_same() {
        let incidents = [incident(&["a", "b"])];
        let [one, other] = [0, 7].map(|now| Announcer::default().due(&incidents, at(now), DATE));
        assert_eq!(one, other);
        assert_ne!(one, Announcer::default().due(&[incident(&["b"])], at(0), DATE));
    }

    #[test]
    fn its_end_is_told_at_once_and_once() {
        let mut announcer = Announcer::default();
        let mut one = incident(&["a"]);
        announcer.written(&announcer.due(std::slice::from_ref(&one), at(0), DATE).remove(0), at(0));
        one.end = Some(End { at: DATE, seen: true, left_behind: Vec::new() });
        let incidents = [one];
        let over = announcer.due(&incidents, at(0), DATE).remove(0);
        assert!(!over.is_warning, "{over:?}");
        announcer.written(&over, at(0));
        assert_eq!(announcer.due(&incidents, at(60), DATE), []);
        let later = DATE.checked_add(SignedDuration::from_mins(11)).unwrap();
        assert_eq!(Announcer::default().due(&incidents, at(0), later), [], "that is no news any more");
    }

    #[test]
    fn what_held_it_is_told_at_its_end_although_that_was_over_before() {
        let mut one = incident(&["a", "b", "c"]);
        let causes: Vec<_> = cause::all().take(3).map(CauseRef).collect();
        for (hold, cause) in one.holds.iter_mut().zip(&causes) {
            hold.cause = *cause;
        }
        let second = |second| Timestamp::from_second(second).ok();
        one.holds[2].verdict = Verdict::Progressing;
        one.end = Some(End { at: DATE, seen: true, left_behind: Vec::new() });
        one.holds[0].until = second(1);
        // What ended long before the other does not count; of two that ended together the older does.
        for (until, named) in [(100, 1), (2, 0)] {
            one.holds[1].until = second(until);
            one.holds[1].since = Timestamp::from_second(1).unwrap();
            let over = Announcer::default().due(std::slice::from_ref(&one), at(0), DATE).remove(0);
            assert!(over.note.ends_with(&format!("; it was held by {}", causes[named].id)), "{}", over.note);
        }
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// As on a real cluster: the API showed that containers run on, then an agent said that a FUSE server does not answer,
    /// and when that was over the API showed the same as before until the kubelet had ended the pod.
    fn explained_by_an_agent(since: i64, until: i64) -> Incident {
        let mut one = incident(&["pod", "server"]);
        one.holds[0].cause = CauseRef(&cause::POD_CONTAINERS_NOT_STOPPED);
        one.holds[1].cause = CauseRef(&cause::FUSE_SERVER_NOT_RESPONDING);
        one.holds[1].told_by = Some("node-a".to_owned());
        (one.holds[1].since, one.holds[1].until) = (second(since), Some(second(until)));
        one
    }

    #[test]
    fn what_an_agent_said_held_it_although_the_pod_took_some_seconds_more() {
        for (seconds, named) in [(3, 1), (47, 1), (299, 1), (301, 0)] {
            for until in [None, Some(second(250 + seconds))] {
                let mut one = explained_by_an_agent(200, 250);
                one.holds[0].until = until;
                one.end = Some(End { at: second(250 + seconds), seen: true, left_behind: Vec::new() });
                let over = Announcer::default().due(std::slice::from_ref(&one), at(0), second(600)).remove(0);
                let wanted = format!("; it was held by {}", one.holds[named].cause.id);
                assert!(over.note.ends_with(&wanted), "{seconds} s: {}", over.note);
            }
        }
    }

    #[test]
    fn what_an_agent_said_last_held_it_although_it_said_so_late() {
        let mut one = explained_by_an_agent(230, 0);
        (one.holds[0].until, one.holds[1].until) = (Some(second(230)), None);
        let told = Announcer::default().due(std::slice::from_ref(&one), at(0), second(231)).remove(0);
        assert!(told.note.contains("Chain: server."), "{told:?}");
        one.end = Some(End { at: second(240), seen: true, left_behind: Vec::new() });
        let over = Announcer::default().due(std::slice::from_ref(&one), at(0), second(240)).remove(0);
        assert!(over.note.ends_with("FuseServerNotResponding"), "{}", over.note);
    }

    #[test]
    fn a_pod_that_ends_after_what_an_agent_said_is_no_other_root() {
        let mut announcer = Announcer::default();
        let mut one = explained_by_an_agent(0, 1200);
        one.holds[1].until = None;
        one.holds[0].until = Some(DATE);
        let told = announcer.due(std::slice::from_ref(&one), at(0), DATE).remove(0);
        assert!(told.note.contains("Chain: server."), "{told:?}");
        announcer.written(&told, at(0));
        let mut one = explained_by_an_agent(0, 1200);
        assert_eq!(announcer.due(std::slice::from_ref(&one), at(20), second(1210)), [], "it is being ended");
        assert_eq!(announcer.due(std::slice::from_ref(&one), at(26), second(1501)).len(), 1, "it still is not");
        one.holds[0].cause = CauseRef(&cause::VOLUME_HELD_BY_PROCESS);
        assert_eq!(announcer.due(&[one], at(20), second(1210)).len(), 1, "that says why");
    }

    /// As on a real cluster: a kubelet was stopped and goes on, and its node is ready ten seconds later.
    #[test]
    fn a_node_that_is_silent_a_while_longer_is_no_other_root() {
        let mut one = incident(&["node", "kubelet", "silent"]);
        let causes = [&cause::NODE_UNREACHABLE, &cause::KUBELET_STOPPED, &cause::NODE_KUBELET_SILENT];
        for (hold, cause) in one.holds.iter_mut().zip(causes) {
            hold.cause = CauseRef(cause);
        }
        one.holds[1].told_by = Some("node-a".to_owned());
        one.holds[0].until = Some(second(10));
        (one.holds[1].since, one.holds[1].until) = (second(10), Some(second(22)));
        one.holds[2].since = second(22);
        assert_eq!(Announcer::default().due(std::slice::from_ref(&one), at(0), second(25)), []);
        one.end = Some(End { at: second(31), seen: true, left_behind: Vec::new() });
        let over = Announcer::default().due(std::slice::from_ref(&one), at(0), second(31)).remove(0);
        assert!(over.note.ends_with("; it was held by KubeletStopped"), "{}", over.note);
    }

    /// As on a real cluster: an API that was dead was taken for dead some seconds longer, and a webhook held it.
    #[test]
    fn what_was_told_held_it_rather_than_what_was_over_before_anything_was_told() {
        let mut one = incident(&["api", "webhook"]);
        one.holds[0].cause = CauseRef(&cause::API_SERVICE_WITHOUT_SERVICE);
        one.holds[1].cause = CauseRef(&cause::WEBHOOK_UNAVAILABLE);
        (one.holds[0].until, one.holds[1].since) = (Some(second(4)), second(4));
        let mut announcer = Announcer::default();
        let told = announcer.due(std::slice::from_ref(&one), at(0), second(5)).remove(0);
        assert!(told.note.contains("Chain: webhook."), "{told:?}");
        announcer.written(&told, at(0));
        one.end = Some(End { at: second(12), seen: true, left_behind: Vec::new() });
        let over = announcer.due(std::slice::from_ref(&one), at(1), second(12)).remove(0);
        assert!(over.note.ends_with("; it was held by WebhookUnavailable"), "{}", over.note);
    }

    #[test]
    fn what_ended_a_moment_before_the_namespace_ended_with_what_was_last() {
        let mut one = incident(&["runtime", "node"]);
        one.holds[0].until = Some(second(97));
        one.holds[1].cause = CauseRef(cause::all().nth(1).unwrap());
        one.holds[1].since = second(5);
        one.end = Some(End { at: second(100), seen: true, left_behind: Vec::new() });
        let over = Announcer::default().due(std::slice::from_ref(&one), at(0), second(100)).remove(0);
        assert!(over.note.ends_with(one.holds[0].cause.id), "{}", over.note);
    }

    #[test]
    fn many_are_told_one_after_the_other() {
        let many: Vec<Incident> = (0..1000).map(|n| Incident { uid: n.to_string(), ..incident(&["a"]) }).collect();
        assert_eq!(Announcer::default().due(&many, at(0), DATE).len(), MAX_NOTES_PER_ROUND);
    }

    #[test]
    fn a_note_is_as_long_as_the_api_server_takes_it() {
        for long in ["x".repeat(5000), "ﷺ".repeat(5000)] {
            let mut incident = incident(&["a"]);
            incident.holds[0].chain = vec![Arc::new(Link { subject: long, ..Link::new(String::new(), "") })];
            let note = &Announcer::default().due(&[incident], at(0), DATE)[0].note;
            assert!((100..=MAX_NOTE_BYTES).contains(&note.len()), "{}", note.len());
        }
    }
}
