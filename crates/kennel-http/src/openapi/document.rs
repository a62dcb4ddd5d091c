//! Generates the OpenAPI document.

use kennel_types::api::ProblemDetails;
use serde_json::{Map, Value, json};

use super::schemas::{self, Schemas};
use crate::endpoint::{Endpoint, ResponseContent, SchemaSource};
use crate::endpoints;

/// Returns the OpenAPI document of this version.
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
    visit_objects(&mut document, &mut correct);
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

/// Whether a body may be left out, which means an empty object.
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

/// Removes null from the schema of a query parameter, which is present or absent, but never null.
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

/// Removes the markup of links to code, which mean nothing in the document, and adds the bounds of integers, which the
/// generated schemas have only for the smallest types.
fn correct(fields: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`");
    }
    let bounds = match fields.get("format").and_then(Value::as_str) {
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
        _ => return,
    };
    fields.entry("minimum").or_insert(bounds.0);
    fields.entry("maximum").or_insert(bounds.1);
}

/// Calls a function for every object in a value, the outer ones first.
pub(super) fn visit_objects(value: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            visit(fields);
            fields.values_mut().for_each(|value| visit_objects(value, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_objects(item, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_missing_bounds_and_keeps_existing_ones() {
        let mut schema = json!({"a": [{"format": "uint32", "minimum": 1}], "format": "date"});
        visit_objects(&mut schema, &mut correct);
        let number = json!({"format": "uint32", "minimum": 1, "maximum": u32::MAX});
        assert_eq!(schema, json!({"a": [number], "format": "date"}));
    }
}
