//! The answer as YAML.

use anyhow::Result;
use findings::is_visible;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

use aggregator_core::report::ClusterReport;

/// As [`findings::render::json`] says it, in YAML: what cannot be seen is escaped.
pub fn yaml(report: &ClusterReport) -> Result<String> {
    let text = serde_saphyr::to_string(report)?;
    if !is_hiding(&text) {
        return Ok(text);
    }
    // YAML knows escapes between double quotes only.
    let text = serde_saphyr::to_string(&Quoted(&serde_json::to_value(report)?))?;
    let escape = |c: char| match u32::from(c) {
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    let is_shown = |c: char| c == '\n' || is_visible(c);
    Ok(text.chars().map(|c| if is_shown(c) { c.to_string() } else { escape(c) }).collect())
}

fn is_hiding(text: &str) -> bool {
    text.chars().any(|c| c != '\n' && !is_visible(c))
}

/// A value whose texts stand between double quotes when something in them is hidden.
struct Quoted<'a>(&'a Value);

impl Serialize for Quoted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if is_hiding(text) => DoubleQuoted(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Quoted)),
            Value::Object(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, Quoted(value)))),
            plain => plain.serialize(serializer),
        }
    }
}
