//! The host names of a listener. Pure.
//!
//! A foreign page can make its own name resolve to this address (DNS rebinding), so that a browser treats both as one
//! origin. But in `Host`, the browser sends the name that it used.

use std::net::{IpAddr, SocketAddr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostNames {
    address: SocketAddr,
    tls: bool,
    /// Configured names, with their port if it differs.
    configured: Vec<(String, Option<u16>)>,
}

impl HostNames {
    pub(super) fn new(address: SocketAddr, tls: bool, configured: &[String]) -> Self {
        let configured = configured.iter().map(|name| {
            let (host, port) = split(name);
            (host.to_ascii_lowercase(), port.and_then(|port| port.parse().ok()))
        });
        Self { address, tls, configured: configured.collect() }
    }

    /// Whether this value of `Host` is valid.
    pub(super) fn include(&self, host: &str) -> bool {
        let (name, port) = split(host);
        let default_port = if self.tls { 443 } else { 80 };
        let port = port.map_or(Ok(default_port), str::parse);
        let Ok(port) = port else { return false };
        let name = name.to_ascii_lowercase();
        let own =
            port == self.address.port() && (name == "localhost" || self.is_own_address(&name));
        own || self
            .configured
            .iter()
            .any(|(other, at)| *other == name && at.unwrap_or(self.address.port()) == port)
    }

    /// An IP address can't be rebound. Beyond loopback the listener does not know which of the machine's addresses a
    /// client uses, so it accepts any.
    fn is_own_address(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let address = match bare {
            Some(six) => six.parse().map(IpAddr::V6),
            None => name.parse().map(IpAddr::V4),
        };
        let beyond = !self.address.ip().to_canonical().is_loopback();
        address.is_ok_and(|address| address.is_loopback() || beyond)
    }

    /// Whether a page with this origin was served under this host.
    pub(super) fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let rest = origin.strip_prefix(self.scheme()).and_then(|rest| rest.strip_prefix("://"));
        rest.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// Returns the URL for a browser. A configured name takes precedence.
    pub(super) fn url(&self) -> String {
        let port = self.address.port();
        let ip = self.address.ip();
        let host = match self.configured.first() {
            Some((name, at)) if !ip.is_loopback() => format!("{name}:{}", at.unwrap_or(port)),
            _ if ip.is_unspecified() && ip.is_ipv4() => format!("127.0.0.1:{port}"),
            _ if ip.is_unspecified() => format!("[::1]:{port}"),
            _ => self.address.to_string(),
        };
        format!("{}://{host}", self.scheme())
    }

    /// Returns the name of the cookie. It contains the port, so that two homes on one host do not share a cookie.
    pub(super) fn cookie(&self) -> String {
        format!("kennel_{}", self.address.port())
    }

    /// Returns the `Set-Cookie` header. Zero seconds remove the cookie.
    pub(super) fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.tls { "; Secure" } else { "" };
        let name = self.cookie();
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
    }
}

/// Splits host and port. An IPv6 address keeps its brackets.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(address: &str, more: &[&str]) -> HostNames {
        let more: Vec<_> = more.iter().map(|name| (*name).to_owned()).collect();
        HostNames::new(address.parse().unwrap(), false, &more)
    }

    #[test]
    fn accepts_only_loopback_with_the_own_port() {
        let names = names("127.0.0.1:7380", &[]);
        for host in
            ["127.0.0.1:7380", "localhost:7380", "LOCALHOST:7380", "[::1]:7380", "127.0.0.2:7380"]
        {
            assert!(names.include(host), "{host}");
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
            assert!(!names.include(host), "{host}");
        }
        assert!(HostNames::new("127.0.0.1:80".parse().unwrap(), false, &[]).include("localhost"));
    }

    #[test]
    fn beyond_loopback_accepts_any_address_and_the_configured_names() {
        let names = names("0.0.0.0:7380", &["Kennel.example", "front.example:443"]);
        for host in
            ["10.0.0.1:7380", "[2001:db8::1]:7380", "kennel.example:7380", "front.example:443"]
        {
            assert!(names.include(host), "{host}");
        }
        for host in ["evil.example:7380", "kennel.example:80", "front.example:7380", "10.0.0.1:1"] {
            assert!(!names.include(host), "{host}");
        }
    }

    #[test]
    fn an_own_origin_equals_the_host() {
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
    fn the_url_is_one_that_a_browser_can_open() {
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
