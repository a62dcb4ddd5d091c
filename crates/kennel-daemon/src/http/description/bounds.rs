//! How large numbers may be, which a schema says only of the smallest types.

use serde_json::{Value, json};

/// Says of every whole number what its type can hold.
pub(super) fn tell(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        let format = fields.get("format").and_then(Value::as_str);
        if let Some((least, most)) = format.and_then(of) {
            fields.entry("minimum").or_insert(least);
            fields.entry("maximum").or_insert(most);
        }
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(tell),
        Value::Array(items) => items.iter_mut().for_each(tell),
        _ => {}
    }
}

fn of(format: &str) -> Option<(Value, Value)> {
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
    fn what_a_type_can_hold_is_told_and_what_was_told_stays() {
        let mut schema = json!({"a": [{"format": "uint32", "minimum": 1}], "format": "date"});
        tell(&mut schema);
        let number = json!({"format": "uint32", "minimum": 1, "maximum": u32::MAX});
        assert_eq!(schema, json!({"a": [number], "format": "date"}));
    }
}
