//! What a request asks for.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::Query;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use percent_encoding::percent_decode_str;

use crate::attributes::Attributes;
use crate::catalog::{Catalog, Resource};
use crate::object::Form;
use crate::rbac;
use crate::selector::Selection;
use crate::status::Status;

/// The resource, and which of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) resource: usize,
    /// `None`: all namespaces, or a cluster-wide resource.
    pub(crate) namespace: Option<String>,
    /// `None`: the collection.
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    fn parse(path: &str, catalog: &Catalog) -> Option<Self> {
        let segments: Option<Vec<String>> = path
            .trim_matches('/')
            .split('/')
            .map(|segment| percent_decode_str(segment).decode_utf8().ok().map(|text| text.into_owned()))
            .collect();
        let segments = segments?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group_version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        let find = |plural: &str| catalog.find(&group_version, plural);
        let owned = |text: &str| Some(text.to_owned());
        let (resource, namespace, rest) = match rest {
            ["namespaces", namespace, plural, rest @ ..]
                if find(plural).is_some_and(|index| catalog.get(index).namespaced) =>
            {
                (find(plural)?, owned(namespace), rest)
            }
            [plural, rest @ ..] => (find(plural)?, None, rest),
            [] => return None,
        };
        let (name, subresource) = match rest {
            [] => (None, None),
            [name] => (owned(name), None),
            [name, subresource] => (owned(name), owned(subresource)),
            _ => return None,
        };
        // An object of a namespace is reached through its namespace only.
        if name.is_some() && namespace.is_none() && catalog.get(resource).namespaced {
            return None;
        }
        Some(Self { resource, namespace, name, subresource })
    }
}

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) target: Option<Target>,
    pub(crate) verb: &'static str,
    /// What RBAC is asked about it.
    pub(crate) attributes: Option<Attributes>,
    /// Those of the project's programs that ask.
    programs: Vec<&'static str>,
}

impl Asked {
    /// Where a request does not say who asks, it is all of `programs`.
    pub(crate) fn new(parts: Parts, body: Bytes, catalog: &Catalog, programs: &[&'static str]) -> Self {
        let path = parts.uri.path().to_owned();
        let query = Query::try_from_uri(&parts.uri).map(|query| query.0).unwrap_or_default();
        let target = Target::parse(&path, catalog);
        let attributes = Attributes::of(&parts.method, &path, &query);
        let Parts { method, headers, .. } = parts;
        let programs = match headers.get(header::USER_AGENT).map(|agent| agent.to_str().unwrap_or_default()) {
            Some(agent) => rbac::program(agent).into_iter().collect(),
            None => programs.to_vec(),
        };
        let mut asked = Self { method, path, query, headers, body, target, verb: "get", attributes, programs };
        asked.verb = match asked.method {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ if asked.is_set("watch") => "watch",
            _ if asked.target.as_ref().is_some_and(|target| target.name.is_none()) => "list",
            _ => "get",
        };
        asked
    }

    /// Whether who asks may do it, or instead of its own verb another one.
    pub(crate) fn may(&self, verb: Option<&'static str>) -> Result<(), Status> {
        let Some(attributes) = &self.attributes else { return Ok(()) };
        let attributes = Attributes { verb: verb.unwrap_or(attributes.verb), ..attributes.clone() };
        self.programs.iter().try_for_each(|program| rbac::check(program, &attributes))
    }

    /// A parameter of the query; empty when it is missing.
    pub(crate) fn query(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(self.query(name), "true" | "1")
    }

    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Status> {
        let text = self.query(name);
        if text.is_empty() {
            return Ok(None);
        }
        let invalid = |_| {
            Status::bad_request(format!(
                "{name}: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
            ))
        };
        text.parse().map(Some).map_err(invalid)
    }

    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The media type of the body, without its parameters.
    pub(crate) fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    pub(crate) fn bearer_token(&self) -> Option<&str> {
        self.header(header::AUTHORIZATION).strip_prefix("Bearer ")
    }

    /// Whether aggregated discovery is asked for.
    pub(crate) fn wants_aggregated(&self) -> bool {
        self.header(header::ACCEPT)
            .split(',')
            .any(|clause| clause.contains("as=APIGroupDiscoveryList") && parameter(clause, "v") == Some("v2"))
    }

    /// In which form objects are asked for: the first that can be served.
    pub(crate) fn form(&self) -> Result<Form, Status> {
        let accept = self.header(header::ACCEPT);
        if accept.is_empty() {
            return Ok(Form::Whole);
        }
        for clause in accept.split(',') {
            let is_json =
                matches!(clause.split(';').next().map(str::trim), Some("application/json" | "*/*" | "application/*"));
            match parameter(clause, "as") {
                _ if !is_json => {}
                None => return Ok(Form::Whole),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") if parameter(clause, "v") == Some("v1") => {
                    return Ok(Form::Metadata);
                }
                Some("Table") if parameter(clause, "v") == Some("v1") && self.verb == "list" => {
                    return Ok(if self.query("includeObject") == "None" { Form::Rows } else { Form::Table });
                }
                Some(_) => {}
            }
        }
        let message = "only the following media types are accepted: application/json";
        Err(Status::new(406, "NotAcceptable", message))
    }

    /// What is selected of the resource's objects.
    pub(crate) fn selection(&self, resource: &Resource, target: &Target) -> Result<Selection, Status> {
        let mut fields = self.query("fieldSelector").to_owned();
        if let Some(name) = &target.name {
            fields = format!("{fields},metadata.name={name}");
        }
        Selection::parse(resource, target.namespace.as_deref(), &fields, self.query("labelSelector"))
    }

    /// Who changes fields: as named, else the program that asks.
    pub(crate) fn manager(&self) -> String {
        let named = self.query("fieldManager");
        if !named.is_empty() {
            return named.to_owned();
        }
        let agent = self.header(header::USER_AGENT).split('/').next().unwrap_or_default();
        if agent.is_empty() { "unknown".to_owned() } else { agent.to_owned() }
    }
}

fn parameter<'a>(clause: &'a str, name: &str) -> Option<&'a str> {
    clause.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let catalog = Catalog::new();
        let parse = |path: &str| {
            let target = Target::parse(path, &catalog)?;
            let plural = catalog.get(target.resource).qualified();
            Some((plural, target.namespace.unwrap_or_default(), target.name.unwrap_or_default()))
        };
        let found = |plural: &str, namespace: &str, name: &str| Some((plural.into(), namespace.into(), name.into()));
        assert_eq!(parse("/api/v1/pods"), found("pods", "", ""));
        assert_eq!(parse("/api/v1/namespaces"), found("namespaces", "", ""));
        assert_eq!(parse("/api/v1/namespaces/a"), found("namespaces", "", "a"));
        assert_eq!(parse("/api/v1/namespaces/a/pods"), found("pods", "a", ""));
        assert_eq!(parse("/api/v1/namespaces/a/pods/b%3Ac"), found("pods", "a", "b:c"));
        assert_eq!(parse("/apis/events.k8s.io/v1/namespaces/a/events/b"), found("events.events.k8s.io", "a", "b"));
        assert_eq!(parse("/api/v1/pods/b"), None);
        assert_eq!(parse("/apis/apps/v2/deployments"), None);
        assert_eq!(parse("/apis/apps"), None);
    }
}
