//! Flags for the API over TCP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kennel_types::api::{ListenRequest, ListenView};

use crate::command_prelude::*;
use crate::config::{self, API, KEYS, listen_settings};

/// The flags for the API over TCP. They override the section `api` of kennel.toml.
#[derive(Debug, Args)]
pub(super) struct ListenArgs {
    /// Also serve the API on this TCP address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = config::address)]
    pub(super) listen: Option<SocketAddr>,
    /// Allow an address that other machines can reach; needs TLS
    #[arg(long, requires = "listen")]
    allow_remote: bool,
    /// PEM file with the TLS certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the TLS key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// When a missing TCP listener is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenRequirement {
    /// If a flag requests it: the daemon was already running.
    IfAsked,
    /// If a flag or a setting requests it: the daemon was just started.
    IfSet,
}

impl ListenArgs {
    /// Returns the home with a configuration that these flags override.
    pub(super) fn apply(&self, home: &HomeDir) -> Result<HomeDir, CommandError> {
        let mut home = home.clone();
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.to_string_lossy().into_owned()
        };
        let values = [
            ("listen", "listen", self.listen.map(|address| address.to_string())),
            ("allow_remote", "allow-remote", self.allow_remote.then(|| "true".to_owned())),
            ("tls_cert", "tls-cert", self.tls_cert.as_deref().map(absolute)),
            ("tls_key", "tls-key", self.tls_key.as_deref().map(absolute)),
        ];
        for (key, flag, text) in values {
            let key = KEYS.iter().find(|it| (it.name.section, it.name.key) == (API, key));
            if let (Some(key), Some(text)) = (key, text) {
                home.config = home.config.with_flag(key, flag, text);
            }
        }
        listen_settings(&home)?.check().map_err(|error| {
            CommandError::new(exit_code::USAGE, error).hint(
                "to allow it, use --allow-remote --tls-cert FILE --tls-key FILE, or the same keys in [api] of kennel.toml",
            )
        })?;
        Ok(home)
    }

    /// Makes the daemon serve the API on TCP if required. If it can't, it keeps running without.
    pub(super) fn open_listener(
        &self,
        home: &HomeDir,
        daemon: &DaemonClient,
        must: ListenRequirement,
    ) -> Result<(), CommandError> {
        let wanted = match must {
            ListenRequirement::IfAsked => self.listen,
            ListenRequirement::IfSet => listen_settings(home)?.listen,
        };
        let Some(address) = wanted else { return Ok(()) };
        let request = ListenRequest { listen: Some(address.to_string()) };
        let asked = daemon.post::<ListenView>("/v1/access/listen", &request);
        asked.map(drop).map_err(|error| {
            print_message(&format!("the daemon runs, but does not serve the API at {address}"));
            CommandError::from(error).code(exit_code::SETUP)
        })
    }
}
