//! The validation of events, in the order and the words of a 1.36 server.
//!
//! A real server validates its internal form, whose fields are called as in the core group: a note that is too long is
//! reported as `message`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::catalog::Resource;
use crate::names::{qualified_faults, subdomain_faults};
use crate::status::Status;

/// Field in events.k8s.io, field in the words of the server.
const IMMUTABLE: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    reason: &'static str,
    field: String,
    message: String,
}

impl FieldError {
    fn required(field: &str) -> Self {
        Self { reason: "FieldValueRequired", field: field.to_owned(), message: "Required value".to_owned() }
    }

    fn invalid(field: &str, value: impl std::fmt::Display, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", field: field.to_owned(), message }
    }
}

/// 422 with all that is wrong.
pub(crate) fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Status {
    let mut told: Vec<String> = Vec::new();
    for error in errors {
        let text = format!("{}: {}", error.field, error.message);
        if !told.contains(&text) {
            told.push(text);
        }
    }
    let told = if let [one] = told.as_slice() { one.clone() } else { format!("[{}]", told.join(", ")) };
    let causes: Vec<Value> = errors
        .iter()
        .map(|error| json!({"reason": error.reason, "message": error.message, "field": error.field}))
        .collect();
    let mut details = resource.details(name);
    details["kind"] = json!(resource.kind);
    details["causes"] = json!(causes);
    let kind =
        if resource.group.is_empty() { resource.kind.clone() } else { format!("{}.{}", resource.kind, resource.group) };
    Status::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {told}")).with_details(details)
}

/// Writes times as the server does and adds what it adds. Fails on what is no event at all.
pub(crate) fn normalize(event: &mut Value) -> Result<(), Status> {
    for pointer in ["/eventTime", "/series/lastObservedTime"] {
        let Some(time) = event.pointer_mut(pointer).filter(|time| !time.is_null()) else { continue };
        let parsed = time.as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let Some(parsed) = parsed else {
            let message =
                format!("Event in version \"v1\" cannot be handled as a Event: parsing time {time} at {pointer}");
            return Err(Status::bad_request(message));
        };
        *time = json!(parsed.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
    }
    if let Some(fields) = event.as_object_mut() {
        fields.entry("eventTime").or_insert(Value::Null);
        fields.entry("deprecatedSource").or_insert_with(|| json!({}));
        fields.entry("deprecatedFirstTimestamp").or_insert(Value::Null);
        fields.entry("deprecatedLastTimestamp").or_insert(Value::Null);
    }
    Ok(())
}

/// What is wrong with a new event.
pub(crate) fn faults_of_new(event: &Value) -> Vec<FieldError> {
    let mut errors = faults_of_any(event);
    errors.extend(faults_of_metadata(&event["metadata"]));
    errors.extend(faults_of_series(&event["series"]));
    if is_unset(&event["eventTime"]) {
        errors.push(FieldError::required("eventTime"));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "\"\"", &format!("has invalid value: {kind}")));
    }
    for (field, told) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if !is_unset(&event[field]) {
            errors.push(FieldError::invalid(told, "\"\"", "needs to be unset"));
        }
    }
    errors
}

/// What is wrong with a changed event.
pub(crate) fn faults_of_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = faults_of_any(new);
    errors.extend(faults_of_metadata(&new["metadata"]));
    if new["series"] != old["series"] {
        errors.extend(faults_of_series(&new["series"]));
    }
    for &(field, told) in IMMUTABLE {
        let (new, old) = (&new[field], &old[field]);
        if new != old && !(is_unset(new) && is_unset(old)) {
            let value = if field == "eventTime" { go_time(new) } else { new.to_string() };
            errors.push(FieldError::invalid(told, value, "field is immutable"));
        }
    }
    errors
}

/// The oldest rules, which hold for every event.
fn faults_of_any(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(&event["metadata"], "namespace");
    let regarding = text(&event["regarding"], "namespace");
    let mut does_not_match = || {
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            format!("{regarding:?}"),
            "does not match event.namespace",
        ));
    };
    if is_unset(&event["eventTime"]) {
        let agrees = if regarding.is_empty() { namespace == "default" } else { regarding == namespace };
        if !agrees {
            does_not_match();
        }
        return errors;
    }
    if regarding.is_empty() && !matches!(namespace, "default" | "kube-system") {
        does_not_match();
    }
    let controller = text(event, "reportingController");
    if controller.is_empty() {
        errors.push(FieldError::required("reportingController"));
    }
    for fault in qualified_faults(controller) {
        errors.push(FieldError::invalid("reportingController", format!("{controller:?}"), &fault));
    }
    for field in ["reportingInstance", "action", "reason"] {
        match text(event, field).len() {
            0 => errors.push(FieldError::required(field)),
            length if length > LONGEST_WORD => errors.push(too_long(field, LONGEST_WORD)),
            _ => {}
        }
    }
    // The server says characters and counts bytes.
    if text(event, "note").len() > LONGEST_NOTE {
        errors.push(too_long("message", LONGEST_NOTE));
    }
    errors
}

fn faults_of_metadata(metadata: &Value) -> Vec<FieldError> {
    const LARGEST: usize = 256 * 1024;
    let name = text(metadata, "name");
    let mut errors: Vec<FieldError> = subdomain_faults(name)
        .iter()
        .map(|fault| FieldError::invalid("metadata.name", format!("{name:?}"), fault))
        .collect();
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        for fault in qualified_faults(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", format!("{key:?}"), &fault));
        }
    }
    if size > LARGEST {
        errors.push(FieldError {
            reason: "FieldValueTooLong",
            field: "metadata.annotations".to_owned(),
            message: format!("Too long: may not be more than {LARGEST} bytes"),
        });
    }
    errors
}

fn faults_of_series(series: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if series.is_null() {
        return errors;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.push(FieldError::invalid("series.count", "\"\"", "should be at least 2"));
    }
    if is_unset(&series["lastObservedTime"]) {
        errors.push(FieldError::required("series.lastObservedTime"));
    }
    errors
}

fn too_long(field: &str, limit: usize) -> FieldError {
    FieldError::invalid(field, "\"\"", &format!("can have at most {limit} characters"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// As Go understands it: nothing there, or the zero value.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Object(fields) => fields.values().all(is_unset),
        _ => false,
    }
}

/// As Go prints a time.
fn go_time(value: &Value) -> String {
    match value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(time) => time.strftime("%Y-%m-%d %H:%M:%S%.f +0000 UTC").to_string(),
        None => "null".to_owned(),
    }
}

/// The fields an event has; server-side apply refuses others.
pub(crate) const FIELDS: &[&str] = &[
    "apiVersion", "kind", "metadata", "eventTime", "series", "reportingController", "reportingInstance", "action",
    "reason", "regarding", "related", "note", "type", "deprecatedSource", "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp", "deprecatedCount",
];
