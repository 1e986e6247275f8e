//! Single objects and lists.

use serde_json::json;

use crate::catalog::{Catalog, Resource};
use crate::object::{COLUMNS, Form, Key, POD_COLUMNS, render};
use crate::request::{Asked, Target};
use crate::status::Status;
use crate::world::World;

/// The named object as JSON.
pub(crate) fn get(world: &World, catalog: &Catalog, asked: &Asked, target: &Target) -> Result<String, Status> {
    let resource = catalog.get(target.resource);
    let form = asked.form()?;
    let key = key_of(target);
    let object = world.get(target.resource, &key).or_else(|| world.namespace_in_use(target.resource, &key));
    let object = object.ok_or_else(|| Status::not_found(resource, &key.1))?;
    let mut text = String::new();
    render(&mut text, resource, &object, form, false);
    Ok(text)
}

/// What a test has set as the log of a pod ([`crate::LOG`]).
pub(crate) fn log(world: &World, catalog: &Catalog, target: &Target) -> Result<String, Status> {
    let key = key_of(target);
    let pod =
        world.get(target.resource, &key).ok_or_else(|| Status::not_found(catalog.get(target.resource), &key.1))?;
    Ok(pod.value["metadata"]["annotations"][crate::LOG].as_str().unwrap_or_default().to_owned())
}

pub(crate) fn key_of(target: &Target) -> Key {
    (target.namespace.clone().unwrap_or_default(), target.name.clone().unwrap_or_default())
}

/// Where the next page begins, and as of which version the list is.
#[derive(Debug, PartialEq, Eq)]
struct Continue {
    version: u64,
    after: Key,
}

impl Continue {
    fn token(&self) -> String {
        format!("v1.{}.{}/{}", self.version, self.after.0, self.after.1)
    }

    fn parse(token: &str) -> Option<Self> {
        let (version, after) = token.strip_prefix("v1.")?.split_once('.')?;
        let (namespace, name) = after.split_once('/')?;
        Some(Self { version: version.parse().ok()?, after: (namespace.to_owned(), name.to_owned()) })
    }
}

/// One page of the list as JSON.
pub(crate) fn list(world: &World, catalog: &Catalog, asked: &Asked, target: &Target) -> Result<String, Status> {
    let resource = catalog.get(target.resource);
    let form = asked.form()?;
    let selection = asked.selection(resource, target)?;
    let token = asked.query("continue");
    let resume = match token {
        "" => None,
        token => Some(Continue::parse(token).ok_or_else(|| Status::bad_request("continue key is not valid"))?),
    };
    if let Some(resume) = &resume
        && resume.version < world.feed.complete_after()
    {
        return Err(expired_token());
    }
    let version = asked.number("resourceVersion")?.unwrap_or_default();
    if version > world.version() {
        return Err(too_large(version, world.version()));
    }
    // A list as of version 0 comes from the watch cache of a real server, which knows no pages.
    let is_from_cache = asked.query("resourceVersion") == "0" && resume.is_none();
    let limit = asked.number("limit")?.filter(|&limit| limit > 0 && !is_from_cache);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));

    // All pages are as of the first one: who watches from there misses nothing.
    let version = resume.as_ref().map_or(world.version(), |resume| resume.version);
    let is_selected = !asked.query("fieldSelector").is_empty() || !asked.query("labelSelector").is_empty();
    let mut items = String::new();
    let mut objects = world.select(target.resource, &selection, resume.as_ref().map(|resume| &resume.after));
    let mut last = None;
    for (key, object) in objects.by_ref().take(limit) {
        if last.is_some() {
            items.push(',');
        }
        render(&mut items, resource, object, form, form == Form::Whole);
        last = Some(key);
    }
    // Of what is selected a server does not count what is left.
    let remaining = if is_selected { objects.take(1).count() } else { objects.count() };
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let (Some(last), 1..) = (last, remaining) {
        metadata["continue"] = json!(Continue { version, after: last.clone() }.token());
        if !is_selected {
            metadata["remainingItemCount"] = json!(remaining);
        }
    }
    let (kind, version) = list_type(resource, form);
    let items = match form {
        Form::Table | Form::Rows => {
            let columns = if resource.kind == "Pod" { POD_COLUMNS } else { COLUMNS };
            format!(r#""columnDefinitions":{columns},"rows":[{items}]"#)
        }
        Form::Whole | Form::Metadata => format!(r#""items":[{items}]"#),
    };
    Ok(format!(r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{metadata},{items}}}"#))
}

fn list_type(resource: &Resource, form: Form) -> (String, String) {
    match form {
        Form::Whole => (format!("{}List", resource.kind), resource.group_version()),
        Form::Metadata => ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned()),
        Form::Table | Form::Rows => ("Table".to_owned(), "meta.k8s.io/v1".to_owned()),
    }
}

/// The answer to a token from before the remembered changes.
pub(crate) fn expired_token() -> Status {
    Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter.",
    )
}

/// The answer to a version that is not there yet.
pub(crate) fn too_large(version: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {version}, current: {current}");
    let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
    Status::new(504, "Timeout", message).with_details(json!({"causes": [cause], "retryAfterSeconds": 1}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_place() {
        let place = Continue { version: 12, after: ("a.b".to_owned(), "c.d".to_owned()) };
        assert_eq!(Continue::parse(&place.token()), Some(place));
        assert_eq!(Continue::parse("2"), None);
    }
}
