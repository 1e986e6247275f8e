//! The structured finding in the annotation of an Event.

use serde::{Deserialize, Serialize};

use crate::{CauseRef, Confidence, Evidence, Finding, Gate, Link, PodRef, Remedy, Values};

/// No annotation of ours is longer, in bytes. Annotations of one object may have 256 KiB together,
/// but thousands of Events live in etcd at the same time.
pub const MAX_BYTES: usize = 8 << 10;
/// Of so many pods the names are told; of others only the number.
const MAX_PODS: usize = 50;

/// A finding on its way from an agent to whoever reads the Event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The version of this format, see [`Carried::SCHEMA`].
    pub schema: u32,
    /// Whether it holds.
    pub phase: Phase,
    /// When it was first seen (RFC 3339, UTC).
    pub since: String,
    /// When it was last seen, or when its end was.
    pub seen: String,
    /// The pods it holds.
    pub pods: Vec<PodRef>,
    /// How many pods it holds; more than are named when there are very many.
    pub pod_count: usize,
    /// What it is. Its remedy does not travel: the values do, and whoever reads them fills in the templates
    /// of its own registry.
    #[serde(with = "told")]
    pub finding: Finding,
}

/// Whether a finding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It was seen at the last look.
    Holds,
    /// It was not seen any more.
    Over,
    /// It holds, and is told by the Event of the node that tells all pods with the same root.
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

impl Carried {
    /// The version of the format.
    pub const SCHEMA: u32 = 2;

    /// A finding that holds `pods` since `since` and was seen at `seen`.
    pub fn new(phase: Phase, finding: &Finding, pods: &[PodRef], since: String, seen: String) -> Self {
        Carried {
            schema: Self::SCHEMA,
            phase,
            since,
            seen,
            pods: pods.iter().take(MAX_PODS).cloned().collect(),
            pod_count: pods.len(),
            finding: finding.clone(),
        }
    }

    /// As JSON of at most [`MAX_BYTES`]. What does not fit is left out in the order in which it is
    /// missed least: evidence, names of pods, steps of the chain above the root, the values of the remedy.
    pub fn to_annotation(&self) -> String {
        let text = |carried: &Carried| serde_json::to_string(carried).unwrap_or_default();
        let mut fits = self.clone();
        let mut json = text(&fits);
        let cuts: [fn(&mut Carried); 5] = [
            |carried| carried.finding.evidence.truncate(3),
            |carried| carried.finding.evidence.clear(),
            |carried| carried.pods.truncate(10),
            |carried| carried.finding.chain.retain(|link| link.root),
            |carried| carried.finding.remedy.values = Values::new(),
        ];
        for cut in cuts {
            if json.len() <= MAX_BYTES {
                return json;
            }
            cut(&mut fits);
            json = text(&fits);
        }
        json
    }

    /// Reads an annotation. Whoever may write Events can write it, so nothing in it is more than a
    /// claim.
    pub fn from_annotation(text: &str) -> Result<Self, ReadError> {
        if text.len() > 2 * MAX_BYTES {
            return Err(ReadError::TooLong(text.len()));
        }
        let mut carried: Carried = serde_json::from_str(text)?;
        if carried.schema != Self::SCHEMA {
            return Err(ReadError::Schema(carried.schema));
        }
        carried.finding.clean();
        Ok(carried)
    }
}

/// A finding as it travels.
mod told {
    use serde::{Deserializer, Serializer};

    use super::*;

