//! How Kennel recognizes that a session is ready.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The sign that a session is ready. Written as `none`, `line:REGEX`, `socket:PATH`, `tcp:PORT`,
/// `tcp:HOST:PORT`, `http://HOST/PATH`, `report`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Readiness {
    /// None: the session is not checked.
    #[default]
    None,
    /// A line of its output matches a regular expression. The expression is not validated here.
    Line {
        /// The regular expression.
        pattern: String,
    },
    /// A Unix socket accepts connections.
    Socket {
        /// The path of the socket.
        path: String,
    },
    /// A TCP port accepts connections.
    Tcp {
        /// The host. The default is this machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// An HTTP URL responds with 2xx.
    Http {
        /// The URL.
        url: String,
    },
    /// The agent reports that it is ready.
    Report,
}

/// A text that is not a valid readiness sign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessError {
    /// The kind is unknown.
    #[error(
        "invalid readiness {0:?}: expected none, line:REGEX, socket:PATH, tcp:PORT, tcp:HOST:PORT, http://HOST/PATH or report"
    )]
    Kind(String),
    /// The argument of this kind is missing: the kind, the argument and an example.
    #[error("{0:?} needs {1}, for example {2}")]
    Missing(&'static str, &'static str, &'static str),
    /// The port is invalid.
    #[error("invalid port {0:?}: expected a number from 1 to 65535")]
    Port(String),
    /// The URL is invalid.
    #[error("invalid URL {0:?}: expected http:// and a host")]
    Url(String),
    /// The URL needs TLS, which is not supported here.
    #[error("unsupported URL {0:?}: Kennel can't check https; use http://, tcp:, line: or report")]
    Tls(String),
    /// The text contains a control character.
    #[error("invalid readiness {0:?}: it contains a control character")]
    Control(String),
}

/// The host of `tcp:PORT`.
const THIS_MACHINE: &str = "127.0.0.1";

impl FromStr for Readiness {
    type Err = ReadinessError;

    fn from_str(text: &str) -> Result<Self, ReadinessError> {
        if text.chars().any(char::is_control) {
            return Err(ReadinessError::Control(text.to_owned()));
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return match text {
                "none" => Ok(Self::None),
                "report" => Ok(Self::Report),
                "line" | "socket" | "tcp" | "http" => Err(missing(text)),
                _ => Err(ReadinessError::Kind(text.to_owned())),
            };
        };
        match kind {
            "line" | "socket" | "tcp" | "http" if rest.is_empty() => Err(missing(kind)),
            "line" => Ok(Self::Line { pattern: rest.to_owned() }),
            "socket" => Ok(Self::Socket { path: rest.to_owned() }),
            "tcp" => tcp(rest),
            "http" if rest.starts_with("//") => http(text),
            "http" => http(rest),
            "https" => Err(ReadinessError::Tls(text.to_owned())),
            _ => Err(ReadinessError::Kind(text.to_owned())),
        }
    }
}

fn missing(kind: &str) -> ReadinessError {
    use ReadinessError::Missing;
    match kind {
        "line" => Missing("line", "a regular expression", "line:listening on"),
        "socket" => Missing("socket", "a path", "socket:/tmp/agent.sock"),
        "tcp" => Missing("tcp", "a port", "tcp:8080"),
        _ => Missing("http", "an address", "http://localhost:8080/health"),
    }
}

fn tcp(rest: &str) -> Result<Readiness, ReadinessError> {
    // Split at the last colon: an IPv6 address in brackets contains more of them.
    let (host, port) = rest.rsplit_once(':').unwrap_or((THIS_MACHINE, rest));
    let number = port.parse().ok().filter(|number| *number != 0 && !port.starts_with('+'));
    let port = number.ok_or_else(|| ReadinessError::Port(port.to_owned()))?;
    if host.is_empty() {
        return Err(missing("tcp"));
    }
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    Ok(Readiness::Tcp { host: host.to_owned(), port })
}

