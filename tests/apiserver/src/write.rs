//! Creating, changing and deleting objects.

use std::{fs, sync::Arc};

use axum::http::Method;
use serde_json::{Value, json};

use crate::catalog::{Catalog, Resource};
use crate::object::{Form, Key, Object, render};
use crate::request::{Asked, Target};
use crate::server::Reply;
use crate::status::Status;
use crate::world::World;
use crate::{apply, event, list};

/// Does what a POST, PUT, PATCH or DELETE asks for.
pub(crate) fn write(world: &mut World, catalog: &Catalog, asked: &Asked, target: &Target) -> Result<Reply, Status> {
    let resource = catalog.get(target.resource);
    let mut writer = Writer { world, catalog, resource, asked, target };
    // The older form of an object that is written in the newer one.
    if resource.stored_as.is_some() {
        return Err(Status::method_not_allowed());
    }
    match (&asked.method, &target.name) {
        (&Method::POST, None) => writer.create(),
        (&Method::PUT, Some(_)) => writer.update(),
        (&Method::PATCH, Some(_)) => writer.patch(),
        (&Method::DELETE, Some(_)) => writer.delete(),
        _ => Err(Status::method_not_allowed()),
    }
}

struct Writer<'a> {
    world: &'a mut World,
    catalog: &'a Catalog,
    resource: &'a Resource,
    asked: &'a Asked,
    target: &'a Target,
}

