//! By which names the API is asked for. Pure.
//!
//! A page of somebody else can have its own name resolve to our address (DNS rebinding), and so make a browser take it
//! and us for one. But the browser says in `Host` by which name it came.

use std::net::{IpAddr, SocketAddr};

/// The names that are ours, at a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    address: SocketAddr,
    tls: bool,
    /// Names besides those of loopback, with their port if it is another.
    more: Vec<(String, Option<u16>)>,
}

impl Names {
    pub(super) fn new(address: SocketAddr, tls: bool, more: &[String]) -> Self {
        let more = more.iter().map(|name| match split(name) {
            (host, Some(port)) => (host.to_ascii_lowercase(), port.parse().ok()),
            (host, None) => (host.to_ascii_lowercase(), None),
        });
        Self { address, tls, more: more.collect() }
    }

    /// Whether this is what `Host` may say.
    pub(super) fn know(&self, host: &str) -> bool {
        let (name, port) = split(host);
        let port = match port {
            Some(port) => match port.parse() {
                Ok(port) => port,
                Err(_) => return false,
            },
            None => self.usual_port(),
        };
        let name = name.to_ascii_lowercase();
        let own =
            port == self.address.port() && (name == "localhost" || self.is_own_address(&name));
        own || self
            .more
            .iter()
            .any(|(other, at)| *other == name && at.unwrap_or(self.address.port()) == port)
    }

    /// An address is no name that could be made to resolve to us. Beyond loopback we can't know by which of the
    /// machine's addresses we are reached.
    fn is_own_address(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let address = match bare {
            Some(six) => six.parse().map(IpAddr::V6),
            None => name.parse().map(IpAddr::V4),
        };
        let beyond = !self.address.ip().to_canonical().is_loopback();
        address.is_ok_and(|address| address.is_loopback() || beyond)
    }

    /// Whether a page with this origin is ours, if we were asked for by this host.
    pub(super) fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let rest = origin.strip_prefix(self.scheme()).and_then(|rest| rest.strip_prefix("://"));
        rest.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    fn usual_port(&self) -> u16 {
        if self.tls { 443 } else { 80 }
    }

    /// The address as a browser on this machine takes it; a name that was configured goes before.
    pub(super) fn url(&self) -> String {
        let port = self.address.port();
        let ip = self.address.ip();
        let host = match self.more.first() {
            Some((name, at)) if !ip.is_loopback() => format!("{name}:{}", at.unwrap_or(port)),
            _ if ip.is_unspecified() && ip.is_ipv4() => format!("127.0.0.1:{port}"),
            _ if ip.is_unspecified() => format!("[::1]:{port}"),
            _ => self.address.to_string(),
        };
        format!("{}://{host}", self.scheme())
    }

    /// Browsers keep cookies by host and not by port: two homes must not take each other's.
    pub(super) fn cookie(&self) -> String {
        format!("kennel_{}", self.address.port())
    }

    /// What tells a browser to keep it for so long; for no time at all, to forget it.
    pub(super) fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.tls { "; Secure" } else { "" };
        let name = self.cookie();
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
    }
}

/// Host and port; an IPv6 address keeps its brackets.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(address: &str, more: &[&str]) -> Names {
        let more: Vec<_> = more.iter().map(|name| (*name).to_owned()).collect();
        Names::new(address.parse().unwrap(), false, &more)
    }

    #[test]
    fn only_loopback_with_our_port_is_ours() {
        let names = names("127.0.0.1:7380", &[]);
        for host in
            ["127.0.0.1:7380", "localhost:7380", "LOCALHOST:7380", "[::1]:7380", "127.0.0.2:7380"]
        {
            assert!(names.know(host), "{host}");
        }
        for host in [
            "",
            "evil.example:7380",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "localhost:7381",
            "localhost.evil.example:7380",
            "localhost:7380:7380",
            "127.0.0.1.evil.example:7380",
            "10.0.0.1:7380",
            "0.0.0.0:7380",
            "[::1]",
            "[::1",
            "::1:7380",
            "127.1:7380",
            "localhost.:7380",
            "user@localhost:7380",
            "localhost:73800",
            "localhost:-1",
            "localhost:",
        ] {
            assert!(!names.know(host), "{host}");
        }
        assert!(Names::new("127.0.0.1:80".parse().unwrap(), false, &[]).know("localhost"));
    }

    #[test]
    fn beyond_loopback_any_address_and_the_names_that_were_configured_are_ours() {
        let names = names("0.0.0.0:7380", &["Kennel.example", "front.example:443"]);
        for host in
            ["10.0.0.1:7380", "[2001:db8::1]:7380", "kennel.example:7380", "front.example:443"]
        {
            assert!(names.know(host), "{host}");
        }
        for host in ["evil.example:7380", "kennel.example:80", "front.example:7380", "10.0.0.1:1"] {
            assert!(!names.know(host), "{host}");
        }
    }

    #[test]
    fn an_origin_is_ours_if_it_is_the_host_that_was_asked_for() {
        let names = names("127.0.0.1:7380", &[]);
        assert!(names.is_own_origin("http://localhost:7380", "localhost:7380"));
        for origin in [
            "null",
            "",
            "http://127.0.0.1:7380",
            "https://localhost:7380",
            "http://localhost:3000",
            "http://localhost",
            "http://evil.example",
            "http://localhost:7380.evil.example",
            "http://localhost:7380/",
        ] {
            assert!(!names.is_own_origin(origin, "localhost:7380"), "{origin}");
        }
    }

    #[test]
    fn a_link_is_to_where_a_browser_finds_us() {
        for (address, more, url) in [
            ("127.0.0.1:7380", &[][..], "http://127.0.0.1:7380"),
            ("[::1]:1", &[], "http://[::1]:1"),
            ("0.0.0.0:7380", &[], "http://127.0.0.1:7380"),
            ("[::]:7380", &[], "http://[::1]:7380"),
            ("0.0.0.0:7380", &["a.example"], "http://a.example:7380"),
            ("0.0.0.0:7380", &["a.example:443"], "http://a.example:443"),
        ] {
            assert_eq!(names(address, more).url(), url);
        }
    }
}
