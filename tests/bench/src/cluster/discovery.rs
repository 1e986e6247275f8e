//! What the cluster serves: what a real server answered, its custom resources, and an API that is dead.

use std::{fs, path::Path};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::crowd::custom_kinds;

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Group, version, plural and kind of the custom resources that are stuck.
const STUCK: [(&str, &str, &str, &str); 3] = [
    ("backup.example.com", "v1", "backups", "Backup"),
    ("queue.example.com", "v1", "queues", "Queue"),
    ("gadget.example.com", "v2", "gadgets", "Gadget"),
];

/// A resource: group, version, plural, kind.
type Custom = (String, String, String, String);

/// Writes a recording with discovery and nothing else to `dir`.
pub fn write(dir: &Path) -> anyhow::Result<()> {
    let recordings = apiserver::recordings()?;
    // The one with a dead API.
    let base = recordings.get("discovery-failure").context("the recording discovery-failure is missing")?;
    let read = |file: &str| -> anyhow::Result<Vec<u8>> {
        let path = base.join(file);
        fs::read(&path).with_context(|| format!("read {}", path.display()))
    };
    let index: Vec<Value> = serde_json::from_slice(&read("index.json")?).context("read the index of a recording")?;
    let mut kept: Vec<Value> = index.into_iter().filter(is_discovery).collect();
    let customs = customs();
    fs::create_dir_all(dir)?;
    for entry in &kept {
        let file = entry["file"].as_str().context("an entry without a file")?;
        let mut body = read(file)?;
        if entry["path"] == "/apis" {
            let mut list: Value = serde_json::from_slice(&body).context("read the groups")?;
            add_groups(&mut list, &customs);
            body = serde_json::to_vec(&list)?;
        }
        fs::write(dir.join(file), body)?;
    }
    for (group, version) in group_versions(&customs) {
        let file = format!("{group}.json");
        let resources = of_group(&customs, &group).map(|(_, _, plural, kind)| {
            json!({"name": plural, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind, "verbs": VERBS})
        });
        let list = json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"),
            "resources": resources.collect::<Vec<_>>()
        });
        fs::write(dir.join(&file), list.to_string())?;
        kept.push(json!({
            "path": format!("/apis/{group}/{version}"), "accept": "application/json", "status": 200,
            "contentType": "application/json", "file": file
        }));
    }
    fs::write(dir.join("index.json"), serde_json::to_vec(&kept)?)?;
    Ok(())
}

/// `/api`, `/api/v1`, `/apis`, `/apis/GROUP/VERSION`, `/version`: what lists no objects.
fn is_discovery(entry: &Value) -> bool {
    let path = entry["path"].as_str().unwrap_or_default();
    let parts = path.trim_matches('/').split('/').count();
    if path.starts_with("/apis") { parts <= 3 } else { parts <= 2 }
}

fn customs() -> Vec<Custom> {
    let well = custom_kinds().map(|(group, plural, kind)| (group, "v1".to_owned(), plural, kind));
    let stuck = STUCK.map(|(group, version, plural, kind)| (group.into(), version.into(), plural.into(), kind.into()));
    well.chain(stuck).collect()
}

fn group_versions(customs: &[Custom]) -> Vec<(String, String)> {
    let mut all: Vec<_> = customs.iter().map(|(group, version, ..)| (group.clone(), version.clone())).collect();
    all.dedup();
    all
}

fn of_group<'a>(customs: &'a [Custom], group: &'a str) -> impl Iterator<Item = &'a Custom> {
    customs.iter().filter(move |(of, ..)| of == group)
}

/// Adds the custom groups in the form that the list has.
fn add_groups(list: &mut Value, customs: &[Custom]) {
    for (group, version) in group_versions(customs) {
        if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
            let resources = of_group(customs, &group).map(|(_, _, plural, kind)| {
                json!({
                    "resource": plural, "singularResource": kind.to_lowercase(), "scope": "Namespaced", "verbs": VERBS,
                    "responseKind": {"group": group, "version": version, "kind": kind}
                })
            });
            let resources: Vec<Value> = resources.collect();
            let versions = json!([{"version": version, "freshness": "Current", "resources": resources}]);
            items.push(json!({"metadata": {"name": group}, "versions": versions}));
        } else if let Some(groups) = list.get_mut("groups").and_then(Value::as_array_mut) {
            let one = json!({"groupVersion": format!("{group}/{version}"), "version": version});
            groups.push(json!({"name": group, "versions": [one], "preferredVersion": one}));
        }
    }
}
