//! JSON in and out; what is refused is told the same way everywhere.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ApiErrorKind};

/// A JSON body. None at all is as good as an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::new(ApiErrorKind::TooLarge, "the body is larger than 16 MiB")
            }
            _ => ApiError::new(ApiErrorKind::Malformed, rejection.body_text()),
        })?;
        parse(&bytes).map(Self)
    }
}

/// The parameters of a query.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let Query(read) = read.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
        Ok(Self(read))
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        match error.classify() {
            serde_json::error::Category::Data => ApiError::invalid(format!(
                "the body is not what is expected here, at {place}{}",
                field(&error)
            )),
            // A choice that is given as a number counts among these, too.
            _ => ApiError::invalid(format!(
                "the body is no JSON, or not what is expected here, at {place}"
            )),
        }
    })
}

/// Which field is missing or should not be there. Anything else is not told: the text may quote a secret.
fn field(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let about_a_name = ["missing field", "unknown field", "duplicate field"];
    if !about_a_name.iter().any(|words| text.starts_with(words)) {
        return String::new();
    }
    let name = text.split(" at line ").next().unwrap_or_default();
    format!(": {name}")
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = [(CONTENT_TYPE, "application/problem+json")];
        (status, kind, Json(self.problem())).into_response()
    }
}

#[cfg(test)]
mod tests {
    use kennel_types::api::{CreateRequest, StopRequest};

    use super::*;

    #[test]
    fn no_body_is_an_empty_one_and_nonsense_is_placed_but_not_quoted() {
        assert_eq!(parse::<StopRequest>(b"").unwrap(), StopRequest::default());
        let wrong = parse::<StopRequest>(b"{\"now\": \"hunter2\"}").unwrap_err().problem();
        assert_eq!(wrong.code, "invalid");
        assert!(wrong.detail.contains("line 1") && !wrong.detail.contains("hunter2"));
        assert!(parse::<StopRequest>(b"{").is_err());
        let told = |body: &[u8]| parse::<StopRequest>(body).unwrap_err().problem().detail;
        assert!(told(b"{\"grase_ms\": 5}").contains("unknown field `grase_ms`"));
        let told = |body: &[u8]| parse::<CreateRequest>(body).unwrap_err().problem().detail;
        assert!(told(b"{\"argv\": []}").contains("missing field `cwd`"));
        assert!(told(b"{\"cwd\": \"/\", \"grase_ms\": 5}").contains("unknown field `grase_ms`"));
    }

    #[test]
    fn a_refusal_is_a_problem_with_its_status() {
        let response = ApiError::conflict("no").into_response();
        assert_eq!(response.status(), StatusCode::CONFLICT);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}
