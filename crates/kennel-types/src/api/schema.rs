//! Schemas of what is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Environment, NothingElse, Text};
use crate::id::LaunchToken;

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Text that need not be UTF-8: a string where it is, else its bytes in hex.",
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
        let text = generator.subschema_for::<Text>();
        json_schema!({
            "description": "The environment of a command, exactly: an object of names and values, or a list of pairs.",
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

impl JsonSchema for NothingElse {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NothingElse".into()
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
