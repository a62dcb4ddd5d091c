//! Who asks for something, as handlers see it.

use axum::extract::FromRequestParts;
use axum::extract::connect_info::ConnectInfo;
use axum::http::request::Parts;
use kennel_types::api::{Scope, TokenKind};

use super::roll::EntryId;
use crate::error::{ApiError, ApiErrorKind};
use crate::http::Peer;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// What they may do.
    pub(crate) scope: Scope,
    /// How they got in.
    pub(crate) via: Via,
}

/// How somebody got in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Via {
    /// At the home's socket, as its owner.
    Socket,
    /// Over TCP, by a token or as a browser.
    Tcp {
        /// The entry that let them in.
        id: EntryId,
        /// What that is.
        kind: TokenKind,
        /// How that is called.
        name: String,
    },
}

impl Identity {
    /// Whoever is at the home's socket.
    pub(crate) fn owner() -> Self {
        Self { scope: Scope::Full, via: Via::Socket }
    }

    /// Refuses those who may only look.
    pub(crate) fn may_change(&self) -> Result<(), ApiError> {
        match self.scope {
            Scope::Full => Ok(()),
            Scope::ReadOnly => Err(read_only()),
        }
    }

    /// Refuses those who came over TCP; `what` it is that needs the socket.
    pub(crate) fn at_socket(&self, what: &str) -> Result<(), ApiError> {
        match self.via {
            Via::Socket => Ok(()),
            Via::Tcp { .. } => Err(socket_only(what)),
        }
    }
}

/// What is had at the home's socket alone.
pub(in crate::http) fn socket_only(what: &str) -> ApiError {
    let text = format!("{what} only at the socket in the home, and not over TCP");
    ApiError::new(ApiErrorKind::Forbidden, text)
}

pub(super) fn read_only() -> ApiError {
    let text = "this token is for looking only, and this would change something";
    ApiError::new(ApiErrorKind::Forbidden, text).hint("`kennel token new` makes one that may")
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        if let Some(identity) = parts.extensions.get::<Self>() {
            return Ok(identity.clone());
        }
        // Only the home's socket notes who its peers are; whoever came another way and has no identity is nobody.
        match parts.extensions.get::<ConnectInfo<Peer>>() {
            Some(_) => Ok(Self::owner()),
            None => Err(ApiError::new(ApiErrorKind::Unauthorized, "nobody knows who you are")),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    async fn extract(request: Request<()>) -> Result<Identity, ApiError> {
        Identity::from_request_parts(&mut request.into_parts().0, &()).await
    }

    #[tokio::test]
    async fn who_came_by_no_door_that_we_know_is_nobody() {
        assert_eq!(extract(Request::new(())).await.unwrap_err().status(), 401);
        let mut request = Request::new(());
        let roll = super::super::roll::tests_entry(Scope::ReadOnly);
        request.extensions_mut().insert(roll.clone());
        let identity = extract(request).await.unwrap();
        assert_eq!(identity, roll);
        assert_eq!(identity.may_change().unwrap_err().status(), 403);
        assert_eq!(identity.at_socket("this goes").unwrap_err().status(), 403);
        assert!(Identity::owner().may_change().is_ok() && Identity::owner().at_socket("x").is_ok());
    }
}
