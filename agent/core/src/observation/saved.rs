//! What an agent of any version has saved.

use std::collections::BTreeSet;

use serde::de::Error as _;
use serde_json::{Error, Value};

use super::{Fault, FaultKind, Observation, Question, Source};

impl Observation {
    /// Reads a saved one. What another version has asked and this one does not know is not known.
    // Compiled where it is used: the agent has a reader of observations already, which is half a megabyte of code.
    #[inline]
    pub fn read(json: &[u8]) -> Result<Observation, Error> {
        let mut saved: Value = serde_json::from_slice(json)?;
        let schema = saved.get("schema").and_then(Value::as_u64).unwrap_or_default();
        if schema > u64::from(Observation::SCHEMA) {
            return Err(Error::custom(format!("schema {schema} is of a newer version; judge it with that")));
        }
        let mut unknown = BTreeSet::new();
        if let Some(asked) = saved.get_mut("asked").and_then(Value::as_array_mut) {
            asked.retain(|question| {
                let is_known = serde_json::from_slice::<Question>(question.to_string().as_bytes()).is_ok();
                if !is_known {
                    unknown.insert(name(question));
                }
                is_known
            });
        }
        // From text once more: to read a `Value` takes a second reader of everything, and the agent stays in memory.
        let mut seen: Observation = serde_json::from_slice(&serde_json::to_vec(&saved)?)?;
        let says = format!("asked by agent {}; this version does not know it", seen.agent_version);
        let faults = unknown
            .into_iter()
            .map(|name| Fault::new(Source::Other(format!("question {name}")), (FaultKind::NotAsked, &says)));
        seen.faults.extend(faults);
        Ok(seen)
    }
}

/// A question without what it is about.
fn name(question: &Value) -> String {
    let of_more = question.as_object().and_then(|one| one.keys().next()).map(String::as_str);
    question.as_str().or(of_more).unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn read(change: impl FnOnce(&mut Value)) -> Result<Observation, Error> {
        let mut saved = serde_json::to_value(sample::running()).unwrap();
        change(&mut saved);
        Observation::read(saved.to_string().as_bytes())
    }

    #[test]
    fn a_question_of_another_version_is_skipped_and_told() {
        let asked = serde_json::json!(["Unmounts", "Later", {"Children": 7}, {"Children": 8}, 9]);
        let seen = read(|saved| saved["asked"] = asked).unwrap();
        assert_eq!(seen.asked, BTreeSet::from([Question::Unmounts]));
        let sources: Vec<String> = crate::gates::judge(&seen).unknown.into_iter().map(|one| one.source).collect();
        assert_eq!(sources, ["question ?", "question Children", "question Later"]);
        assert_eq!(read(|_| {}).unwrap(), sample::running());
    }

    #[test]
    fn a_newer_format_is_refused() {
        let newer = read(|saved| saved["schema"] = (Observation::SCHEMA + 1).into());
        assert!(newer.unwrap_err().to_string().contains("is of a newer version"));
        assert!(Observation::read(b"[]").is_err());
    }
}
