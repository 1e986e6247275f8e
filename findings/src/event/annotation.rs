//! The structured finding in the annotation of an Event.

use serde::{Deserialize, Serialize};

use crate::{Finding, PodRef, Remedy, Values};

/// No annotation of ours is longer, in bytes. Annotations of one object may have 256 KiB together,
/// but thousands of Events live in etcd at the same time.
pub const MAX_ANNOTATION_BYTES: usize = 8 << 10;
/// The names of so many pods are listed; of others only the number.
const MAX_PODS: usize = 50;

/// A finding on its way from an agent to the readers of the Event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingAnnotation {
    /// The version of this format, see [`FindingAnnotation::SCHEMA`].
    pub schema: u32,
    /// Whether it holds.
    pub phase: Phase,
    /// When it was first seen (RFC 3339, UTC).
    pub since: String,
    /// When it was last seen, or when its end was.
    pub seen: String,
    pub pods: Vec<PodRef>,
    /// How many pods it holds; more than are named when there are very many.
    pub pod_count: usize,
    /// What it is, without its remedy: the reader fills its own registry's templates with the values, so no text of a step
    /// comes from an Event.
    pub finding: Finding,
}

/// All that is read of an annotation before its version is known.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// Whether a finding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It was seen at the last look.
    Holds,
    /// It was not seen any more.
    Over,
    /// It holds, and the Event of the node reports it for all pods with the same root.
    Merged,
}

/// An annotation that is no finding.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is longer than anything an agent writes.
    #[error("the annotation has {0} bytes, more than an agent writes")]
    TooLong(usize),
    /// It has another format or names a cause this version does not know.
    #[error("the annotation cannot be read, it may be of another version: {0}")]
    Format(#[from] serde_json::Error),
    /// It is of another schema.
    #[error("the annotation has schema {0}, which this version does not read")]
    Schema(u32),
}

impl FindingAnnotation {
    /// The version of the format: a finding as its own JSON, in which any list and map may be absent.
    pub const SCHEMA: u32 = 3;
    /// The version before it, which had each of them. Agents of the release before write it.
    const PREVIOUS_SCHEMA: u32 = 2;

    /// A finding that holds `pods` since `since` and was seen at `seen`.
    pub fn new(phase: Phase, finding: &Finding, pods: &[PodRef], since: String, seen: String) -> Self {
        FindingAnnotation {
            schema: Self::SCHEMA,
            phase,
            since,
            seen,
            pods: pods.iter().take(MAX_PODS).cloned().collect(),
            pod_count: pods.len(),
            finding: finding.clone(),
        }
    }

    /// As JSON of at most [`MAX_ANNOTATION_BYTES`]. What does not fit is left out in the order in which it is
    /// missed least: evidence, names of pods, steps of the chain above the root, the values of the remedy.
    pub fn to_json(&self) -> String {
        let text = |annotation: &FindingAnnotation| serde_json::to_string(annotation).unwrap_or_default();
        let mut fits = self.clone();
        fits.finding.remedy = Remedy::default();
        let mut json = text(&fits);
        let cuts: [fn(&mut FindingAnnotation); 5] = [
            |annotation| annotation.finding.evidence.truncate(3),
            |annotation| annotation.finding.evidence.clear(),
            |annotation| annotation.pods.truncate(10),
            |annotation| annotation.finding.chain.retain(|link| link.root),
            |annotation| annotation.finding.values = Values::new(),
        ];
        for cut in cuts {
            if json.len() <= MAX_ANNOTATION_BYTES {
                return json;
            }
            cut(&mut fits);
            json = text(&fits);
        }
        json
    }

