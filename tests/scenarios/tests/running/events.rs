//! The Events that the API server has.

use anyhow::{Context, ensure};
use apiserver::Store;
use findings::Gate;
use findings::event::{ACTION, ANNOTATION, CONTROLLER, FindingAnnotation, Phase};
use lab::NODE_NAME;
use serde_json::Value;

/// All Events, or a selection of them.
#[derive(Clone, Debug)]
pub struct Events(Vec<Value>);

impl Events {
    /// All there are.
    pub fn of(store: &Store) -> anyhow::Result<Self> {
        store.events().map(Events)
    }

    /// Those about this pod.
    pub fn about(self, pod_uid: &str) -> Self {
        Events(self.0.into_iter().filter(|event| event["related"]["uid"] == pod_uid).collect())
    }

    /// Those of this cause; a Normal event carries the cause that ended.
    pub fn of_cause(self, cause: &str) -> Self {
        let is_of = |event: &Value| carried(event).is_ok_and(|carried| carried.finding.cause.id == cause);
        Events(self.0.into_iter().filter(is_of).collect())
    }

    /// Those at this gate.
    pub fn at(self, gate: Gate) -> Self {
        let is_at = |event: &Value| carried(event).is_ok_and(|carried| carried.finding.gate == Some(gate));
        Events(self.0.into_iter().filter(is_at).collect())
    }

    /// How many Warnings and how many Normal events.
    pub fn count(&self) -> (usize, usize) {
        (self.warnings().count(), self.normals().count())
    }

    /// The only Warning.
    pub fn warning(&self) -> anyhow::Result<&Value> {
        ensure!(self.warnings().count() == 1, "there should be one Warning: {:#?}", self.0);
        self.warnings().next().context("there is one")
    }

    /// Warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(|event| event["type"] == "Warning")
    }

    /// Normal events: something has ended.
    pub fn normals(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(|event| event["type"] == "Normal")
    }

    /// They are what they should be.
    pub fn check(&self, node_uid: &str) -> anyhow::Result<()> {
        self.0.iter().try_for_each(|event| check(event, node_uid).with_context(|| format!("{event:#}")))
    }
}

/// The finding in an Event.
pub fn carried(event: &Value) -> anyhow::Result<FindingAnnotation> {
    let text = event["metadata"]["annotations"][ANNOTATION].as_str().context("it carries no finding")?;
    Ok(FindingAnnotation::parse(text)?)
}

/// How often it was written.
pub fn series(event: &Value) -> i64 {
    event["series"]["count"].as_i64().unwrap_or(1)
}

fn check(event: &Value, node_uid: &str) -> anyhow::Result<()> {
    ensure!(event["reportingController"] == CONTROLLER, "the controller is wrong");
    ensure!(event["reportingInstance"] == NODE_NAME, "the instance is wrong");
    ensure!(event["action"] == ACTION, "the action is wrong");
    let regarding = &event["regarding"];
    ensure!(regarding["kind"] == "Node" && regarding["name"] == NODE_NAME, "it does not regard the Node");
    ensure!(regarding["uid"] == node_uid, "it regards another Node");
    let carried = carried(event)?;
    let is_warning = event["type"] == "Warning";
    ensure!(is_warning == (carried.phase == Phase::Holds), "type and phase do not agree");
    let related = &event["related"];
    if related.is_object() {
        let [pod] = &carried.pods[..] else { anyhow::bail!("it is about one pod and reports {:?}", carried.pods) };
        ensure!(related["kind"] == "Pod" && related["uid"] == pod.uid.as_str(), "related and annotation differ");
        let named = (related["namespace"].as_str(), related["name"].as_str());
        ensure!(named == (pod.namespace.as_deref(), pod.name.as_deref()), "the pod's name is wrong");
        let note = event["note"].as_str().unwrap_or_default();
        ensure!(note.contains(&pod.to_string()), "the note does not name the pod");
    }
    Ok(())
}
