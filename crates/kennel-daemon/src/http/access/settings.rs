//! Where the API is had over TCP, and on what terms. Pure.

use std::net::SocketAddr;
use std::path::PathBuf;

/// How the API is had over TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenSettings {
    /// Address and port, 0 for any; none: not at all, unless somebody asks for it.
    pub listen: Option<SocketAddr>,
    /// Whether an address may be one that others can reach.
    pub allow_remote: bool,
    /// The file with the certificates.
    pub tls_cert: Option<PathBuf>,
    /// The file with the key.
    pub tls_key: Option<PathBuf>,
    /// Names by which it may be asked for, beside those of loopback.
    pub names: Vec<String>,
}

/// Why it is not had there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it, and nobody said that they may.
    #[error("others can reach {0}: it is no address of loopback, and api.allow_remote is not set")]
    Remote(SocketAddr),
    /// Others could read along.
    #[error("others can reach {0}: without api.tls_cert and api.tls_key they could read along")]
    Plain(SocketAddr),
    /// Half of TLS is nothing.
    #[error("api.tls_cert and api.tls_key are both needed, or neither")]
    HalfTls,
}

impl ListenSettings {
    /// Whether the API may be had where the settings say.
    ///
    /// # Errors
    /// It may not, and why.
    pub fn check(&self) -> Result<(), ListenError> {
        match self.listen {
            Some(address) => self.check_at(address),
            None => self.check_tls(),
        }
    }

    /// Whether it may be had at this address.
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
    fn loopback_needs_nothing_and_everything_else_needs_leave_and_tls() {
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
