//! Who owns which fields, and server-side apply.
//!
//! Simpler than a real server: a field of the object is owned as a whole, except for what events and
//! metadata need: each annotation and label, and the fields of `series`, have owners of their own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::{catalog::Resource, status::Status};

type Path = Vec<String>;
type Paths = BTreeSet<Path>;

/// Fields of the metadata without an owner.
const SYSTEM: &[&str] = &[
    "name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
];

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug)]
struct Owner {
    manager: String,
    operation: String,
    api_version: String,
    time: Value,
    paths: Paths,
}

impl Owner {
    fn read(entry: &Value) -> Self {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let mut paths = Paths::new();
        read_paths(&entry["fieldsV1"], &mut Vec::new(), &mut paths);
        Self {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            time: entry["time"].clone(),
            paths,
        }
    }

    fn write(&self) -> Value {
        json!({
            "manager": self.manager, "operation": self.operation, "apiVersion": self.api_version,
            "time": self.time, "fieldsType": "FieldsV1", "fieldsV1": fields_v1(&self.paths),
        })
    }

    fn is(&self, manager: &str, operation: Operation) -> bool {
        self.manager == manager && self.operation == operation.name()
    }

    /// As a conflict names it.
    fn told(&self) -> String {
        match (self.operation.as_str(), self.time.as_str()) {
            ("Update", Some(time)) => format!("{:?} using {} at {time}", self.manager, self.api_version),
            ("Update", None) => format!("{:?} using {}", self.manager, self.api_version),
            _ => format!("{:?}", self.manager),
        }
    }
}

fn owners(object: &Value) -> Vec<Owner> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten().map(Owner::read).collect()
}

fn set_owners(object: &mut Value, mut owners: Vec<Owner>) {
    owners.retain(|owner| !owner.paths.is_empty());
    object["metadata"]["managedFields"] = owners.iter().map(Owner::write).collect();
}

