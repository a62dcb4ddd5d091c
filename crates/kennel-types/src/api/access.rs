//! Requests and views for access to the API over TCP: listeners, tokens and sign-in links.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The permissions of a caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything that the owner may do.
    #[default]
    Full,
    /// Read access only.
    ReadOnly,
}

/// The state of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListenState {
    /// The listener accepts connections.
    Open,
    /// The listener could not be opened. The daemon keeps trying.
    Failing,
}

/// The TCP listener of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListenView {
    /// The state of the listener.
    pub state: ListenState,
    /// The address and port; the actual port, if any port was requested.
    pub address: String,
    /// The URL for browsers.
    pub url: String,
    /// Why the listener is not open.
    #[serde(default)]
    pub why: Option<String>,
}

/// A request to open the API over TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ListenRequest {
    /// The address and port; port 0 means any. The default is the configured address, or else
    /// loopback.
    pub listen: Option<String>,
}

/// A request for a one-time sign-in link for a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LinkRequest {
    /// The permissions of the browser.
    pub scope: Scope,
}

/// A sign-in link.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkView {
    /// The URL. It contains a secret.
    pub url: String,
    /// For how many seconds the link is valid.
    pub valid_s: u64,
}

/// The kind of an entry in the list of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// The main token, which is in a file of the home.
    Main,
    /// An additional token.
    Extra,
    /// A browser that signed in with a link.
    Browser,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenView {
    /// The name of the token.
    pub name: String,
    /// The kind of the token.
    pub kind: TokenKind,
    /// The permissions of the token.
    pub scope: Scope,
    /// When the token was created, in RFC 3339. Unknown for the main token.
    pub made_at: Option<String>,
    /// When the token expires, in RFC 3339.
    pub expires_at: Option<String>,
}

/// A request for a new token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// The name of the token. By default, the daemon chooses one.
    pub name: Option<String>,
    /// The permissions of the token.
    pub scope: Scope,
}

/// A token with its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretView {
    /// The token.
    pub token: TokenView,
    /// The secret to send in requests.
    pub secret: String,
    /// The number of connections of the previous token that were closed.
    #[serde(default)]
    pub cut: u64,
}

/// The result of revoking a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RevokeResponse {
    /// The number of connections that were closed.
    pub cut: u64,
}

/// How a caller is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccessMethod {
    /// By the Unix socket of the home, as its owner.
    Socket,
    /// Over TCP, by a token.
    Token,
    /// Over TCP, as a browser that signed in with a link.
    Browser,
}

/// The caller, and the daemon that it is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeView {
    /// The permissions of the caller.
    pub scope: Scope,
    /// How the caller is authenticated.
    pub via: AccessMethod,
    /// The name of the caller's token or browser. Null on the Unix socket.
    pub name: Option<String>,
    /// The path of the home.
    pub home: String,
    /// The version of the daemon.
    pub version: String,
    /// The host name of the machine.
    pub host: String,
}

impl fmt::Debug for LinkView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkView").field("valid_s", &self.valid_s).finish_non_exhaustive()
    }
}

impl fmt::Debug for SecretView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretView").field("token", &self.token).finish_non_exhaustive()
    }
}