/// Parses a URL. TLS is not supported: most checked services are on this machine.
fn http(url: &str) -> Result<Readiness, ReadinessError> {
    if url.starts_with("https:") {
        return Err(ReadinessError::Tls(url.to_owned()));
    }
    let host = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        Some(host) if !host.is_empty() && !url.contains(' ') => {
            Ok(Readiness::Http { url: url.to_owned() })
        }
        _ => Err(ReadinessError::Url(url.to_owned())),
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Line { pattern } => write!(f, "line:{pattern}"),
            Self::Socket { path } => write!(f, "socket:{path}"),
            Self::Tcp { host, port } if host == THIS_MACHINE => write!(f, "tcp:{port}"),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp:{host}:{port}"),
            Self::Http { url } => write!(f, "http:{url}"),
            Self::Report => f.write_str("report"),
        }
    }
}

/// Whether a session is ready. It never changes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadyState {
    /// Readiness is not checked.
    #[default]
    Unasked,
    /// Not ready yet.
    Waiting,
    /// It is or was ready.
    Ready,
    /// It was not ready in time, or ended before.
    Missed,
}

impl Readiness {
    /// Returns the state before a launch.
    #[must_use]
    pub fn initial_state(&self) -> ReadyState {
        if *self == Self::None { ReadyState::Unasked } else { ReadyState::Waiting }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Readiness {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn message(text: &str) -> String {
        text.parse::<Readiness>().unwrap_err().to_string()
    }

    #[test]
    fn parses_each_kind() {
        let tcp = |host: &str, port| Readiness::Tcp { host: host.into(), port };
        let http = |url: &str| Readiness::Http { url: url.into() };
        for (text, wanted) in [
            ("none", Readiness::None),
            ("report", Readiness::Report),
            ("line:a: b.*", Readiness::Line { pattern: "a: b.*".into() }),
            ("socket:/tmp/a b", Readiness::Socket { path: "/tmp/a b".into() }),
            ("tcp:8080", tcp("127.0.0.1", 8080)),
            ("tcp:example.org:1", tcp("example.org", 1)),
            ("tcp:[::1]:65535", tcp("::1", 65535)),
            ("http:http://localhost:1/x", http("http://localhost:1/x")),
            ("http://localhost?q", http("http://localhost?q")),
        ] {
            assert_eq!(parsed(text), wanted, "{text}");
            assert_eq!(parsed(&wanted.to_string()), wanted, "{wanted}");
        }
    }

    #[test]
    fn reports_what_is_wrong() {
        assert_eq!(message("tcp:0"), "invalid port \"0\": expected a number from 1 to 65535");
        for wrong in ["tcp:x", "tcp:65536", "tcp:h:+1", "tcp:h:"] {
            assert!(message(wrong).contains("invalid port"), "{wrong}: {}", message(wrong));
        }
        assert_eq!(message("tcp"), "\"tcp\" needs a port, for example tcp:8080");
        for wrong in ["line:", "socket", "http:", "tcp::8"] {
            assert!(message(wrong).contains(", for example "), "{wrong}: {}", message(wrong));
        }
        for wrong in ["http:localhost", "http://", "http:///x", "http://a b"] {
            assert!(message(wrong).contains("invalid URL"), "{wrong}: {}", message(wrong));
        }
        for wrong in ["https://x", "http:https://x"] {
            assert!(message(wrong).contains("can't check https"), "{wrong}: {}", message(wrong));
        }
        for wrong in ["", "now", "port:1"] {
            assert!(message(wrong).contains("expected none, line:REGEX"), "{}", message(wrong));
        }
        assert!(message("line:a\nb").contains("control character"));
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails_cleanly(text in "(none|report|line|socket|tcp|http)?:?[ -~ü\\n]{0,20}") {
            if let Ok(readiness) = text.parse::<Readiness>() {
                prop_assert_eq!(readiness.to_string().parse(), Ok(readiness));
            }
        }
    }
}
