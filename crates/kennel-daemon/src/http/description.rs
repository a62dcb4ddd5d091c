//! The description of the API, by OpenAPI 3.1. It is made from the list of endpoints (`cargo xtask openapi`), lies in the
//! repository, and is part of the program as it lies there.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

#[cfg(feature = "schema")]
mod bounds;
#[cfg(feature = "schema")]
mod document;
#[cfg(feature = "schema")]
mod schemas;

#[cfg(feature = "schema")]
pub use document::document;

/// As it lies in the repository.
const WRITTEN: &str = include_str!("../../openapi.json");

pub(super) async fn serve() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], WRITTEN)
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_repository_is_what_the_code_says() {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert!(read(&document()) == read(WRITTEN), "`cargo xtask openapi` writes it anew");
    }

    #[test]
    fn everything_that_is_referred_to_is_there() {
        let document: serde_json::Value = serde_json::from_str(WRITTEN).unwrap();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 50, "{}", references.len());
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }

    fn collect(value: &serde_json::Value, references: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(text) if name == "$ref" => references.push(text.to_owned()),
                        _ => collect(value, references),
                    }
                }
            }
            serde_json::Value::Array(items) => {
                items.iter().for_each(|item| collect(item, references))
            }
            _ => {}
        }
    }
}
