//! The shapes of what is about access to the API over TCP: listeners, tokens, links.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What somebody may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All that the owner may.
    #[default]
    Full,
    /// Look, and change nothing.
    ReadOnly,
}

/// Whether there is somebody at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListenState {
    /// The API is there.
    Open,
    /// It is not, but is tried again and again.
    Failing,
}

/// The API over TCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListenView {
    /// Whether it is there.
    pub state: ListenState,
    /// Address and port; the port that was found, if none was named.
    pub address: String,
    /// The same as a browser takes it.
    pub url: String,
    /// Why it is not there.
    #[serde(default)]
    pub why: Option<String>,
}

/// Have the API over TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ListenRequest {
    /// Where: address and port, 0 for any. As configured, else at loopback, if not given.
    pub listen: Option<String>,
}

/// A link by which a browser gets in, once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LinkRequest {
    /// What the browser may do.
    pub scope: Scope,
}

/// The link.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkView {
    /// It has a secret in it.
    pub url: String,
    /// For how many seconds it is good.
    pub valid_s: u64,
}

/// What an entry on the list of tokens is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// The one in the file.
    Main,
    /// One that was made besides.
    Extra,
    /// A browser that got in by a link.
    Browser,
}

/// Something that lets in, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenView {
    /// How it is called.
    pub name: String,
    /// What it is.
    pub kind: TokenKind,
    /// What it is good for.
    pub scope: Scope,
    /// When it was made; unknown of the main one.
    pub made_at: Option<String>,
    /// When it is void by itself.
    pub expires_at: Option<String>,
}

/// A token that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NewToken {
    /// Its name; one is made up if not given.
    pub name: Option<String>,
    /// What it is to be good for.
    pub scope: Scope,
}

/// A token with its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretView {
    /// The token.
    pub token: TokenView,
    /// What is to be said for it.
    pub secret: String,
    /// How many connections of the former one were cut.
    #[serde(default)]
    pub cut: u64,
}

/// What came of a revocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RevokeAnswer {
    /// How many connections were cut.
    pub cut: u64,
}

/// How somebody got in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WayIn {
    /// At the home's socket, as its owner.
    Socket,
    /// Over TCP, by a token.
    Token,
    /// Over TCP, as a browser that came by a link.
    Browser,
}

/// Who asks, and whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeView {
    /// What you may do.
    pub scope: Scope,
    /// How you got in.
    pub via: WayIn,
    /// How your token, or browser, is called; at the socket it has no name.
    pub name: Option<String>,
    /// The folder of the home.
    pub home: String,
    /// The daemon's version.
    pub version: String,
    /// The machine's name.
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
