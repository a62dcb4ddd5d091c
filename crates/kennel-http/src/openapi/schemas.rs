//! Schemas of requests and responses. A type that is used in both has two schemas if a field is optional in a request but
//! always present in a response; the name of the first one then ends in `Input`.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::document::visit_objects;
use crate::endpoint::SchemaSource;

const SCHEMAS_PATH: &str = "/components/schemas";

pub(super) struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

fn settings() -> SchemaSettings {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = SCHEMAS_PATH.into();
    settings.meta_schema = None;
    settings
}

impl Schemas {
    pub(super) fn new() -> Self {
        let requests = settings().for_deserialize().into_generator();
        let responses = settings().for_serialize().into_generator();
        Self { requests, responses }
    }

    /// Returns the schema of a request body. Its references must be renamed, see [`Schemas::into_components`].
    pub(super) fn request(&mut self, shape: SchemaSource) -> Value {
        (shape.0)(&mut self.requests).to_value()
    }

    pub(super) fn response(&mut self, shape: SchemaSource) -> Value {
        (shape.0)(&mut self.responses).to_value()
    }

    /// Returns all named schemas, and the new names of the ones that only requests use.
    pub(super) fn into_components(mut self) -> (Map<String, Value>, Renamed) {
        let sent = self.requests.take_definitions(true);
        let mut all = self.responses.take_definitions(true);
        let mut renamed = Renamed::differing(&sent, &all);
        renamed.spread(&sent);
        for (name, mut schema) in sent {
            renamed.apply(&mut schema);
            all.insert(renamed.of(&name).to_owned(), schema);
        }
        (all, renamed)
    }
}

/// Returns the schema of a query, without references.
pub(super) fn query(shape: SchemaSource) -> Value {
    let mut settings = settings();
    settings.inline_subschemas = true;
    (shape.0)(&mut settings.for_deserialize().into_generator()).to_value()
}

pub(super) struct Renamed(BTreeMap<String, String>);

impl Renamed {
    fn differing(sent: &Map<String, Value>, responses: &Map<String, Value>) -> Self {
        let differs =
            |name: &&String| responses.get(*name).is_some_and(|other| *other != sent[*name]);
        let names = sent.keys().filter(differs);
        Self(names.map(|name| (name.clone(), format!("{name}Input"))).collect())
    }

    /// A schema that refers to a renamed one is renamed itself, unless it exists in requests only.
    fn spread(&mut self, sent: &Map<String, Value>) {
        loop {
            let refers = |schema: &Value| {
                let text = schema.to_string();
                self.0.keys().any(|name| text.contains(&format!("{SCHEMAS_PATH}/{name}\"")))
            };
            let more: Vec<_> = sent
                .iter()
                .filter(|(name, schema)| !self.0.contains_key(*name) && refers(schema))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return;
            }
            // `…Request` types exist in requests only.
            for name in more {
                let new =
                    if name.ends_with("Request") { name.clone() } else { format!("{name}Input") };
                self.0.insert(name, new);
            }
        }
    }

    fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    pub(super) fn apply(&self, schema: &mut Value) {
        visit_objects(schema, &mut |fields| {
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some(to) = reference.rsplit('/').next()
            {
                *reference = format!("#{SCHEMAS_PATH}/{}", self.of(to));
            }
        });
    }
}
