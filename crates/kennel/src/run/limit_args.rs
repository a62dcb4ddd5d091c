//! Flags that limit the run time and the resources of a session.

use std::time::Duration;

use kennel_types::SessionSpec;

use crate::command_prelude::*;
use crate::quantity::{parse_cores, parse_memory, parse_pids};

/// The flags of `kennel run` that set limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Stop it after this run time, not counting system sleep; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
    /// Stop it after this time without any activity (output, input, reports,
    /// CPU usage or new processes); 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) idle: Duration,
    /// Stop it after this time without output; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) silence: Duration,
    /// Memory limit for all its processes together
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,
    /// Limit on the number of processes and threads
    #[arg(long, value_name = "COUNT", value_parser = parse_pids, allow_hyphen_values = true)]
    pub(crate) pids: Option<u64>,
    /// CPU limit in cores (0.5, 2)
    #[arg(long, value_name = "CORES", value_parser = parse_cores, allow_hyphen_values = true)]
    pub(crate) cpu: Option<u32>,
    /// Run it even if --memory, --pids or --cpu can't be enforced, with a
    /// warning (`kennel doctor` shows what is supported)
    #[arg(long)]
    pub(crate) best_effort: bool,
}

impl LimitArgs {
    /// Sets the fields of the specification.
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.timeout = Some(self.timeout);
        spec.idle = Some(self.idle);
        spec.silence = Some(self.silence);
        spec.memory = self.memory;
        spec.pids = self.pids;
        spec.cpu = self.cpu;
        spec.best_effort = self.best_effort;
        *spec = std::mem::take(spec).with_zero_off();
    }
}
