//! Errors as HTTP responses.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;

/// An [`ApiError`], sent as a problem document (RFC 9457).
#[derive(Debug)]
pub(crate) struct ErrorResponse(pub(crate) ApiError);

pub(crate) type HandlerResult<T> = Result<T, ErrorResponse>;
pub(crate) type JsonResult<T> = HandlerResult<Json<T>>;
pub(crate) type CreatedResult<T> = HandlerResult<(StatusCode, Json<T>)>;

impl<E: Into<ApiError>> From<E> for ErrorResponse {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = [(CONTENT_TYPE, "application/problem+json")];
        (status, kind, Json(self.0.problem())).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_problem_document_with_its_status() {
        let response = ErrorResponse::from(ApiError::conflict("no")).into_response();
        assert_eq!(response.status(), StatusCode::CONFLICT);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}
