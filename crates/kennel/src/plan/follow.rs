//! Waiting for a plan, and showing how it goes.

use std::io::Write as _;
use std::time::{Duration, Instant};

use kennel_types::api::ByRequest;
use kennel_types::plan::PlanView;
use rustix::event::{PollFd, PollFlags};
use rustix::termios::isatty;

use super::{path, print};
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, Patience, Sent};
use crate::foreground::{Signals, poll};

/// How often we look how it goes.
const LOOK: Duration = Duration::from_millis(250);
/// How often in a row we look for a daemon that has vanished.
const MOST_LOSSES: u32 = 50;
/// How long a daemon that was sound serves.
const SOUND: Duration = Duration::from_secs(30);

/// Waits until the plan is over. A signal cancels it, and that is waited for too.
pub(super) fn follow(
    daemon: &DaemonClient,
    plan: PlanView,
    signals: &Signals,
    quiet: bool,
) -> Result<PlanView, CommandError> {
    let mut board = Board::new(!quiet && isatty(rustix::stdio::stderr()));
    let (mut losses, mut asked_at) = (0, Instant::now());
    let mut sent = wait_for(daemon, &plan)?;
    let mut cancels: Vec<Sent> = Vec::new();
    let mut cancelled = false;
    loop {
        if signals.next_end().map_err(CommandError::internal)?.is_some() {
            cancelled = true;
            cancels.extend(cancel(daemon, &plan));
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(&sent, PollFlags::IN)];
        poll(&mut fds, Some(Instant::now() + LOOK)).map_err(CommandError::internal)?;
        if fds[1].revents().is_empty() {
            // Without an answer we wait on.
            if let Ok(now) = daemon.get::<PlanView>(&path(&plan.id, "")) {
                board.show(&now);
            }
            continue;
        }
        match sent.receive::<PlanView>() {
            Ok(over) => {
                board.wipe();
                return Ok(over);
            }
            Err(error) if error.is_gone_or_leaving() => {
                losses = if asked_at.elapsed() > SOUND { 1 } else { losses + 1 };
                if losses > MOST_LOSSES {
                    return Err(error.into());
                }
                daemon.find_again_later()?;
                if cancelled {
                    // The next daemon may not have heard of it.
                    cancels.extend(cancel(daemon, &plan));
                }
                asked_at = Instant::now();
                sent = wait_for(daemon, &plan)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// If we are killed meanwhile, that is the end of the plan. If the daemon is, it is waited for with the next one.
fn wait_for(daemon: &DaemonClient, plan: &PlanView) -> Result<Sent, CommandError> {
    let target = path(&plan.id, "/wait?tied=true");
    let mut losses = 0;
    loop {
        match daemon.send("GET", &target, None::<&()>, Patience::Endless) {
            Err(error) if error.is_gone() && losses < MOST_LOSSES => {
                losses += 1;
                daemon.find_again_later()?;
            }
            sent => return sent.map_err(CommandError::from),
        }
    }
}

/// Asks for the end; the request is to be held until all is over.
fn cancel(daemon: &DaemonClient, plan: &PlanView) -> Option<Sent> {
    let by = ByRequest { by: super::asked_by("plan run, a signal") };
    daemon.send("POST", &path(&plan.id, "/cancel"), Some(&by), Patience::Endless).ok()
}

/// A line for each agent, written anew in its place.
struct Board {
    shown: bool,
    begun: Instant,
    turn: usize,
    lines: usize,
}

impl Board {
    fn new(shown: bool) -> Self {
        Self { shown, begun: Instant::now(), turn: 0, lines: 0 }
    }

    fn show(&mut self, plan: &PlanView) {
        if !self.shown {
            return;
        }
        self.wipe();
        self.turn += 1;
        let text = print::board(plan, self.turn, self.begun.elapsed());
        self.lines = text.lines().count();
        // Whoever can't be shown anything misses only this.
        write!(std::io::stderr(), "{text}").ok();
    }

    fn wipe(&mut self) {
        if self.lines > 0 {
            write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.lines).ok();
            self.lines = 0;
        }
    }
}
