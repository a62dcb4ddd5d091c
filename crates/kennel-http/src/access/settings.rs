//! Where and how the API is served over TCP. Pure.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Where and how the API is served over TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenSettings {
    /// The address and port; port 0 means any. `None`: the API is served over TCP only on request.
    pub listen: Option<SocketAddr>,
    /// Whether the address may be one that other machines can reach.
    pub allow_remote: bool,
    /// The file with the certificates, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The file with the private key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Host names of the API, besides those of loopback.
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    #[error("{0} is not a loopback address: set api.allow_remote to let other machines connect")]
    Remote(SocketAddr),
    #[error(
        "{0} is not a loopback address: set api.tls_cert and api.tls_key to encrypt connections"
    )]
    Plain(SocketAddr),
    #[error("api.tls_cert and api.tls_key must be set together")]
    HalfTls,
}

impl ListenSettings {
    /// Checks the configured address.
    ///
    /// # Errors
    /// The API must not be served there.
    pub fn check(&self) -> Result<(), ListenError> {
        match self.listen {
            Some(address) => self.check_at(address),
            None => self.check_tls(),
        }
    }

    pub(super) fn check_at(&self, address: SocketAddr) -> Result<(), ListenError> {
        self.check_tls()?;
        if address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        match (self.allow_remote, &self.tls_cert) {
            (false, _) => Err(ListenError::Remote(address)),
            (true, None) => Err(ListenError::Plain(address)),
            (true, Some(_)) => Ok(()),
        }
    }

    fn check_tls(&self) -> Result<(), ListenError> {
        match self.tls_cert.is_some() == self.tls_key.is_some() {
            true => Ok(()),
            false => Err(ListenError::HalfTls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: &str, allow_remote: bool, tls: bool) -> ListenSettings {
        let file = tls.then(|| PathBuf::from("/file.pem"));
        let listen = Some(listen.parse().unwrap());
        ListenSettings {
            listen,
            allow_remote,
            tls_cert: file.clone(),
            tls_key: file,
            names: vec![],
        }
    }

    #[test]
    fn addresses_beyond_loopback_need_permission_and_tls() {
        for address in ["127.0.0.1:0", "127.3.2.1:7380", "[::1]:7380", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(settings(address, false, false).check(), Ok(()), "{address}");
            assert_eq!(settings(address, false, true).check(), Ok(()), "{address}");
        }
        for address in
            ["0.0.0.0:7380", "[::]:0", "10.0.0.1:7380", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"]
        {
            let parsed: SocketAddr = address.parse().unwrap();
            let check = |remote, tls| settings(address, remote, tls).check();
            assert_eq!(check(false, false), Err(ListenError::Remote(parsed)));
            assert_eq!(check(false, true), Err(ListenError::Remote(parsed)));
            assert_eq!(check(true, false), Err(ListenError::Plain(parsed)));
            assert_eq!(check(true, true), Ok(()));
        }
        let half = ListenSettings { tls_key: None, ..settings("127.0.0.1:1", false, true) };
        assert_eq!(half.check(), Err(ListenError::HalfTls));
        assert_eq!(ListenSettings::default().check(), Ok(()));
    }
}
