//! The published schema of the agent's JSON is that of the types.
//! `UPDATE_GOLDEN=1 cargo test` writes it again; read the difference: see [`NodeReport::SCHEMA`].

use std::{fs, path::Path};

use findings::NodeReport;

#[test]
fn published() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/node-report.v1.json");
    let schema = schemars::schema_for!(NodeReport);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "write it again with UPDATE_GOLDEN=1 and read the difference");
}
