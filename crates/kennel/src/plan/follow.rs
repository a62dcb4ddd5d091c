//! Waits for a plan, and shows its progress.

use std::io::Write as _;

use kennel_types::api::ByRequest;
use kennel_types::plan::PlanView;

use super::{path, print};
use crate::command_prelude::*;

const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// Waits until the plan has ended. A signal cancels it; this waits for the end of that, too.
pub(super) fn follow(
    daemon: &DaemonClient,
    plan: PlanView,
    signals: &Signals,
    quiet: bool,
) -> Result<PlanView, CommandError> {
    let shown = !quiet && isatty(rustix::stdio::stderr());
    let mut board = Board { shown, begun: Instant::now(), turn: 0, lines: 0 };
    let mut retry = DaemonRetry::new();
    let mut pending = wait_for(daemon, &plan)?;
    let mut cancels: Vec<Sent> = Vec::new();
    let mut cancelled = false;
    loop {
        if signals.next_end()?.is_some() {
            cancelled = true;
            cancels.extend(cancel(daemon, &plan));
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(&pending, PollFlags::IN)];
        poll(&mut fds, Some(Instant::now() + UPDATE_INTERVAL))?;
        if fds[1].revents().is_empty() {
            // Without an answer, keep waiting.
            if let Ok(now) = daemon.get::<PlanView>(&path(&plan.id, "")) {
                board.show(&now);
            }
            continue;
        }
        match pending.receive::<PlanView>() {
            Ok(ended) => {
                board.clear();
                return Ok(ended);
            }
            Err(error) if error.is_gone_or_shutting_down() => {
                daemon.retry(&mut retry, error)?;
                if cancelled {
                    // The lost daemon may not have recorded the cancel.
                    cancels.extend(cancel(daemon, &plan));
                }
                pending = wait_for(daemon, &plan)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Starts to wait for the end. If this process is killed meanwhile, the daemon cancels the plan.
fn wait_for(daemon: &DaemonClient, plan: &PlanView) -> Result<Sent, CommandError> {
    let target = path(&plan.id, "/wait?cancel_on_disconnect=true");
    daemon.repeat_if(RequestError::is_gone, |client| {
        client.send("GET", &target, None::<&()>, Timeout::None)
    })
}

/// Requests the cancel. The caller keeps the request until the plan has ended.
fn cancel(daemon: &DaemonClient, plan: &PlanView) -> Option<Sent> {
    let by = ByRequest { by: super::asked_by("plan run, a signal") };
    daemon.send("POST", &path(&plan.id, "/cancel"), Some(&by), Timeout::None).ok()
}

/// A line for each agent, redrawn in place.
struct Board {
    shown: bool,
    begun: Instant,
    turn: usize,
    lines: usize,
}

impl Board {
    fn show(&mut self, plan: &PlanView) {
        if !self.shown {
            return;
        }
        self.clear();
        self.turn += 1;
        let text = print::board(plan, self.turn, self.begun.elapsed());
        self.lines = text.lines().count();
        // Progress that can't be shown is no reason to fail.
        write!(std::io::stderr(), "{text}").ok();
    }

    fn clear(&mut self) {
        if self.lines > 0 {
            write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.lines).ok();
            self.lines = 0;
        }
    }
}