/// Applies `patch` over `live`. The result has the owners, and no other metadata of a new object.
pub(crate) fn apply(
    resource: &Resource,
    name: &str,
    live: Option<&Value>,
    patch: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, Status> {
    let mut result = live.cloned().unwrap_or_else(|| json!({"metadata": {}}));
    let mut owners = owners(&result);
    let applied = paths_of(patch);
    let mut conflicts: Vec<(String, Path)> = Vec::new();
    for path in &applied {
        let changes = at(&result, path) != at(patch, path);
        for other in owners.iter_mut().filter(|owner| !owner.is(manager, Operation::Apply)) {
            if changes && other.paths.contains(path) {
                if force {
                    other.paths.remove(path);
                } else {
                    conflicts.push((other.told(), path.clone()));
                }
            }
        }
    }
    if !conflicts.is_empty() {
        return Err(conflict(conflicts));
    }
    for path in &applied {
        set(&mut result, path, at(patch, path).cloned());
    }
    let place = owners.iter().position(|owner| owner.is(manager, Operation::Apply));
    let before = place.map(|place| owners[place].paths.clone()).unwrap_or_default();
    for path in before.difference(&applied) {
        let has_other_owner =
            owners.iter().any(|owner| !owner.is(manager, Operation::Apply) && owner.paths.contains(path));
        if !has_other_owner {
            set(&mut result, path, None);
        }
    }
    let owner = Owner {
        manager: manager.to_owned(),
        operation: Operation::Apply.name().to_owned(),
        api_version: resource.group_version(),
        time: json!(now()),
        paths: applied,
    };
    match place {
        Some(place) => owners[place] = Owner { time: time_of_change(live, &result, &owners[place], &owner), ..owner },
        None => owners.push(owner),
    }
    set_owners(&mut result, owners);
    let metadata = &mut result["metadata"];
    if metadata["name"].is_null() {
        metadata["name"] = json!(name);
    }
    Ok(result)
}

/// An apply that changes nothing leaves no trace.
fn time_of_change(live: Option<&Value>, result: &Value, old: &Owner, new: &Owner) -> Value {
    if live == Some(result) && old.paths == new.paths { old.time.clone() } else { new.time.clone() }
}

/// Notes in `new` that `manager` made it out of `old` by a plain write.
pub(crate) fn note_update(resource: &Resource, new: &mut Value, old: Option<&Value>, manager: &str) {
    let nothing = json!({});
    let old = old.unwrap_or(&nothing);
    let changed: Paths =
        paths_of(new).union(&paths_of(old)).filter(|path| at(new, path) != at(old, path)).cloned().collect();
    let mut owners = owners(old);
    if !changed.is_empty() {
        let (set, removed): (Paths, Paths) = changed.into_iter().partition(|path| at(new, path).is_some());
        let is_own = |owner: &Owner| owner.is(manager, Operation::Update);
        for owner in &mut owners {
            let own = is_own(owner);
            owner.paths.retain(|path| !removed.contains(path) && (own || !set.contains(path)));
        }
        match owners.iter_mut().find(|owner| is_own(owner)) {
            Some(own) => {
                own.paths.extend(set);
                own.time = json!(now());
            }
            None => owners.push(Owner {
                manager: manager.to_owned(),
                operation: Operation::Update.name().to_owned(),
                api_version: resource.group_version(),
                time: json!(now()),
                paths: set,
            }),
        }
    }
    set_owners(new, owners);
}

fn conflict(conflicts: Vec<(String, Path)>) -> Status {
    let mut by_manager: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (manager, path) in conflicts {
        by_manager.entry(manager).or_default().push(told(&path));
    }
    let count: usize = by_manager.values().map(Vec::len).sum();
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    for (manager, fields) in &by_manager {
        for field in fields {
            let message = format!("conflict with {manager}");
            causes.push(json!({"reason": "FieldManagerConflict", "message": message, "field": field}));
        }
        lines.push(match fields.as_slice() {
            [one] => format!("conflict with {manager}: {one}"),
            many => format!("conflicts with {manager}:\n- {}", many.join("\n- ")),
        });
    }
    let plural = if count == 1 { "conflict" } else { "conflicts" };
    Status::new(409, "Conflict", format!("Apply failed with {count} {plural}: {}", lines.join("\n")))
        .with_details(json!({"causes": causes}))
}

/// `.metadata.annotations.a`
fn told(path: &[String]) -> String {
    path.iter().map(|part| format!(".{part}")).collect()
}

/// API times have whole seconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The fields of an object that can be owned.
fn paths_of(object: &Value) -> Paths {
    let mut paths = Paths::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        match field.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    match name.as_str() {
                        "annotations" | "labels" => add_each(&mut paths, &["metadata", name], value),
                        name if SYSTEM.contains(&name) || value.is_null() => {}
                        name => drop(paths.insert(vec!["metadata".to_owned(), name.to_owned()])),
                    }
                }
            }
            "series" => add_each(&mut paths, &["series"], value),
            _ if value.is_null() => {}
            field => drop(paths.insert(vec![field.to_owned()])),
        }
    }
    paths
}

fn add_each(paths: &mut Paths, parent: &[&str], value: &Value) {
    for (key, value) in value.as_object().into_iter().flatten() {
        if !value.is_null() {
            paths.insert(parent.iter().copied().chain([key.as_str()]).map(str::to_owned).collect());
        }
    }
}

fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, part| value.get(part)).filter(|value| !value.is_null())
}

/// Sets or removes; what becomes empty above is removed too.
fn set(object: &mut Value, path: &[String], value: Option<Value>) {
    let [first, rest @ ..] = path else { return };
    let Some(fields) = object.as_object_mut() else { return };
    match (rest, value) {
        ([], Some(value)) => drop(fields.insert(first.clone(), value)),
        ([], None) => drop(fields.remove(first)),
        (rest, value) => {
            let below = fields.entry(first.clone()).or_insert_with(|| json!({}));
            if below.is_null() {
                *below = json!({});
            }
            set(below, rest, value);
            if first != "metadata" && below.as_object().is_some_and(Map::is_empty) {
                fields.remove(first);
            }
        }
    }
}

fn fields_v1(paths: &Paths) -> Value {
    let mut root = json!({});
    for path in paths {
        let mut place = &mut root;
        for part in path {
            place = &mut place[format!("f:{part}")];
            if place.is_null() {
                *place = json!({});
            }
        }
    }
    root
}

fn read_paths(fields: &Value, above: &mut Path, paths: &mut Paths) {
    for (name, below) in fields.as_object().into_iter().flatten() {
        let Some(name) = name.strip_prefix("f:") else { continue };
        above.push(name.to_owned());
        if below.as_object().is_none_or(|below| below.keys().all(|key| !key.starts_with("f:"))) {
            paths.insert(above.clone());
        } else {
            read_paths(below, above, paths);
        }
        above.pop();
    }
}
