//! The authenticated client of a request.

use axum::extract::FromRequestParts;
use axum::extract::connect_info::ConnectInfo;
use axum::http::request::Parts;
use kennel_daemon::{ApiError, ApiErrorKind};
use kennel_types::api::{Scope, TokenKind};

use super::tokens::TokenId;
use crate::error::ErrorResponse;
use crate::unix_listener::Peer;

/// What a client may do, and how it authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) scope: Scope,
    pub(crate) credential: Credential,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    /// By connecting to the Unix socket as the owner of the home.
    Socket,
    /// With a token over TCP. A browser sends it in a cookie.
    Token { id: TokenId, kind: TokenKind, name: String },
}

impl Identity {
    pub(crate) fn owner() -> Self {
        Self { scope: Scope::Full, credential: Credential::Socket }
    }

    pub(crate) fn require_full(&self) -> Result<(), ApiError> {
        match self.scope {
            Scope::Full => Ok(()),
            Scope::ReadOnly => Err(read_only()),
        }
    }

    /// Refuses clients over TCP; `what` names the operation, as in "creating a token".
    pub(crate) fn require_socket(&self, what: &str) -> Result<(), ApiError> {
        match self.credential {
            Credential::Socket => Ok(()),
            Credential::Token { .. } => Err(socket_only(what)),
        }
    }
}

/// Returns the error for an operation that is possible only on the Unix socket.
pub(crate) fn socket_only(what: &str) -> ApiError {
    let text = format!("{what} is possible only on the daemon's Unix socket, not over TCP");
    ApiError::new(ApiErrorKind::Forbidden, text)
}

pub(super) fn read_only() -> ApiError {
    ApiError::new(ApiErrorKind::Forbidden, "this token is read-only")
        .hint("`kennel token new` creates one that is not")
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        if let Some(identity) = parts.extensions.get::<Self>() {
            return Ok(identity.clone());
        }
        // Only the Unix socket records its peers. Over TCP, the guard inserts the identity.
        match parts.extensions.get::<ConnectInfo<Peer>>() {
            Some(_) => Ok(Self::owner()),
            None => Err(ApiError::new(ApiErrorKind::Unauthorized, "not authenticated").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    async fn extract(request: Request<()>) -> Result<Identity, ErrorResponse> {
        Identity::from_request_parts(&mut request.into_parts().0, &()).await
    }

    #[tokio::test]
    async fn a_request_without_a_credential_is_not_authenticated() {
        assert_eq!(extract(Request::new(())).await.unwrap_err().0.status(), 401);
        let mut request = Request::new(());
        let reader = crate::access::tokens::test_identity(Scope::ReadOnly);
        request.extensions_mut().insert(reader.clone());
        let identity = extract(request).await.unwrap();
        assert_eq!(identity, reader);
        assert_eq!(identity.require_full().unwrap_err().status(), 403);
        assert_eq!(identity.require_socket("x").unwrap_err().status(), 403);
        assert!(
            Identity::owner().require_full().is_ok()
                && Identity::owner().require_socket("x").is_ok()
        );
    }
}
