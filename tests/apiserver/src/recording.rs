//! What a real API server answered once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use crate::catalog::Catalog;
use crate::object::{Object, stored_event};

/// The recordings of this repository, by the name of their scenario.
pub fn recordings() -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&dir).with_context(|| format!("list {}", dir.display()))? {
        let entry = entry?;
        if entry.path().join("index.json").exists() {
            found.insert(entry.file_name().to_string_lossy().into_owned(), entry.path());
        }
    }
    Ok(found)
}

/// One line of `index.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    path: String,
    accept: String,
    status: u16,
    content_type: String,
    file: String,
}

/// One recorded answer.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    path: String,
    aggregated: bool,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// All recorded answers of a scenario.
#[derive(Debug)]
pub(crate) struct Recording {
    answers: Vec<Recorded>,
}

impl Recording {
    pub(crate) fn read(dir: &Path) -> anyhow::Result<Self> {
        let index = dir.join("index.json");
        let bytes = fs::read(&index).with_context(|| format!("read {}", index.display()))?;
        let entries: Vec<Entry> =
            serde_json::from_slice(&bytes).with_context(|| format!("parse {}", index.display()))?;
        let mut answers = Vec::new();
        for entry in entries {
            let file = dir.join(&entry.file);
            answers.push(Recorded {
                path: entry.path,
                aggregated: entry.accept.contains("APIGroupDiscoveryList"),
                status: entry.status,
                content_type: entry.content_type,
                body: fs::read(&file).with_context(|| format!("read {}", file.display()))?,
            });
        }
        Ok(Self { answers })
    }

    /// The answer to a GET of exactly this path, or of something below an API that did not answer.
    pub(crate) fn answer(&self, path: &str, aggregated: bool) -> Option<&Recorded> {
        let exact =
            |aggregated| self.answers.iter().find(move |answer| answer.path == path && answer.aggregated == aggregated);
        let below_a_dead_api = || {
            self.answers.iter().find(|answer| {
                answer.status >= 400 && path.strip_prefix(&answer.path).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        exact(aggregated).or_else(|| exact(false)).or_else(below_a_dead_api)
    }

    /// Teaches the catalog which resources the recorded server had.
    pub(crate) fn extend(&self, catalog: &mut Catalog) {
        for (_, value) in self.values() {
            if value["kind"] == "APIResourceList" {
                catalog.extend(&value);
            }
        }
    }

    /// Every recorded object, by resource.
    pub(crate) fn objects(&self, catalog: &Catalog) -> Vec<BTreeMap<(String, String), Arc<Object>>> {
        let mut objects = vec![BTreeMap::new(); catalog.len()];
        for (path, value) in self.values() {
            let Some((group_version, plural)) = path.trim_start_matches("/apis/").rsplit_once('/') else { continue };
            let group_version = group_version.trim_start_matches("/api/");
            let Some(resource) = catalog.find(group_version, plural) else { continue };
            let home = catalog.home(resource);
            for item in value["items"].as_array().into_iter().flatten() {
                let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
                let key = (text("namespace"), text("name"));
                let version = text("resourceVersion").parse().unwrap_or_default();
                // A real server has the older form of an Event in the newer one too.
                if home == resource {
                    objects[home].insert(key.clone(), Arc::new(Object::new(item.clone(), &key, version)));
                } else {
                    let item = || Arc::new(Object::new(stored_event(item), &key, version));
                    objects[home].entry(key.clone()).or_insert_with(item);
                }
            }
        }
        objects
    }

    /// When it was taken: a recording has no time of its own, and some component renewed a Lease just before.
    pub(crate) fn taken_at(&self) -> Option<jiff::Timestamp> {
        let leases = self.values().filter(|(path, _)| path.ends_with("/leases"));
        let renewed = |list: Value| -> Option<jiff::Timestamp> {
            let items = list["items"].as_array()?;
            items.iter().filter_map(|lease| lease["spec"]["renewTime"].as_str()?.parse().ok()).max()
        };
        leases.filter_map(|(_, list)| renewed(list)).max()
    }

    fn values(&self) -> impl Iterator<Item = (&str, Value)> {
        self.answers
            .iter()
            .filter(|answer| answer.status == 200 && !answer.aggregated)
            .filter_map(|answer| Some((answer.path.as_str(), serde_json::from_slice(&answer.body).ok()?)))
    }
}