impl Writer<'_> {
    fn create(&mut self) -> Result<Reply, Status> {
        let mut object = self.body(&["application/json"])?;
        self.check_type(&object, false)?;
        if self.resource.namespaced && self.target.namespace.is_none() {
            return Err(Status::method_not_allowed());
        }
        let metadata = &object["metadata"];
        let given = metadata["name"].as_str().unwrap_or_default().to_owned();
        let name = match metadata["generateName"].as_str() {
            Some(prefix) if given.is_empty() => format!("{prefix}{}", &uuid()?[..5]),
            _ => given,
        };
        if name.is_empty() {
            let message = "name or generateName is required";
            return Err(Status::new(
                422,
                "Invalid",
                format!("{} \"\" is invalid: metadata.name: Required value: {message}", self.resource.kind),
            ));
        }
        let key = self.key(name);
        self.check_place(&object, &key)?;
        if self.world.get(self.target.resource, &key).is_some() {
            let message = format!("{} \"{}\" already exists", self.resource.qualified(), key.1);
            return Err(Status::new(409, "AlreadyExists", message).with_details(self.resource.details(&key.1)));
        }
        apply::note_update(self.resource, &mut object, None, &self.asked.manager());
        self.store_new(key, object)
    }

    fn update(&mut self) -> Result<Reply, Status> {
        let new = self.body(&["application/json"])?;
        self.check_type(&new, false)?;
        let (key, old) = self.existing()?;
        self.check_place(&new, &key)?;
        self.change(key, &old, new)
    }

    fn patch(&mut self) -> Result<Reply, Status> {
        const APPLY: &str = "application/apply-patch+yaml";
        const MERGE: &str = "application/merge-patch+json";
        let patch = self.body(&[APPLY, MERGE])?;
        if self.asked.content_type() == APPLY {
            return self.apply(&patch);
        }
        let (key, old) = self.existing()?;
        let mut new = Value::clone(&old.value);
        merge(&mut new, &patch);
        // Only a patch that names a version insists on it.
        if patch["metadata"]["resourceVersion"].is_null() {
            new["metadata"]["resourceVersion"] = Value::Null;
        }
        self.change(key, &old, new)
    }

    fn apply(&mut self, patch: &Value) -> Result<Reply, Status> {
        let manager = self.asked.query("fieldManager");
        if manager.is_empty() {
            let why = "fieldManager: Required value: is required for apply patch";
            return Err(Status::new(422, "Invalid", format!("PatchOptions.meta.k8s.io \"\" is invalid: {why}")));
        }
        self.check_type(patch, true)?;
        let key = list::key_of(self.target);
        self.check_place(patch, &key)?;
        if !patch["metadata"]["managedFields"].is_null() {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        self.check_fields(patch, &key)?;
        let mut patch = patch.clone();
        if self.is_event() {
            event::normalize(&mut patch)?;
            // Added by the server, not by who applies.
            if let Some(fields) = patch.as_object_mut() {
                fields.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|inner| !inner.is_empty()));
            }
        }
        let live = self.world.get(self.target.resource, &key);
        let live_value = live.as_deref().map(|live| &*live.value);
        let force = self.asked.is_set("force");
        let mut new = apply::apply(self.resource, &key.1, live_value, &patch, manager, force)?;
        match live {
            // An apply that creates the object needs the right to create it, too.
            None => self.asked.may(Some("create")).and_then(|()| self.store_new(key, new)),
            Some(live) => {
                new["metadata"]["resourceVersion"] = patch["metadata"]["resourceVersion"].clone();
                self.store_changed(key, &live, new)
            }
        }
    }

    fn delete(&mut self) -> Result<Reply, Status> {
        let (key, object) = self.existing()?;
        let options: Value = serde_json::from_slice(&self.asked.body).unwrap_or_default();
        let uid = &object.value["metadata"]["uid"];
        // The kubelet deletes with a UID precondition, so that it never hits a new pod of the same name.
        if let Some(wanted) = options.pointer("/preconditions/uid")
            && wanted != uid
        {
            let text = |uid: &Value| uid.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "the UID in the precondition ({}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                text(wanted),
                text(uid)
            );
            return Err(Status::conflict(self.resource, &key.1, &why));
        }
        // With finalizers left a real server only marks the object.
        if is_held(&object) {
            let mut marked = Value::clone(&object.value);
            marked["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            if marked["metadata"]["deletionTimestamp"].is_null() {
                marked["metadata"]["deletionTimestamp"] = json!(apply::now());
            }
            let object = self.world.put(self.target.resource, key, marked)?;
            return Ok(self.reply(200, &object));
        }
        self.world.remove(self.target.resource, &key)?;
        if self.resource.is("", "pods") {
            return Ok(self.reply(200, &object));
        }
        let mut details = self.resource.details(&key.1);
        details["uid"] = uid.clone();
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        });
        Ok(Reply::json(200, status.to_string()))
    }

    fn key(&self, name: String) -> Key {
        (self.target.namespace.clone().unwrap_or_default(), name)
    }

    fn existing(&self) -> Result<(Key, Arc<Object>), Status> {
        let key = list::key_of(self.target);
        let object = self.world.get(self.target.resource, &key);
        let object = object.ok_or_else(|| Status::not_found(self.resource, &key.1))?;
        Ok((key, object))
    }

    fn is_event(&self) -> bool {
        self.resource.is("events.k8s.io", "events")
    }

    /// The body, if it is JSON of one of these types.
    fn body(&self, types: &[&str]) -> Result<Value, Status> {
        let given = self.asked.content_type();
        let taken = if given.is_empty() { "application/json" } else { given };
        if !types.contains(&taken) {
            let message = format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                types.join(", ")
            );
            return Err(Status::new(415, "UnsupportedMediaType", message));
        }
        serde_json::from_slice(&self.asked.body).map_err(|error| {
            // YAML would be understood by a real server.
            if given.ends_with("+yaml") {
                Status::new(415, "UnsupportedMediaType", format!("this fake reads only JSON, also as YAML: {error}"))
            } else {
                Status::bad_request(format!("invalid JSON: {error}"))
            }
        })
    }

    fn check_type(&self, object: &Value, must_be_there: bool) -> Result<(), Status> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if must_be_there && (version.is_empty() || kind.is_empty()) {
            return Err(Status::bad_request(format!("invalid object type: {version}, Kind={kind}")));
        }
        let wanted = self.resource.group_version();
        if !version.is_empty() && version != wanted {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({wanted})"
            )));
        }
        if !kind.is_empty() && kind != self.resource.kind {
            let message = format!("{} in version {wanted:?} cannot be handled as a {}", kind, self.resource.kind);
            return Err(Status::bad_request(message));
        }
        Ok(())
    }

    fn check_place(&self, object: &Value, key: &Key) -> Result<(), Status> {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        if !namespace.is_empty() && namespace != key.0 {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if !name.is_empty() && name != key.1 {
            return Err(Status::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                key.1
            )));
        }
        Ok(())
    }

    /// What is applied is checked against the schema.
    fn check_fields(&self, object: &Value, key: &Key) -> Result<(), Status> {
        let unknown = |field: &&String| self.is_event() && !event::FIELDS.contains(&field.as_str());
        match object.as_object().and_then(|fields| fields.keys().find(unknown)) {
            Some(field) => Err(Status::new(
                500,
                "",
                format!(
                    "failed to create typed patch object ({}/{}; {}, Kind={}): .{field}: field not declared in schema",
                    key.0,
                    key.1,
                    self.resource.group_version(),
                    self.resource.kind
                ),
            )),
            None => Ok(()),
        }
    }

    /// Nothing new comes into a namespace that is going.
    fn check_namespace(&self, key: &Key) -> Result<(), Status> {
        let namespaces = self.catalog.find("v1", "namespaces").filter(|_| !key.0.is_empty());
        let namespace = namespaces.and_then(|index| self.world.get(index, &(String::new(), key.0.clone())));
        if namespace.is_none_or(|namespace| namespace.value["metadata"]["deletionTimestamp"].is_null()) {
            return Ok(());
        }
        let message = format!(
            "{} \"{}\" is forbidden: unable to create new content in namespace {} because it is being terminated",
            self.resource.qualified(),
            key.1,
            key.0
        );
        let mut details = self.resource.details(&key.1);
        details["causes"] = json!([{
            "reason": "NamespaceTerminating", "field": "metadata.namespace",
            "message": format!("namespace {} is being terminated", key.0),
        }]);
        Err(Status::new(403, "Forbidden", message).with_details(details))
    }

    fn store_new(&mut self, key: Key, mut object: Value) -> Result<Reply, Status> {
        self.check_namespace(&key)?;
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(key.1);
        if !key.0.is_empty() {
            metadata["namespace"] = json!(key.0);
        }
        metadata["uid"] = json!(uuid()?);
        metadata["creationTimestamp"] = json!(apply::now());
        if self.is_event() {
            event::normalize(&mut object)?;
            self.refuse(&key, &event::faults_of_new(&object))?;
        }
        let object = self.world.put(self.target.resource, key, object)?;
        Ok(self.reply(201, &object))
    }

    /// A plain write: what it changed belongs to who wrote.
    fn change(&mut self, key: Key, old: &Object, mut new: Value) -> Result<Reply, Status> {
        apply::note_update(self.resource, &mut new, Some(&old.value), &self.asked.manager());
        self.store_changed(key, old, new)
    }

    fn store_changed(&mut self, key: Key, old: &Object, mut new: Value) -> Result<Reply, Status> {
        let wanted = new["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        // One that was prepared as text has the version that stands there.
        let before = old.value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if !wanted.is_empty() && wanted != before {
            let why = "the object has been modified; please apply your changes to the latest version and try again";
            return Err(Status::conflict(self.resource, &key.1, why));
        }
        for field in ["name", "namespace", "uid", "creationTimestamp"] {
            let value = &old.value["metadata"][field];
            if !value.is_null() {
                new["metadata"][field] = value.clone();
            }
        }
        if self.is_event() {
            event::normalize(&mut new)?;
            self.refuse(&key, &event::faults_of_update(&new, &old.value))?;
        }
        let new = Object::new(new, &key, old.version);
        if new.same_as(old) {
            return Ok(self.reply(200, old));
        }
        // With the last finalizer goes what was only held by it.
        if !is_held(&new) && is_held(old) && !new.value["metadata"]["deletionTimestamp"].is_null() {
            self.world.remove(self.target.resource, &key)?;
            return Ok(self.reply(200, &new));
        }
        let object = self.world.put(self.target.resource, key, Value::clone(&new.value))?;
        Ok(self.reply(200, &object))
    }

    fn refuse(&self, key: &Key, errors: &[event::FieldError]) -> Result<(), Status> {
        if errors.is_empty() { Ok(()) } else { Err(event::invalid(self.resource, &key.1, errors)) }
    }

    fn reply(&self, status: u16, object: &Object) -> Reply {
        let mut text = String::new();
        let form = self.asked.form().unwrap_or(Form::Whole);
        render(&mut text, self.resource, object, form, false);
        Reply::json(status, text)
    }
}

/// Whether a finalizer is left.
fn is_held(object: &Object) -> bool {
    object.value.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|left| !left.is_empty())
}

/// JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(fields) = target.as_object_mut() else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// The kernel makes them.
fn uuid() -> Result<String, Status> {
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid");
    uuid.map(|uuid| uuid.trim().to_owned()).map_err(|error| Status::from(anyhow::anyhow!("make a UID: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_removes_what_is_null() {
        let mut object = json!({"a": 1, "b": {"c": 2, "d": 3}});
        merge(&mut object, &json!({"a": null, "b": {"c": null, "e": [1]}}));
        assert_eq!(object, json!({"b": {"d": 3, "e": [1]}}));
    }
}
