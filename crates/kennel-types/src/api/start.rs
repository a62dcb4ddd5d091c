//! How a launch is asked for.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Environment, Text};
use crate::id::SessionId;
use crate::spec::{SessionSpec, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT};

/// A new session. All fields of the spec stand beside the others; what is left out is as on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = false)))]
pub struct CreateRequest {
    /// What may be written down. Its command, folder and input are those below, in words; it stands before them, so that
    /// the description of the API has them as they are sent.
    #[serde(flatten, serialize_with = "without_those_below")]
    pub spec: SessionSpec,
    /// The command, exactly.
    #[serde(default)]
    pub argv: Vec<Text>,
    /// Its environment, exactly: all of it but for Kennel's own cookie. Never written down. If it is left out, a `PATH`
    /// for the programs of the system is all of it.
    #[serde(default = "Environment::of_nobody")]
    pub env: Environment,
    /// The folder to start in, exactly.
    pub cwd: Text,
    /// The client's umask.
    #[serde(default = "umask")]
    pub umask: u32,
    /// The client's limits: resource, soft, hard.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// Where standard input comes from, if there is no terminal.
    #[serde(default)]
    pub stdin: StdinFrom,
    /// The settings of the client's terminal.
    #[serde(default)]
    pub terminal_settings: Option<TerminalSettings>,
    /// Whether standard error is apart from the terminal.
    #[serde(default)]
    pub stderr_apart: bool,
    /// Whether it waits in line if it may not start at once.
    #[serde(default)]
    pub queue: bool,
    /// What the agent is asked, if `agent` is set: then there is neither `argv` nor `stdin`. Never written down.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Whatever else there is, is a mistake.
    #[doc(hidden)]
    #[serde(flatten, skip_serializing)]
    pub nothing_else: NothingElse,
}

impl CreateRequest {
    /// What the command line would ask for, without a command: for `..CreateRequest::as_usual()`.
    #[must_use]
    pub fn as_usual() -> Self {
        let spec = SessionSpec {
            linger: USUAL_LINGER,
            lease: Some(USUAL_LEASE),
            output_limit: USUAL_OUTPUT,
            ..SessionSpec::default()
        };
        Self { env: Environment::of_nobody(), umask: umask(), spec, ..Self::default() }
    }
}

/// No further fields: what `deny_unknown_fields` says where fields are flattened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NothingElse;

impl<'de> Deserialize<'de> for NothingElse {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Empty;
        impl<'de> Visitor<'de> for Empty {
            type Value = NothingElse;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("no further fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NothingElse, A::Error> {
                match map.next_key::<String>()? {
                    Some(name) => Err(A::Error::custom(format!("unknown field `{name}`"))),
                    None => Ok(NothingElse),
                }
            }
        }
        from.deserialize_map(Empty)
    }
}

pub(super) fn umask() -> u32 {
    0o022
}

fn without_those_below<S: Serializer>(spec: &SessionSpec, to: S) -> Result<S::Ok, S::Error> {
    let (argv, cwd, stdin) = (Vec::new(), String::new(), false);
    SessionSpec { argv, cwd, stdin, ..spec.clone() }.serialize(to)
}

/// Another launch of a session that has ended: its command, in its folder, with these surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// After which launch: if there is a later one already, that is the answer. The latest one if not given.
    #[serde(default)]
    pub after: Option<SessionId>,
    /// As in [`CreateRequest`].
    #[serde(default = "Environment::of_nobody")]
    pub env: Environment,
    /// The client's umask.
    #[serde(default = "umask")]
    pub umask: u32,
    /// The client's limits: resource, soft, hard.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// Where standard input comes from, if there is no terminal.
    #[serde(default)]
    pub stdin: StdinFrom,
    /// The settings of the client's terminal.
    #[serde(default)]
    pub terminal_settings: Option<TerminalSettings>,
    /// Whether standard error is apart from the terminal.
    #[serde(default)]
    pub stderr_apart: bool,
    /// The session that asks, if one does.
    #[serde(default)]
    pub parent: Option<SessionId>,
    /// Whether it ends when the client goes without a word.
    #[serde(default)]
    pub tethered: bool,
    /// Whether it waits in line if it may not start at once.
    #[serde(default)]
    pub queue: bool,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
}

/// Where standard input comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdinFrom {
    /// From nowhere.
    #[default]
    Null,
    /// From whoever sends some.
    Pipe,
    /// From a descriptor that was left at the deposit under this ticket: only at the socket.
    Deposit {
        /// 32 hex digits.
        ticket: String,
    },
}

/// What `termios` has, as numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalSettings {
    /// Input, output, control and local modes.
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
    fn a_command_and_a_folder_are_enough_and_the_rest_is_as_on_the_command_line() {
        let request: CreateRequest =
            serde_json::from_str(r#"{"argv": ["true"], "cwd": "/tmp"}"#).unwrap();
        let spec = &request.spec;
        assert_eq!((spec.grace, spec.linger), (Duration::from_secs(10), Duration::from_secs(2)));
        assert_eq!((spec.lease, spec.output_limit), (Some(Duration::from_secs(900)), 64 << 20));
        assert_eq!(
            (request.umask, &request.stdin, spec.pen),
            (0o022, &StdinFrom::Null, PenKind::Auto)
        );
        let path = Text::Plain("PATH".to_owned());
        assert!(request.env.0.len() == 1 && request.env.0[0].0 == path, "{:?}", request.env.0);
        let words =
            SessionSpec { argv: Vec::new(), cwd: String::new(), ..CreateRequest::as_usual().spec };
        assert_eq!(
            request,
            CreateRequest {
                argv: vec![Text::from("true")],
                cwd: Text::from("/tmp"),
                spec: words,
                ..CreateRequest::as_usual()
            }
        );
        let bare: CreateRequest =
            serde_json::from_str(r#"{"argv": [], "cwd": "/", "env": {}, "lease_ms": null}"#)
                .unwrap();
        assert_eq!((bare.env.0.len(), bare.spec.lease), (0, None));
    }

    #[test]
    fn a_request_survives_the_round_trip_and_says_nothing_twice() {
        let spec = SessionSpec {
            name: Some("a".to_owned()),
            argv: vec!["sleep".to_owned()],
            stdin: true,
            timeout: Some(Duration::from_millis(1500)),
            ..SessionSpec::default()
        };
        let argv = vec![Text::Plain("sleep".to_owned()), Text::Bytes { hex: "ff".to_owned() }];
        let stdin = StdinFrom::Pipe;
        let request = CreateRequest {
            spec,
            argv,
            cwd: Text::Plain("/".to_owned()),
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