    #[derive(Serialize)]
    struct Sent<'a> {
        cause: CauseRef,
        #[serde(skip_serializing_if = "Option::is_none")]
        gate: Option<Gate>,
        confidence: Confidence,
        #[serde(skip_serializing_if = "Option::is_none")]
        missing: Option<&'a str>,
        chain: &'a [Link],
        evidence: &'a [Evidence],
        values: &'a Values,
        root: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        must_end_too: &'a Option<Vec<String>>,
    }

    #[derive(Deserialize)]
    struct Read {
        cause: CauseRef,
        #[serde(default)]
        gate: Option<Gate>,
        confidence: Confidence,
        #[serde(default)]
        missing: Option<String>,
        chain: Vec<Link>,
        evidence: Vec<Evidence>,
        #[serde(default)]
        values: Values,
        root: String,
        #[serde(default)]
        must_end_too: Option<Vec<String>>,
    }

    pub fn serialize<S: Serializer>(finding: &Finding, serializer: S) -> Result<S::Ok, S::Error> {
        let Finding { cause, gate, confidence, missing, chain, evidence, remedy, root, must_end_too } = finding;
        let values = &remedy.values;
        let missing = missing.as_deref();
        Sent {
            cause: *cause,
            gate: *gate,
            confidence: *confidence,
            missing,
            chain,
            evidence,
            values,
            root,
            must_end_too,
        }
        .serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Finding, D::Error> {
        let Read { cause, gate, confidence, missing, chain, evidence, values, root, must_end_too } =
            Read::deserialize(deserializer)?;
        let remedy = Remedy::fill(cause.0, &values);
        Ok(Finding { cause, gate, confidence, missing, chain, evidence, remedy, root, must_end_too })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, FindingBuilder, Placeholder, PodUid, cause, event::note::tests::sample};

    fn pod(name: &str) -> PodRef {
        let uid = PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba1").unwrap();
        PodRef { namespace: Some("shop".into()), name: Some(name.into()), uid }
    }

    fn carried(finding: Finding, pods: &[PodRef]) -> Carried {
        Carried::new(Phase::Holds, &finding, pods, "2026-08-01T10:00:00Z".into(), "2026-08-01T10:05:00Z".into())
    }

    #[test]
    fn it_comes_back_as_it_went() {
        let sent = carried(sample(), &[pod("db-0")]);
        assert_eq!(Carried::from_annotation(&sent.to_annotation()).unwrap(), sent);
    }

    #[test]
    fn it_stays_within_its_bound() {
        let mut finding = sample();
        finding.evidence = vec![Evidence { source: "s".repeat(200), says: "x".repeat(300) }; 40];
        let pods: Vec<PodRef> = (0..500).map(|n| pod(&format!("{n}{}", "p".repeat(250)))).collect();
        let text = carried(finding, &pods).to_annotation();
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        let read = Carried::from_annotation(&text).unwrap();
        assert_eq!((read.pod_count, read.finding.chain.len()), (500, 2));
    }

    /// Whoever writes the Event chooses values; every word around them is of this version's registry.
    #[test]
    fn no_word_of_a_step_travels() {
        let sent = carried(sample(), &[]).to_annotation();
        assert!(!sent.contains("remedy") && !sent.contains("abort"), "{sent}");
        let forged =
            sent.replacen("\"finding\":{", r#""finding":{"remedy":{"steps":[{"text":"x","command":"reboot"}]},"#, 1);
        let read = Carried::from_annotation(&forged).unwrap();
        let steps: Vec<_> = read.finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        let Some([kill, "echo 1 > /sys/fs/fuse/connections/40/abort"]) = steps.as_array() else { panic!("{steps:?}") };
        assert!(
            kill.starts_with("sh -c 'if [ ") && kill.contains(" = 881230 ]; then kill -CONT 4242; else "),
            "{kill}"
        );
    }

    /// An agent of an older version tells the pid alone, and whoever forges an Event may leave the start out.
    #[test]
    fn a_pid_without_its_start_gives_no_kill() {
        let sent = carried(sample(), &[]).to_annotation();
        let read = Carried::from_annotation(&sent.replace("\"4242@881230\"", "\"4242\"")).unwrap();
        let steps: Vec<_> = read.finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert_eq!(steps, ["echo 1 > /sys/fs/fuse/connections/40/abort"]);
    }

    /// In which mount namespace a path is travels with it. Without it, as an older agent told, the step is that for the
    /// host, where a plain umount finds nothing or refuses what is in use.
    #[test]
    fn where_a_mount_is_travels_with_its_path() {
        let path = "/k/pods/u/volume-subpaths/v/app/0";
        let values = Values::new().with(Placeholder::Path, path).with(Placeholder::MountNamespacePid, 77);
        let finding = FindingBuilder::new(&cause::SUB_PATH_BUSY);
        let finding = FindingBuilder { names: values, ..finding }.finish();
        let sent = carried(finding, &[]).to_annotation();
        let unmounts = |annotation: &str| {
            let steps = Carried::from_annotation(annotation).unwrap().finding.remedy.steps;
            steps.into_iter().filter_map(|step| step.command).collect::<Vec<_>>()
        };
        assert_eq!(unmounts(&sent), [format!("umount -i -n -c -N 77 {path}")]);
        let older = sent.replace("\"mount_namespace_pid\":\"77\",", "");
        assert_ne!(older, sent);
        assert_eq!(unmounts(&older), [format!("umount {path}")]);
        // So told one that had a step of its own for it.
        let older = sent.replace("SubPathBusy", "NestedMount").replace("\"path\":", "\"mount\":");
        assert_eq!(unmounts(&older), [""; 0]);
    }

    #[test]
    fn a_value_without_its_shape_makes_it_unreadable() {
        for bad in ["-1", "40/../../x", "", "40\n", "$(reboot)"] {
            let told = format!(r#""connection":{}"#, serde_json::Value::from(bad));
            let forged = carried(sample(), &[]).to_annotation().replace(r#""connection":"40""#, &told);
            assert!(matches!(Carried::from_annotation(&forged), Err(ReadError::Format(_))), "{forged}");
        }
    }

    #[test]
    fn what_is_no_finding_is_an_error() {
        assert!(matches!(Carried::from_annotation("{"), Err(ReadError::Format(_))));
        assert!(matches!(Carried::from_annotation(&" ".repeat(99_999)), Err(ReadError::TooLong(_))));
        let unknown = carried(sample(), &[]).to_annotation().replace("FuseServerNotResponding\"", "NotInvented\"");
        assert!(matches!(Carried::from_annotation(&unknown), Err(ReadError::Format(_))));
        let newer = carried(sample(), &[]).to_annotation().replace("\"schema\":2", "\"schema\":3");
        assert!(matches!(Carried::from_annotation(&newer), Err(ReadError::Schema(3))));
    }
}
