//! Which path is answered by whom, and how it is described.

use crate::incidents::Incident;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::api::{self, Answer, CauseLine, Incidents, NodeAnswer, ObjectAnswer, Roots, Stuck, tagged};
use super::openapi::{self, Answers, Route};
use super::stream::stream;

/// The description of the API: OpenAPI 3.1.
pub fn openapi() -> serde_json::Value {
    openapi::document(&routes())
}

pub fn routes() -> Vec<Route> {
    let json = |path, summary, schema, handler| {
        let answers = Answers::Json(schema);
        Route { path, summary, query: &[], is_open: false, answers, handler }
    };
    let (incident, root) = ("/incidents/{id}", "The roots, again whenever they differ");
    vec![
        json("/stuck", "The plugin's report, as JSON", schema::<Answer<Stuck>>, get(api::stuck)),
        json("/roots", "One line for each root cause", schema::<Answer<Roots>>, get(api::roots)),
        json(
            "/objects/{group}/{kind}/{namespace}/{name}",
            "What holds one object; `-` for the core group and for no namespace",
            schema::<Answer<ObjectAnswer>>,
            get(api::object),
        ),
        json("/nodes/{name}", "What is held on one node", schema::<Answer<NodeAnswer>>, get(api::node)),
        json("/incidents", "What was stuck, and is", schema::<Answer<Incidents>>, get(api::all_incidents)),
        Route {
            query: &[("format", "`md` for a post-mortem in Markdown")],
            ..json(incident, "One incident", schema::<Incident>, get(api::one_incident))
        },
        Route { is_open: true, ..json("/causes", "The cause registry", schema::<Vec<CauseLine>>, get(api::causes)) },
        Route { answers: Answers::Stream(schema::<Answer<Roots>>), ..json("/stream", root, schema::<()>, get(stream)) },
        Route {
            answers: Answers::Description,
            is_open: true,
            ..json("/openapi.json", "This description", schema::<()>, get(description))
        },
    ]
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

async fn description(headers: HeaderMap) -> Response {
    tagged(&headers, &openapi())
}
