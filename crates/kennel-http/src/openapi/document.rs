//! Generates the document.

use kennel_types::api::ProblemDetails;
use serde_json::{Map, Value, json};

use super::integer_bounds;
use super::schemas::{self, Schemas};
use crate::endpoint::{Endpoint, ResponseContent, SchemaSource};
use crate::endpoints;

/// The OpenAPI document of this version.
#[must_use]
pub fn document() -> String {
    let mut schemas = Schemas::new();
    let problem = schemas.response(SchemaSource::of::<ProblemDetails>());
    let mut paths: Map<String, Value> = Map::new();
    let mut bodies = Vec::new();
    for endpoint in endpoints::all() {
        let operation = operation(&endpoint, &mut schemas, &problem);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method] = operation;
        if let Some(shape) = endpoint.body {
            bodies.push((endpoint.path, endpoint.method, schemas.request(shape)));
        }
    }
    let (components, renamed) = schemas.into_components();
    for (path, method, mut schema) in bodies {
        renamed.apply(&mut schema);
        let required = !is_optional(&schema, &components);
        let content = json!({"application/json": {"schema": schema}});
        paths[path][method]["requestBody"] = json!({"required": required, "content": content});
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kennel",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Kennel owns the processes of AI coding agents: none is leaked, started twice or confused with another.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    });
    without_code_links(&mut document);
    integer_bounds::add(&mut document);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(endpoint: &Endpoint, schemas: &mut Schemas, problem: &Value) -> Value {
    let mut parameters = in_path(endpoint.path);
    parameters.extend(endpoint.query.map(in_query).unwrap_or_default());
    let error = json!({
        "description": "An error",
        "content": {"application/problem+json": {"schema": problem}},
    });
    let mut success = json!({"description": "Success"});
    if let Some(content) = content(endpoint.content, schemas) {
        success["content"] = content;
    }
    json!({
        "operationId": endpoint.id,
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {endpoint.status.to_string(): success, "default": error},
    })
}

fn content(content: ResponseContent, schemas: &mut Schemas) -> Option<Value> {
    match content {
        ResponseContent::Empty | ResponseContent::WebSocket => None,
        ResponseContent::Json(shape) => {
            Some(json!({"application/json": {"schema": schemas.response(shape)}}))
        }
        ResponseContent::Stream(kinds, shape) => {
            let item = schemas.response(shape);
            let kind = |kind: &&str| {
                let what = format!("Each item of the stream is one of: {}", reference(&item));
                ((*kind).to_owned(), json!({"schema": {"type": "string", "description": what}}))
            };
            Some(kinds.iter().map(kind).collect::<Map<_, _>>().into())
        }
        ResponseContent::Other(kind) => Some(json!({kind: {}})),
    }
}

/// Whether a body may be left out: it counts as an empty object then.
fn is_optional(schema: &Value, components: &Map<String, Value>) -> bool {
    let named = reference(schema).rsplit('/').next().and_then(|name| components.get(name));
    let schema = named.unwrap_or(schema);
    let needs = |list: &str| schema[list].as_array().is_some_and(|items| !items.is_empty());
    !["required", "oneOf", "anyOf"].into_iter().any(needs)
}

fn reference(schema: &Value) -> &str {
    schema["$ref"].as_str().unwrap_or("any")
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let summary = |name: &str| match name {
        "reference" => "An id, a name, or an unambiguous prefix of an id",
        _ => "The name",
    };
    names
        .map(|name| {
            let schema = json!({"type": "string"});
            json!({"name": name, "in": "path", "required": true, "schema": schema, "description": summary(name)})
        })
        .collect()
}

fn in_query(shape: SchemaSource) -> Vec<Value> {
    let schema = schemas::query(shape);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(fields) = schema["properties"].as_object() else { return Vec::new() };
    fields
        .iter()
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            let summary = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            let mut parameter = json!({
                "name": name, "in": "query", "schema": without_null(schema),
                "required": required.contains(&Value::from(name.as_str())),
            });
            if let Some(summary) = summary {
                parameter["description"] = summary;
            }
            parameter
        })
        .collect()
}

/// A parameter of a query is present or absent, but never null.
fn without_null(mut schema: Value) -> Value {
    let is_null = |value: &Value| *value == "null" || value["type"] == "null" || value.is_null();
    for list in ["type", "anyOf", "enum"] {
        let Some(items) = schema[list].as_array_mut() else { continue };
        items.retain(|item| !is_null(item));
        if let ("type", [one]) = (list, &items[..]) {
            schema["type"] = one.clone();
        }
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
        fields.retain(|_, value| !value.is_null());
    }
    schema
}

/// Removes the markup of links to code, which readers of the document do not have.
fn without_code_links(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text.replace("[`", "`").replace("`]", "`");
                    }
                    other => without_code_links(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_code_links),
        _ => {}
    }
}
