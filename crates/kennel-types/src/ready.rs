//! By what a session is known to be up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is waited for. Written as `none`, `line:REGEX`, `socket:PATH`, `tcp:PORT`, `tcp:HOST:PORT`,
/// `http://HOST/PATH`, `report`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Readiness {
    /// Nothing: it is not asked.
    #[default]
    None,
    /// A line of its output matches this regular expression, which is not checked here.
    Line {
        /// The expression.
        pattern: String,
    },
    /// This Unix socket accepts.
    Socket {
        /// Its path.
        path: String,
    },
    /// This TCP port accepts.
    Tcp {
        /// Where; this machine if not given.
        host: String,
        /// Which.
        port: u16,
    },
    /// This address answers with 2xx.
    Http {
        /// The address.
        url: String,
    },
    /// The agent says so.
    Report,
}

/// Text that says nothing to wait for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessError {
    /// Of no kind.
    #[error(
        "{0:?} is nothing to wait for: say none, line:REGEX, socket:PATH, tcp:PORT, tcp:HOST:PORT, http://HOST/PATH or report"
    )]
    Kind(String),
    /// The kind is known, but what comes after it is missing.
    #[error("{kind:?} needs {what} after it, such as {example}")]
    Missing {
        /// Which.
        kind: &'static str,
        /// What is missing.
        what: &'static str,
        /// How it would look.
        example: &'static str,
    },
    /// No port.
    #[error("{0:?} is no port: that is a number from 1 to 65535")]
    Port(String),
    /// No address that can be asked.
    #[error("{0:?} is no address to ask: that begins with http:// and goes on with a host")]
    Url(String),
    /// An address that needs TLS.
    #[error(
        "{0:?} can't be asked, since Kennel speaks no TLS: wait for http://, tcp:, line: or report instead"
    )]
    Tls(String),
    /// It can't be one line.
    #[error("{0:?} has a control character in it")]
    Control(String),
}

/// The host that `tcp:PORT` means.
const THIS_MACHINE: &str = "127.0.0.1";

impl FromStr for Readiness {
    type Err = ReadinessError;

    fn from_str(text: &str) -> Result<Self, ReadinessError> {
        if text.chars().any(char::is_control) {
            return Err(ReadinessError::Control(text.to_owned()));
        }
        match text {
            "none" => return Ok(Self::None),
            "report" => return Ok(Self::Report),
            _ => {}
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(match text {
                "line" | "socket" | "tcp" | "http" => missing(text),
                _ => ReadinessError::Kind(text.to_owned()),
            });
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
    let (kind, what, example) = match kind {
        "line" => ("line", "a regular expression", "line:listening on"),
        "socket" => ("socket", "a path", "socket:/tmp/agent.sock"),
        "tcp" => ("tcp", "a port", "tcp:8080"),
        _ => ("http", "an address", "http://localhost:8080/health"),
    };
    ReadinessError::Missing { kind, what, example }
}

fn tcp(rest: &str) -> Result<Readiness, ReadinessError> {
    // The last colon: an IPv6 address has some of its own, and stands in brackets.
    let (host, port) = rest.rsplit_once(':').unwrap_or((THIS_MACHINE, rest));
    let number = port.parse().ok().filter(|number| *number != 0 && !port.starts_with('+'));
    let port = number.ok_or_else(|| ReadinessError::Port(port.to_owned()))?;
    if host.is_empty() {
        return Err(missing("tcp"));
    }
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    Ok(Readiness::Tcp { host: host.to_owned(), port })
}

/// Without TLS: what is asked is on this machine, most often.
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

/// Whether a session is up. It never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadyState {
    /// Nobody asked.
    #[default]
    Unasked,
    /// Not yet.
    Waiting,
    /// It is, or was.
    Ready,
    /// It was not in time, or ended before it was.
    Missed,
}

impl Readiness {
    /// How it stands before a launch.
    #[must_use]
    pub fn at_first(&self) -> ReadyState {
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
    fn each_kind_is_understood() {
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
    fn what_is_wrong_is_said() {
        assert_eq!(message("tcp:0"), "\"0\" is no port: that is a number from 1 to 65535");
        for wrong in ["tcp:x", "tcp:65536", "tcp:h:+1", "tcp:h:"] {
            assert!(message(wrong).contains("is no port"), "{wrong}: {}", message(wrong));
        }
        assert_eq!(message("tcp"), "\"tcp\" needs a port after it, such as tcp:8080");
        for wrong in ["line:", "socket", "http:", "tcp::8"] {
            assert!(message(wrong).contains("after it, such as"), "{wrong}: {}", message(wrong));
        }
        for wrong in ["http:localhost", "http://", "http:///x", "http://a b"] {
            assert!(message(wrong).contains("no address"), "{wrong}: {}", message(wrong));
        }
        for wrong in ["https://x", "http:https://x"] {
            assert!(message(wrong).contains("no TLS"), "{wrong}: {}", message(wrong));
        }
        for wrong in ["", "now", "port:1"] {
            assert!(message(wrong).contains("say none, line:REGEX"), "{}", message(wrong));
        }
        assert!(message("line:a\nb").contains("control character"));
    }

    proptest! {
        #[test]
        fn text_never_breaks_it(text in "(none|report|line|socket|tcp|http)?:?[ -~ü\\n]{0,20}") {
            if let Ok(readiness) = text.parse::<Readiness>() {
                prop_assert_eq!(readiness.to_string().parse(), Ok(readiness));
            }
        }
    }
}
