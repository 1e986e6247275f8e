//! The words of an Event.

use crate::{Finding, PodRef, duration};

/// The API server refuses a longer note, in bytes.
pub const MAX_NOTE_BYTES: usize = 1024;

/// Affected a finding holds.
#[derive(Clone, Copy, Debug)]
pub enum Affected<'a> {
    Pod(&'a PodRef),
    /// Pods of the node, reported once.
    Pods,
    /// No pod; the node itself is in this state.
    Node,
}

impl Affected<'_> {
    /// `reason` of the Normal event that reports the end.
    pub fn end_reason(self) -> &'static str {
        match self {
            Affected::Pod(_) | Affected::Pods => "PodNoLongerHeld",
            Affected::Node => "NodeFindingOver",
        }
    }
}

/// What the Warning says while the finding holds: no counts and no times, because the note of an
/// Event cannot be changed.
pub fn opening_note(affected: Affected, finding: &Finding) -> String {
    let at = finding.gate.map(|gate| format!(" at {gate}")).unwrap_or_default();
    let title = finding.cause.title;
    let above = finding.chain.iter().filter(|link| !link.root).map(|link| link.subject.clone());
    let chain: Vec<String> = above.chain(roots(finding)).collect();
    let mut note = match affected {
        Affected::Pod(pod) => format!("Pod {pod} is held{at}: {title}. "),
        Affected::Pods => format!("Pods of this node are held{at}: {title}. "),
        Affected::Node => format!("This node: {title}. "),
    };
    if !chain.is_empty() {
        note.push_str(&format!("Chain: {}. ", chain.join(" > ")));
    }
    // Advice that is cut in the middle is worse than none.
    if let Some(step) = finding.remedy.steps.first() {
        let command = step.command.as_ref().map(|command| format!(": {command}")).unwrap_or_default();
        let advice = format!("Do: {}{command}", step.text);
        if note.len() + advice.len() <= MAX_NOTE_BYTES {
            note.push_str(&advice);
        }
    }
    bounded(note.trim_end().to_owned())
}

/// The note of the Normal event that ends it.
pub fn end_note(affected: Affected, finding: &Finding, lasted_s: u64, ended_by: &str) -> String {
    let at = finding.gate.map(|gate| format!(" at {gate}")).unwrap_or_default();
    let root = roots(finding).map(|roots| format!(" ({roots})"));
    let cause = finding.cause.id;
    let root = root.unwrap_or_default();
    let subject = match affected {
        Affected::Pod(pod) => format!("Pod {pod} is no longer held{at} by {cause}{root}"),
        Affected::Pods => format!("Pods of this node are no longer held{at} by {cause}{root}"),
        Affected::Node => format!("This node: {cause}{root} has ended"),
    };
    bounded(format!("{subject}: {ended_by}. It lasted {}", duration(lasted_s)))
}

/// The roots of its chain, as a sentence names them.
fn roots(finding: &Finding) -> Option<String> {
    let roots: Vec<&str> = finding.roots().map(|link| link.subject.as_str()).collect();
    (!roots.is_empty()).then(|| roots.join(" and "))
}

fn bounded(mut note: String) -> String {
    if note.len() > MAX_NOTE_BYTES {
        let mut end = MAX_NOTE_BYTES - '…'.len_utf8();
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        note.truncate(end);
        note.push('…');
    }
    note
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        CauseRef, Confidence, Entity, Gate, Link, Placeholder, PodUid, ProcessId, Remedy, Subject, Values, cause,
    };

    pub(in crate::event) fn sample() -> Finding {
        let mut root = Link::new(Subject::new("pid 4242 du", Entity::process(4242, "du", 'S')), "its cwd is in it");
        root.root = true;
        let values = Values::new()
            .with(Placeholder::Server, "du")
            .with(Placeholder::ServerPid, ProcessId { pid: 4242, start_ticks: 881_230 });
        let values = values.with(Placeholder::Connection, 40);
        Finding {
            cause: CauseRef(&cause::FUSE_SERVER_NOT_RESPONDING),
            gate: Some(Gate::VolumesUnmounted),
            confidence: Confidence::Proven,
            missing: None,
            chain: vec![Link::new("volume data", "mounted"), root],
            evidence: Vec::new(),
            remedy: Remedy::fill(&cause::FUSE_SERVER_NOT_RESPONDING, &values),
            values,
            must_end_too: None,
            root: "FuseServerNotResponding:4242".to_owned(),
        }
    }

    fn pod() -> PodRef {
        let uid = PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba1").unwrap();
        PodRef { namespace: Some("shop".into()), name: Some("db-0".into()), uid }
    }

    #[test]
    fn it_names_the_pod_the_gate_the_chain_and_the_next_step() {
        let title = cause::FUSE_SERVER_NOT_RESPONDING.title;
        assert_eq!(
            opening_note(Affected::Pod(&pod()), &sample()),
            format!(
                "Pod shop/db-0 is held at VolumesUnmounted: {title}. Chain: volume data > pid 4242 du. Do: If du \
                 (pid 4242) is only stopped (state T), let it run again: {}",
                sample().remedy.steps[0].command.as_deref().unwrap(),
            )
        );
        assert!(
            opening_note(Affected::Pods, &sample()).starts_with("Pods of this node are held at VolumesUnmounted: ")
        );
        assert_eq!(
            end_note(Affected::Pod(&pod()), &sample(), 720, "the pod is gone"),
            "Pod shop/db-0 is no longer held at VolumesUnmounted by FuseServerNotResponding (pid 4242 du): \
             the pod is gone. It lasted 12m"
        );
    }

    #[test]
    fn it_fits_and_never_cuts_a_command() {
        let mut finding = sample();
        finding.chain.push(Link::new("ü".repeat(199), ""));
        finding.remedy.steps[0].command = Some("x".repeat(900));
        let note = opening_note(Affected::Pod(&pod()), &finding);
        assert!(note.len() <= MAX_NOTE_BYTES && !note.contains("Do:"), "{note}");
        for _ in 0..9 {
            finding.chain.push(Link::new("ü".repeat(199), ""));
        }
        let note = opening_note(Affected::Pod(&pod()), &finding);
        assert!(note.len() <= MAX_NOTE_BYTES && note.ends_with('…'), "{}", note.len());
    }
}
