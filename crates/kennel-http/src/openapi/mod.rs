//! The OpenAPI 3.1 document. `cargo xtask openapi` generates it from the list of endpoints; the file in the repository is
//! built into the program.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

#[cfg(feature = "schema")]
pub(crate) mod document;
#[cfg(feature = "schema")]
mod schemas;

const DOCUMENT: &str = include_str!("../../openapi.json");

pub(crate) async fn serve() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "schema")]
    #[test]
    fn the_file_in_the_repository_is_current() {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert!(read(&document::document()) == read(DOCUMENT), "run `cargo xtask openapi`");
    }

    #[test]
    fn every_reference_resolves() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 50, "{}", references.len());
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} does not resolve");
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