    /// Reads an annotation. Every account with the right to write Events can write it, so nothing in it is more than a
    /// claim.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        if text.len() > 2 * MAX_ANNOTATION_BYTES {
            return Err(ReadError::TooLong(text.len()));
        }
        let Version { schema } = serde_json::from_str(text)?;
        if ![Self::PREVIOUS_SCHEMA, Self::SCHEMA].contains(&schema) {
            return Err(ReadError::Schema(schema));
        }
        let mut annotation: FindingAnnotation = serde_json::from_str(text)?;
        let Finding { cause, values, remedy, .. } = &mut annotation.finding;
        *remedy = Remedy::fill(cause.0, values);
        annotation.finding.clean();
        Ok(annotation)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Evidence, FindingBuilder, Link, Placeholder, PodUid, cause, event::note::tests::sample};

    fn pod(name: &str) -> PodRef {
        let uid = PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba1").unwrap();
        PodRef { namespace: Some("shop".into()), name: Some(name.into()), uid }
    }

    fn annotation(finding: Finding, pods: &[PodRef]) -> FindingAnnotation {
        FindingAnnotation::new(
            Phase::Holds,
            &finding,
            pods,
            "2026-08-01T10:00:00Z".into(),
            "2026-08-01T10:05:00Z".into(),
        )
    }

    #[test]
    fn it_comes_back_as_it_went() {
        let sent = annotation(sample(), &[pod("db-0")]);
        assert_eq!(FindingAnnotation::parse(&sent.to_json()).unwrap(), sent);
    }

    /// As the release before wrote it.
    #[test]
    fn the_schema_before_is_read() {
        let recorded = r#"{"schema":2,"phase":"Holds","since":"2026-08-01T10:00:00Z","seen":"2026-08-01T10:05:00Z","pods":[{"namespace":"shop","name":"db-0","uid":"96fb425e-919e-44f9-8b42-b1254a602ba1"}],"pod_count":1,"finding":{"cause":"FuseServerNotResponding","gate":"VolumesUnmounted","confidence":"Proven","chain":[{"subject":"volume data","state":"mounted"},{"subject":"pid 4242 du","state":"its cwd is in it","what":{"kind":"Process","pid":4242,"comm":"du","state":"S"},"root":true}],"evidence":[],"values":{"connection":"40","server":"du","server_pid":"4242@881230"},"root":"FuseServerNotResponding:4242"}}"#;
        let read = FindingAnnotation::parse(recorded).unwrap();
        assert_eq!(read, FindingAnnotation { schema: 2, ..annotation(sample(), &[pod("db-0")]) });
    }

    #[test]
    fn what_may_be_absent_is_read_as_empty() {
        let least = r#"{"schema":3,"phase":"Over","since":"","seen":"","pods":[],"pod_count":0,
            "finding":{"cause":"VolumeHeldByProcess","confidence":"Probable","root":"x"}}"#;
        let Finding { chain, evidence, values, remedy, .. } = FindingAnnotation::parse(least).unwrap().finding;
        assert_eq!((chain, evidence, values), Default::default());
        assert_eq!(remedy, Remedy::fill(&cause::VOLUME_HELD_BY_PROCESS, &Values::new()));
    }

    /// It is refused for its version, whatever else it says.
    #[test]
    fn the_schema_to_come_is_refused() {
        let error = FindingAnnotation::parse(r#"{"schema":4,"findings":[]}"#).unwrap_err();
        assert_eq!(error.to_string(), "the annotation has schema 4, which this version does not read");
    }

    proptest! {
        /// Only what does not fit is left out, in this order: evidence, pods, what stands above the root, values.
        #[test]
        fn only_what_does_not_fit_is_left_out(
            evidence in 0..40_usize, pods in 0..80_usize, links in 0..60_usize, paths in 0..3_usize, length in 0..200_usize,
        ) {
            let mut finding = sample();
            finding.evidence = vec![Evidence::new("s".repeat(length), "x".repeat(2 * length)); evidence];
            for _ in 0..links {
                finding.chain.insert(0, Link::new("l".repeat(length), "mounted"));
            }
            let long = format!("/{}", "p".repeat(20 * length + 1));
            for placeholder in [Placeholder::Path, Placeholder::Mount].into_iter().take(paths) {
                finding.values.set(placeholder, &long);
            }
            finding.remedy = Remedy::fill(finding.cause.0, &finding.values);
            let pods: Vec<PodRef> = (0..pods).map(|n| pod(&format!("{n}{}", "p".repeat(length)))).collect();
            let sent = annotation(finding, &pods);
            let text = sent.to_json();
            prop_assert!(text.len() <= MAX_ANNOTATION_BYTES);
            let mut read = FindingAnnotation::parse(&text).unwrap();
            prop_assert_eq!(read.pod_count, pods.len());
            let size = |annotation: &FindingAnnotation| {
                let finding = Finding { remedy: Remedy::default(), ..annotation.finding.clone() };
                serde_json::to_string(&FindingAnnotation { finding, ..annotation.clone() }).unwrap().len()
            };
            // What was left out last is put back: then it is too long.
            let (was, is) = (&sent.finding, read.finding.clone());
            type PutBack = fn(&mut FindingAnnotation, &FindingAnnotation);
            let put_back: [(bool, PutBack); 5] = [
                (is.values != was.values, |read, sent| read.finding.values = sent.finding.values.clone()),
                (is.chain != was.chain, |read, sent| read.finding.chain = sent.finding.chain.clone()),
                (read.pods != sent.pods, |read, sent| read.pods = sent.pods.clone()),
                (is.evidence.is_empty() && !was.evidence.is_empty(), |read, sent| {
                    read.finding.evidence = sent.finding.evidence.iter().take(3).cloned().collect();
                }),
                (is.evidence != was.evidence, |read, sent| read.finding.evidence = sent.finding.evidence.clone()),
            ];
            if let Some((_, put_back)) = put_back.into_iter().find(|(is_cut, _)| *is_cut) {
                put_back(&mut read, &sent);
                prop_assert!(size(&read) > MAX_ANNOTATION_BYTES);
            } else {
                prop_assert_eq!(read, sent);
            }
        }
    }

    #[test]
    fn it_stays_within_its_bound() {
        let mut finding = sample();
        finding.evidence = vec![Evidence { source: "s".repeat(200), says: "x".repeat(300) }; 40];
        let pods: Vec<PodRef> = (0..500).map(|n| pod(&format!("{n}{}", "p".repeat(250)))).collect();
        let text = annotation(finding, &pods).to_json();
        assert!(text.len() <= MAX_ANNOTATION_BYTES, "{}", text.len());
        let read = FindingAnnotation::parse(&text).unwrap();
        assert_eq!((read.pod_count, read.finding.chain.len()), (500, 2));
    }

    /// The writer of the Event chooses values; every word around them is of this version's registry.
    #[test]
    fn no_word_of_a_step_travels() {
        let sent = annotation(sample(), &[]).to_json();
        assert!(!sent.contains("remedy") && !sent.contains("abort"), "{sent}");
        let step = r#"{"text":"x","command":"reboot","on_the_node":true,"tested":true}"#;
        let remedy = format!(r#""finding":{{"remedy":{{"steps":[{step}],"dont":"","breaks":""}},"#);
        let forged = sent.replacen("\"finding\":{", &remedy, 1);
        let read = FindingAnnotation::parse(&forged).unwrap();
        let steps: Vec<_> = read.finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        let Some([kill, "echo 1 > /sys/fs/fuse/connections/40/abort"]) = steps.as_array() else { panic!("{steps:?}") };
        assert!(
            kill.starts_with("sh -c \"grep -Eq ") && kill.ends_with("881230 ' /proc/4242/stat && kill -CONT 4242\""),
            "{kill}"
        );
    }

    /// An agent of an older version reports the pid alone, and a forged Event may leave the start out.
    #[test]
    fn a_pid_without_its_start_gives_no_kill() {
        let sent = annotation(sample(), &[]).to_json();
        let read = FindingAnnotation::parse(&sent.replace("\"4242@881230\"", "\"4242\"")).unwrap();
        let steps: Vec<_> = read.finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert_eq!(steps, ["echo 1 > /sys/fs/fuse/connections/40/abort"]);
    }

    /// In which mount namespace a path is travels with it. An older agent leaves it out. The step is then that for the host,
    /// where a plain umount finds nothing or refuses what is in use.
    #[test]
    fn where_a_mount_is_travels_with_its_path() {
        let path = "/k/pods/u/volume-subpaths/v/app/0";
        let values = Values::new().with(Placeholder::Path, path).with(Placeholder::MountNamespacePid, 77);
        let finding = FindingBuilder::new(&cause::SUB_PATH_TARGET_MISSING);
        let finding = FindingBuilder { names: values, ..finding }.finish();
        let sent = annotation(finding, &[]).to_json();
        let unmounts = |annotation: &str| {
            let steps = FindingAnnotation::parse(annotation).unwrap().finding.remedy.steps;
            steps.into_iter().filter_map(|step| step.command).collect::<Vec<_>>()
        };
        assert_eq!(unmounts(&sent), [format!("umount -i -n -c -N 77 {path}")]);
        let older = sent.replace("\"mount_namespace_pid\":\"77\",", "");
        assert_ne!(older, sent);
        assert_eq!(unmounts(&older), [format!("umount {path}")]);
        // An older agent with a step of its own for it reported this.
        let older = sent.replace("SubPathTargetMissing", "NestedMount").replace("\"path\":", "\"mount\":");
        assert_eq!(unmounts(&older), [""; 0]);
    }

    #[test]
    fn a_value_without_its_shape_makes_it_unreadable() {
        for bad in ["-1", "40/../../x", "", "40\n", "$(reboot)"] {
            let value = format!(r#""connection":{}"#, serde_json::Value::from(bad));
            let forged = annotation(sample(), &[]).to_json().replace(r#""connection":"40""#, &value);
            assert!(matches!(FindingAnnotation::parse(&forged), Err(ReadError::Format(_))), "{forged}");
        }
    }

    #[test]
    fn what_is_no_finding_is_an_error() {
        assert!(matches!(FindingAnnotation::parse("{"), Err(ReadError::Format(_))));
        assert!(matches!(FindingAnnotation::parse(&" ".repeat(99_999)), Err(ReadError::TooLong(_))));
        let unknown = annotation(sample(), &[]).to_json().replace("FuseServerNotResponding\"", "NotInvented\"");
        assert!(matches!(FindingAnnotation::parse(&unknown), Err(ReadError::Format(_))));
    }
}
