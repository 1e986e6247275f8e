//! The stable schema, see [`findings::NodeReport`].

use findings::NodeReport;

/// The report as indented JSON with a final newline.
pub fn json(report: &NodeReport) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}
