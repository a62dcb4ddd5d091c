//! Requests that start a launch.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::IntoStaticStr;

use super::{Environment, OsText};
use crate::id::SessionId;
use crate::spec::{DEFAULT_LEASE, DEFAULT_LINGER, DEFAULT_OUTPUT_LIMIT, SessionSpec};

/// A request for a new session. It contains the fields of the spec and the ones below. Fields that
/// are left out have the defaults of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = false)))]
pub struct CreateRequest {
    /// The part of the request that goes on record. The fields `argv`, `cwd` and `stdin` below take
    /// precedence over the spec's. This field comes first so that the API description shows those
    /// below.
    #[serde(flatten, serialize_with = "without_request_fields")]
    pub spec: SessionSpec,
    /// The command, as exact bytes.
    #[serde(default)]
    pub argv: Vec<OsText>,
    /// The exact environment of the command; Kennel adds only its own cookie. It is never stored.
    /// The default contains only a `PATH` for the programs of the system.
    #[serde(default = "Environment::minimal")]
    pub env: Environment,
    /// The working directory, as exact bytes.
    pub cwd: OsText,
    /// The umask of the command.
    #[serde(default = "umask")]
    pub umask: u32,
    /// The resource limits of the command: resource, soft limit, hard limit.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// The source of standard input, if there is no terminal.
    #[serde(default)]
    pub stdin: StdinFrom,
    /// The settings of the client's terminal.
    #[serde(default)]
    pub terminal_settings: Option<TerminalSettings>,
    /// Whether standard error is separate from the terminal.
    #[serde(default)]
    pub stderr_apart: bool,
    /// Whether to queue the session if it can't start immediately.
    #[serde(default)]
    pub queue: bool,
    /// The prompt for the agent, if `agent` is set; then `argv` and `stdin` must be absent. It is
    /// never stored.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Rejects unknown fields.
    #[doc(hidden)]
    #[serde(flatten, skip_serializing)]
    pub nothing_else: DenyUnknownFields,
}

impl CreateRequest {
    /// Returns a request with the defaults of the command line and without a command, for
    /// `..CreateRequest::with_defaults()`.
    #[must_use]
    pub fn with_defaults() -> Self {
        let spec = SessionSpec {
            linger: DEFAULT_LINGER,
            lease: Some(DEFAULT_LEASE),
            output_limit: DEFAULT_OUTPUT_LIMIT,
            ..SessionSpec::default()
        };
        Self { env: Environment::minimal(), umask: umask(), spec, ..Self::default() }
    }
}

/// Rejects unknown fields where serde's `deny_unknown_fields` can't: beside flattened fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DenyUnknownFields;

impl<'de> Deserialize<'de> for DenyUnknownFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Empty;
        impl<'de> Visitor<'de> for Empty {
            type Value = DenyUnknownFields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("no further fields")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<DenyUnknownFields, A::Error> {
                match map.next_key::<String>()? {
                    Some(name) => Err(A::Error::custom(format!("unknown field `{name}`"))),
                    None => Ok(DenyUnknownFields),
                }
            }
        }
        from.deserialize_map(Empty)
    }
}

pub(super) fn umask() -> u32 {
    0o022
}

fn without_request_fields<S: Serializer>(spec: &SessionSpec, to: S) -> Result<S::Ok, S::Error> {
    let (argv, cwd, stdin) = (Vec::new(), String::new(), false);
    SessionSpec { argv, cwd, stdin, ..spec.clone() }.serialize(to)
}

/// A request for another launch of an ended session: the same command in the same directory, with a
/// new environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ResumeRequest {
    /// The launch to follow. If a later one already exists, the daemon returns that one. The default
    /// is the latest launch.
    pub after: Option<SessionId>,
    /// The environment, as in [`CreateRequest`].
    #[serde(default = "Environment::minimal")]
    pub env: Environment,
    /// The umask of the command.
    #[serde(default = "umask")]
    pub umask: u32,
    /// The resource limits of the command: resource, soft limit, hard limit.
    pub limits: Vec<(u32, u64, u64)>,
    /// The source of standard input, if there is no terminal.
    pub stdin: StdinFrom,
    /// The settings of the client's terminal.
    pub terminal_settings: Option<TerminalSettings>,
    /// Whether standard error is separate from the terminal.
    pub stderr_apart: bool,
    /// The session that sends the request, if one does.
    pub parent: Option<SessionId>,
    /// Whether the session ends when the client disconnects.
    pub tethered: bool,
    /// Whether to queue the session if it can't start immediately.
    pub queue: bool,
    /// The name of the caller, for the event log.
    pub by: String,
}

