//! Schemas of types with hand-written serde implementations.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{DenyUnknownFields, Environment, OsText};
use crate::id::LaunchToken;

impl JsonSchema for OsText {
    fn schema_name() -> Cow<'static, str> {
        "OsText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A string that may not be valid UTF-8: a plain string if it is, or else its bytes in hex.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"hex": {"type": "string", "pattern": "^([0-9a-fA-F]{2})*$"}},
                    "required": ["hex"],
                },
            ],
        })
    }
}

impl JsonSchema for Environment {
    fn schema_name() -> Cow<'static, str> {
        "Environment".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<OsText>();
        json_schema!({
            "description": "The exact environment of a command: an object of names and values, or a list of pairs.",
            "anyOf": [
                {"type": "object", "additionalProperties": text},
                {
                    "type": "array",
                    "items": {"type": "array", "items": text, "minItems": 2, "maxItems": 2},
                },
            ],
        })
    }
}

impl JsonSchema for DenyUnknownFields {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DenyUnknownFields".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"additionalProperties": false})
    }
}

impl JsonSchema for LaunchToken {
    fn schema_name() -> Cow<'static, str> {
        "LaunchToken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "The secret of a launch.", "type": "string"})
    }
}
