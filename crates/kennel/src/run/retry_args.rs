//! Flags about idempotency, queueing and restarts.

use kennel_types::{Restart, SessionSpec, check_key};

use crate::command_prelude::*;

/// The flags of `kennel run` about idempotency, queueing and restarts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Queueing and restarts")]
pub(crate) struct RetryArgs {
    /// Idempotency key: a request with the same key returns the same session,
    /// until a day after it has ended (daemon.key_retention)
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// Wait instead of failing if too many sessions run
    #[arg(long)]
    pub(crate) queue: bool,
    /// With -d: launch the command again when it fails, at most N times
    /// (on-failure:N), after a delay that grows from 1 s to 5 min
    #[arg(long, value_name = "never|on-failure[:N]", default_value = "never")]
    pub(crate) restart: Restart,
    /// Restart also if the exit status is unknown: the command may have
    /// succeeded
    #[arg(long)]
    pub(crate) restart_unknown: bool,
}

impl RetryArgs {
    /// Sets the fields of the specification.
    pub(super) fn fill(&self, spec: &mut SessionSpec) -> anyhow::Result<()> {
        if spec.tethered && self.restart != Restart::Never {
            anyhow::bail!(
                "--restart {} needs -d: a session in the foreground ends with this command",
                self.restart
            );
        }
        if self.restart_unknown && self.restart == Restart::Never {
            anyhow::bail!("--restart-unknown needs --restart on-failure");
        }
        spec.key = self.key.clone();
        spec.restart = self.restart;
        spec.restart_unknown = self.restart_unknown;
        Ok(())
    }
}

fn parse_key(text: &str) -> Result<String, String> {
    check_key(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}