/// The state that a session must reach before the daemon responds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Until {
    /// It is on record, and is queued or has started.
    Accepted,
    /// It has started.
    #[default]
    Started,
    /// It is ready, if readiness is checked; or it has ended.
    Ready,
    /// It has ended.
    Over,
}

impl Until {
    /// Returns the name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The source of standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdinFrom {
    /// No input.
    #[default]
    Null,
    /// Input that clients send.
    Pipe,
    /// A descriptor that the client passed under this ticket. Only on the Unix socket.
    Deposit {
        /// The ticket: 32 hex digits.
        ticket: String,
    },
}

/// The contents of `termios`, as numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalSettings {
    /// The input, output, control and local modes.
    pub modes: [u32; 4],
    /// The special characters.
    pub characters: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::spec::PenKind;

    #[test]
    fn fills_in_the_defaults_of_the_command_line() {
        let request: CreateRequest =
            serde_json::from_str(r#"{"argv": ["true"], "cwd": "/tmp"}"#).unwrap();
        let spec = &request.spec;
        assert_eq!((spec.grace, spec.linger), (Duration::from_secs(10), Duration::from_secs(2)));
        assert_eq!((spec.lease, spec.output_limit), (Some(Duration::from_secs(900)), 64 << 20));
        assert_eq!(
            (request.umask, &request.stdin, spec.pen),
            (0o022, &StdinFrom::Null, PenKind::Auto)
        );
        let path = OsText::Plain("PATH".to_owned());
        assert!(request.env.0.len() == 1 && request.env.0[0].0 == path, "{:?}", request.env.0);
        let words = SessionSpec {
            argv: Vec::new(),
            cwd: String::new(),
            ..CreateRequest::with_defaults().spec
        };
        assert_eq!(
            request,
            CreateRequest {
                argv: vec![OsText::from("true")],
                cwd: OsText::from("/tmp"),
                spec: words,
                ..CreateRequest::with_defaults()
            }
        );
        let bare: CreateRequest =
            serde_json::from_str(r#"{"argv": [], "cwd": "/", "env": {}, "lease_ms": null}"#)
                .unwrap();
        assert_eq!((bare.env.0.len(), bare.spec.lease), (0, None));
    }

    #[test]
    fn a_request_survives_a_round_trip_without_duplicate_fields() {
        let spec = SessionSpec {
            name: Some("a".to_owned()),
            argv: vec!["sleep".to_owned()],
            stdin: true,
            timeout: Some(Duration::from_millis(1500)),
            ..SessionSpec::default()
        };
        let argv = vec![OsText::Plain("sleep".to_owned()), OsText::Bytes { hex: "ff".to_owned() }];
        let stdin = StdinFrom::Pipe;
        let request = CreateRequest {
            spec,
            argv,
            cwd: OsText::Plain("/".to_owned()),
            stdin,
            umask: 0o077,
            ..CreateRequest::default()
        };
        let json = serde_json::to_string(&request).unwrap();
        assert!(
            json.contains(r#""stdin":"pipe""#) && json.contains(r#""timeout_ms":1500"#),
            "{json}"
        );
        for field in ["argv", "cwd", "stdin"] {
            assert_eq!(json.matches(&format!("\"{field}\":")).count(), 1, "{json}");
        }
        let again: CreateRequest = serde_json::from_str(&json).unwrap();
        let words = SessionSpec {
            argv: Vec::new(),
            cwd: String::new(),
            stdin: false,
            ..request.spec.clone()
        };
        assert_eq!(again, CreateRequest { spec: words, ..request });
    }
}
