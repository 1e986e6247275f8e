//! The published schema of the plugin's JSON is that of the types, and every answer keeps it.

use std::{fs, path::Path};

use aggregator_core::report::ClusterReport;

use crate::golden::{RECORDINGS, stuck};
use crate::support::*;

fn published() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/cluster-report.v2.json");
    let schema = schemars::schema_for!(ClusterReport);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "write {} again with UPDATE_GOLDEN=1 and read the difference", path.display());
    serde_json::from_str(&stored).unwrap()
}

#[test]
fn every_answer_keeps_it() {
    let validator = jsonschema::validator_for(&published()).unwrap();
    for recording_name in RECORDINGS {
        let answer = serde_json::to_value(look(recording(recording_name), everything()).report).unwrap();
        let errors: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{recording_name}: {errors:#?}");
    }
}

#[test]
fn it_refuses_what_is_no_answer() {
    let validator = jsonschema::validator_for(&published()).unwrap();
    let good = serde_json::to_value(look(stuck("finalizer-and-webhook"), everything()).report).unwrap();
    for (pointer, wrong) in [
        ("/verdict", json!("Perhaps")),
        ("/roots/0/finding/cause", json!(7)),
        ("/roots/0/victims/0/thing/name", Value::Null),
        ("/roots/0/finding/remedy/steps/0/tested", json!("yes")),
    ] {
        let mut answer = good.clone();
        *answer.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&answer), "{pointer}");
    }
    // New fields do not count as a change.
    let mut newer = good;
    newer["roots"][0]["finding"]["added"] = json!(1);
    assert!(validator.is_valid(&newer));
}
