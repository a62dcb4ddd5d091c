//! The schemas of what is sent and of what is answered. They differ where something may be left out of a request that
//! an answer always has; then that of the request has `Input` behind its name.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::super::endpoint::Shape;

/// Where OpenAPI has them.
const PLACE: &str = "/components/schemas";

/// See the module.
pub(super) struct Schemas {
    sent: SchemaGenerator,
    answered: SchemaGenerator,
}

fn settings() -> SchemaSettings {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = PLACE.into();
    settings.meta_schema = None;
    settings
}

impl Schemas {
    pub(super) fn new() -> Self {
        let sent = settings().for_deserialize().into_generator();
        let answered = settings().for_serialize().into_generator();
        Self { sent, answered }
    }

    /// That of a body, which is named as one that is sent: see [`Schemas::into_components`].
    pub(super) fn sent(&mut self, shape: Shape) -> Value {
        (shape.0)(&mut self.sent).to_value()
    }

    pub(super) fn answered(&mut self, shape: Shape) -> Value {
        (shape.0)(&mut self.answered).to_value()
    }

    /// All that have names, and how those that are sent are called.
    pub(super) fn into_components(mut self) -> (Map<String, Value>, Renamed) {
        let sent = self.sent.take_definitions(true);
        let mut all = self.answered.take_definitions(true);
        let mut renamed = Renamed::differing(&sent, &all);
        renamed.spread(&sent);
        for (name, mut schema) in sent {
            renamed.apply(&mut schema);
            all.insert(renamed.of(&name).to_owned(), schema);
        }
        (all, renamed)
    }
}

/// A query: its fields, in whole.
pub(super) fn query(shape: Shape) -> Value {
    let mut settings = settings();
    settings.inline_subschemas = true;
    (shape.0)(&mut settings.for_deserialize().into_generator()).to_value()
}

/// Those that are called otherwise if they are sent.
pub(super) struct Renamed(BTreeMap<String, String>);

impl Renamed {
    fn differing(sent: &Map<String, Value>, answered: &Map<String, Value>) -> Self {
        let differs =
            |name: &&String| answered.get(*name).is_some_and(|other| *other != sent[*name]);
        let names = sent.keys().filter(differs);
        Self(names.map(|name| (name.clone(), format!("{name}Input"))).collect())
    }

    /// What refers to one of those is another one itself, if it has a double.
    fn spread(&mut self, sent: &Map<String, Value>) {
        loop {
            let refers = |schema: &Value| {
                let text = schema.to_string();
                self.0.keys().any(|name| text.contains(&format!("{PLACE}/{name}\"")))
            };
            let more: Vec<_> = sent
                .iter()
                .filter(|(name, schema)| !self.0.contains_key(*name) && refers(schema))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return;
            }
            // Requests have no double: they keep their names, and refer to what they mean.
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

    /// Has every reference lead to what is sent.
    pub(super) fn apply(&self, schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(reference) if name == "$ref" => {
                            if let Some(to) = reference.rsplit('/').next() {
                                *reference = format!("#{PLACE}/{}", self.of(to));
                            }
                        }
                        other => self.apply(other),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply(item)),
            _ => {}
        }
    }
}
