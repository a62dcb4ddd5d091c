//! Extractors of JSON bodies and queries, with the same errors everywhere.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use kennel_daemon::{ApiError, ApiErrorKind};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::error::ErrorResponse;

/// The maximum size of a request body: an environment or a prompt may be large.
pub(crate) const MAX_BODY: usize = 16 << 20;

/// A JSON body. An empty one counts as an empty object.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorResponse> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::new(ApiErrorKind::TooLarge, "the body is larger than 16 MiB")
            }
            _ => ApiError::new(ApiErrorKind::Malformed, rejection.body_text()),
        })?;
        Ok(Self(parse(&bytes)?))
    }
}

pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let Query(params) = query.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
        Ok(Self(params))
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        // serde_json also reports a number in place of a variant's name as a syntax error.
        let what = match error.classify() {
            Category::Data => "the body does not match the schema",
            _ => "the body is not valid JSON, or does not match the schema",
        };
        let (line, column) = (error.line(), error.column());
        ApiError::invalid(format!("{what} at line {line}, column {column}{}", field(&error)))
    })
}

/// Returns the name of a missing, unknown or duplicate field. Quotes nothing else, because the text may contain a secret.
fn field(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let about_a_field = ["missing field", "unknown field", "duplicate field"];
    if !about_a_field.iter().any(|words| text.starts_with(words)) {
        return String::new();
    }
    let name = text.split(" at line ").next().unwrap_or_default();
    format!(": {name}")
}

#[cfg(test)]
mod tests {
    use kennel_types::api::{CreateRequest, StopRequest};

    use super::*;

    #[test]
    fn an_empty_body_is_an_empty_object_and_errors_quote_no_values() {
        assert_eq!(parse::<StopRequest>(b"").unwrap(), StopRequest::default());
        let wrong = parse::<StopRequest>(b"{\"now\": \"hunter2\"}").unwrap_err().problem();
        assert_eq!(wrong.code, "invalid");
        assert!(wrong.detail.contains("line 1") && !wrong.detail.contains("hunter2"));
        assert!(parse::<StopRequest>(b"{").is_err());
        let detail = |body: &[u8]| parse::<StopRequest>(body).unwrap_err().problem().detail;
        assert!(detail(b"{\"grase_ms\": 5}").contains("unknown field `grase_ms`"));
        let detail = |body: &[u8]| parse::<CreateRequest>(body).unwrap_err().problem().detail;
        assert!(detail(b"{\"argv\": []}").contains("missing field `cwd`"));
        assert!(detail(b"{\"cwd\": \"/\", \"grase_ms\": 5}").contains("unknown field `grase_ms`"));
    }
}
