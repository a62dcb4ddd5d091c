//! Adds the bounds of integers, which the generated schemas have only for the smallest types.

use serde_json::{Value, json};

/// Adds a minimum and a maximum to every integer.
pub(super) fn add(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        let format = fields.get("format").and_then(Value::as_str);
        if let Some((minimum, maximum)) = format.and_then(bounds) {
            fields.entry("minimum").or_insert(minimum);
            fields.entry("maximum").or_insert(maximum);
        }
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(add),
        Value::Array(items) => items.iter_mut().for_each(add),
        _ => {}
    }
}

fn bounds(format: &str) -> Option<(Value, Value)> {
    match format {
        "int32" => Some((json!(i32::MIN), json!(i32::MAX))),
        "uint32" => Some((json!(0), json!(u32::MAX))),
        "uint64" | "uint" => Some((json!(0), json!(u64::MAX))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_missing_bounds_and_keeps_existing_ones() {
        let mut schema = json!({"a": [{"format": "uint32", "minimum": 1}], "format": "date"});
        add(&mut schema);
        let number = json!({"format": "uint32", "minimum": 1, "maximum": u32::MAX});
        assert_eq!(schema, json!({"a": [number], "format": "date"}));
    }
}
