//! The description of the API, written from its routes and the types they answer with.

use axum::routing::MethodRouter;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Shared;

pub const PREFIX: &str = "/api/v1";

/// What a route answers with.
pub enum Answers {
    /// JSON of this schema.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Events whose data is JSON of this schema.
    Stream(fn(&mut SchemaGenerator) -> Schema),
    /// JSON that describes itself.
    Description,
}

/// One path: how it is answered, and what is said of it.
pub struct Route {
    /// Below [`PREFIX`].
    pub path: &'static str,
    /// What is answered, in a sentence.
    pub summary: &'static str,
    /// Parameters after the `?`, each with what it does.
    pub query: &'static [(&'static str, &'static str)],
    /// Whether it takes a token.
    pub is_open: bool,
    pub answers: Answers,
    pub handler: MethodRouter<Shared>,
}

/// OpenAPI 3.1, whose schemas are JSON Schema as schemars writes it.
pub fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        paths.insert(format!("{PREFIX}{}", route.path), json!({"get": operation(route, &mut generator)}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "why-terminating",
            "version": "1",
            "description": "What holds whatever is stuck in Terminating, as far as the caller has permission to \
                read all that it rests on.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {"token": {
                "type": "http", "scheme": "bearer",
                "description": "A token that the API server of the cluster knows (kubectl create token NAME --audience why-terminating)",
            }},
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let text = json!({"schema": {"type": "string"}});
    let said = |words: &str| json!({"description": words});
    let (kind, schema) = match route.answers {
        Answers::Json(schema) => ("application/json", json!(schema(generator))),
        Answers::Stream(schema) => ("text/event-stream", json!(schema(generator))),
        Answers::Description => ("application/json", json!({"type": "object"})),
    };
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| json!({"name": name, "in": "path", "required": true, "schema": text["schema"]}));
    let query = route
        .query
        .iter()
        .map(|(name, words)| json!({"name": name, "in": "query", "description": words, "schema": text["schema"]}));
    let parameters: Vec<Value> = in_path.chain(query).collect();
    let mut responses = json!({
        "200": {"description": route.summary, "content": {(kind): {"schema": schema}}},
        "304": said("The caller has it already (If-None-Match)"),
    });
    if !route.is_open {
        responses["401"] = said("The token is invalid or expired");
        responses["429"] = said("Too many requests; Retry-After says when to come again");
        responses["503"] = said("Nothing has been judged yet, or the API server does not say what the caller may see");
    }
    if route.path.contains('{') {
        responses["404"] = said("Not found, or the caller has no permission to see it");
    }
    let mut operation = json!({"summary": route.summary, "parameters": parameters, "responses": responses});
    if route.is_open {
        operation["security"] = json!([]);
    }
    operation
}
