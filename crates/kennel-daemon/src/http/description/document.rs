//! Puts the description together.

use kennel_types::api::Problem;
use serde_json::{Map, Value, json};

use super::super::endpoint::{Content, Endpoint, Shape};
use super::super::endpoints;
use super::bounds;
use super::schemas::{self, Schemas};

/// The description of the API, as the code has it.
#[must_use]
pub fn document() -> String {
    let mut schemas = Schemas::new();
    let problem = schemas.answered(Shape::of::<Problem>());
    let mut paths: Map<String, Value> = Map::new();
    let mut bodies = Vec::new();
    for endpoint in endpoints::all() {
        let operation = operation(&endpoint, &mut schemas, &problem);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method] = operation;
        if let Some(shape) = endpoint.body {
            bodies.push((endpoint.path, endpoint.method, schemas.sent(shape)));
        }
    }
    let (components, renamed) = schemas.into_components();
    for (path, method, mut schema) in bodies {
        renamed.apply(&mut schema);
        let required = !takes_nothing(&schema, &components);
        let content = json!({"application/json": {"schema": schema}});
        paths[path][method]["requestBody"] = json!({"required": required, "content": content});
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kennel",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Kennel owns the processes of AI coding agents: none is leaked, doubled or mistaken for another.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    });
    plain(&mut document);
    bounds::tell(&mut document);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(endpoint: &Endpoint, schemas: &mut Schemas, problem: &Value) -> Value {
    let mut parameters = in_path(endpoint.path);
    parameters.extend(endpoint.query.map(in_query).unwrap_or_default());
    let refused = json!({
        "description": "It is refused, and this is why",
        "content": {"application/problem+json": {"schema": problem}},
    });
    let mut granted = json!({"description": "As asked"});
    if let Some(content) = content(endpoint.content, schemas) {
        granted["content"] = content;
    }
    json!({
        "operationId": endpoint.id,
        "summary": endpoint.about,
        "parameters": parameters,
        "responses": {endpoint.status.to_string(): granted, "default": refused},
    })
}

fn content(content: Content, schemas: &mut Schemas) -> Option<Value> {
    match content {
        Content::Nothing | Content::WebSocket => None,
        Content::Json(shape) => {
            Some(json!({"application/json": {"schema": schemas.answered(shape)}}))
        }
        Content::Stream(kinds, shape) => {
            let item = schemas.answered(shape);
            let kind = |kind: &&str| {
                let what = format!("Each item of the stream is one of these: {}", reference(&item));
                ((*kind).to_owned(), json!({"schema": {"type": "string", "description": what}}))
            };
            Some(kinds.iter().map(kind).collect::<Map<_, _>>().into())
        }
        Content::Other(kind) => Some(json!({kind: {}})),
    }
}

/// Whether a body may be left out, which is as good as an empty object.
fn takes_nothing(schema: &Value, components: &Map<String, Value>) -> bool {
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
    let about = |name: &str| match name {
        "reference" => "An id, a name, or the beginning of an id that means one only",
        _ => "Its name",
    };
    names
        .map(|name| {
            let schema = json!({"type": "string"});
            json!({"name": name, "in": "path", "required": true, "schema": schema, "description": about(name)})
        })
        .collect()
}

fn in_query(shape: Shape) -> Vec<Value> {
    let schema = schemas::query(shape);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(fields) = schema["properties"].as_object() else { return Vec::new() };
    fields
        .iter()
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            let about = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            let mut parameter = json!({
                "name": name, "in": "query", "schema": without_null(schema),
                "required": required.contains(&Value::from(name.as_str())),
            });
            if let Some(about) = about {
                parameter["description"] = about;
            }
            parameter
        })
        .collect()
}

/// What is not in a query is left out: it is never null.
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

/// What the code says of things refers to other code, which readers do not have.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text.replace("[`", "`").replace("`]", "`");
                    }
                    other => plain(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}
