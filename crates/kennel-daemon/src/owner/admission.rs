//! Who may start now, who waits in line, who is refused; and whose turn it is.

use std::time::Duration;

use kennel_core::admission::{Admission, Applicant, Caps, decide};
use kennel_core::headroom::{Headroom, check};
use kennel_core::{Event, Keyed, Session};
use kennel_keeper::fault::point;
use kennel_types::SessionSpec;

use super::Owner;
use crate::clock;
use crate::message::Message;
use crate::order::NewLaunch;
use crate::refused::Refused;

/// How often it is looked at a line that only the machine holds up.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where a launch that may come to be begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Room {
    /// At once.
    Now,
    /// In line.
    InLine,
}

impl Owner {
    /// What the key of a request stands for.
    pub(super) fn keyed(&self, spec: &SessionSpec) -> Keyed {
        let now = clock::now_ms();
        let ended_ago = |session: &Session| self.ended_ago(session, now);
        match self.world.by_key(spec, self.terms.key_retention, ended_ago) {
            // Who asks again may do so from the foreground, or the other way round: it is the same work.
            Keyed::Different { by, fields } if fields == ["tethered"] => Keyed::Same(by),
            keyed => keyed,
        }
    }

    /// Whether a session that is over is still the answer to its key.
    pub(super) fn holds_key(&self, session: &Session) -> bool {
        let ended_ago = || self.ended_ago(session, clock::now_ms());
        session.spec.key.is_some() && ended_ago().is_some_and(|ago| ago < self.terms.key_retention)
    }

    fn ended_ago(&self, session: &Session, now_ms: u64) -> Option<Duration> {
        let ended = self.runtimes.get(&session.id)?.times.ended_ms?;
        Some(Duration::from_millis(now_ms.saturating_sub(ended)))
    }

    /// As many sessions live as there are descriptors for.
    pub(super) fn out_of_descriptors(&self) -> Refused {
        let are = if self.live == 1 { "session is" } else { "sessions are" };
        Refused::busy(format!(
            "{} {are} live, and there are descriptors for {}",
            self.live, self.live_most
        ))
        .hint("stop some, or allow the daemon more descriptors (ulimit -n)")
    }

    /// Whether there is room for a launch. Nothing was made so far, so that a refusal leaves nothing behind.
    pub(super) fn room_for(&mut self, launch: &NewLaunch) -> Result<Room, Refused> {
        // Who is refused for this need not wait for the rest; a further attempt has its member already.
        let busy = launch.spec.agent.as_deref().and_then(|agent| self.busy(agent));
        match self.room_for_again(launch)? {
            room if busy.is_none() => Ok(room),
            _ if launch.queue => Ok(Room::InLine),
            _ => Err(busy.unwrap_or_else(Refused::leaving)),
        }
    }

    /// The same for a further launch by itself.
    pub(super) fn room_for_again(&mut self, launch: &NewLaunch) -> Result<Room, Refused> {
        if self.leaving.is_some() {
            return Err(Refused::leaving());
        }
        if self.yard_sender.is_none() {
            return Err(Refused::busy("the yard is gone, a new one is on its way"));
        }
        if self.live >= self.live_most {
            return Err(self.out_of_descriptors());
        }
        self.check_headroom(launch.spec.terminal.is_some())?;
        if self.terms.caps == Caps::default() {
            return Ok(Room::Now);
        }
        let census = self.world.census(&self.terms.caps);
        let applicant = Applicant { name: launch.spec.name.as_deref(), may_queue: launch.queue };
        match decide(&self.terms.caps, &census, applicant) {
            Admission::Admit => Ok(Room::Now),
            Admission::Queue { .. } => Ok(Room::InLine),
            Admission::Refuse(over) => Err(Refused::busy(over)
                .hint("stop some, wait in line with --queue, or raise the limit in kennel.toml")),
        }
    }

    pub(super) fn check_headroom(&mut self, wants_terminal: bool) -> Result<(), Refused> {
        let measured = self.gauge.measured();
        match check(&measured, &self.terms.minima, wants_terminal) {
            Headroom::Fine => Ok(()),
            Headroom::Short(shortages) => Err(Refused::busy(shortages)
                .hint("what runs goes on; stop some sessions, or make room on the machine")),
        }
    }

    // The line.

    /// Somebody has ended or started: whoever waits may have their turn.
    pub(super) fn line_may_move(&mut self) {
        if self.queued > 0 && !std::mem::replace(&mut self.line_told, true) {
            self.tell_self(Message::LineMoved);
        }
    }

    /// Calls up those whose turn it is.
    pub(super) fn line_moved(&mut self) {
        self.line_told = false;
        // The next daemon has the line too.
        if self.queued == 0 || self.leaving.is_some() || self.yard_sender.is_none() {
            return;
        }
        for id in self.world.next_in_line(&self.terms.caps) {
            let Some(session) = self.world.get(&id) else { continue };
            if self.is_awaited(session) {
                continue; // it keeps its place
            }
            let wants_terminal = session.spec.terminal.is_some();
            if self.check_headroom(wants_terminal).is_err() {
                return self.watch_line();
            }
            point("daemon.line.turn_came");
            match self.resettle_prompt(&id) {
                Ok(()) => self.happen(&id, &Event::TurnCame),
                Err(refused) => self.turn_down(&id, &refused),
            }
        }
    }

    /// Nobody tells when the machine has room again.
    fn watch_line(&mut self) {
        if std::mem::replace(&mut self.line_watched, true) {
            return;
        }
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LOOK_AGAIN).await;
            bus.send(Message::LineWatched).ok();
        });
    }

    pub(super) fn line_watched(&mut self) {
        self.line_watched = false;
        self.line_moved();
    }
}

/// How a request differs from the session that has its key.
pub(super) fn different(by: &kennel_types::SessionId, fields: &[&str]) -> Refused {
    let words: Vec<_> = fields.iter().map(|field| word_for(field)).collect();
    let message = format!(
        "session {by} has this key, and was asked for in another way: {} differ{}",
        words.join(", "),
        if fields.len() == 1 { "s" } else { "" }
    );
    Refused::conflict(message).hint("another request needs another key")
}

/// A field of a request, for people.
fn word_for(field: &str) -> String {
    match field {
        "argv" => "the command".to_owned(),
        "cwd" => "the folder".to_owned(),
        "stdin" => "standard input (-i)".to_owned(),
        "terminal" => "the terminal (-t)".to_owned(),
        "tethered" => "being left to itself (-d)".to_owned(),
        "outlives_parent" => "--stay".to_owned(),
        "parent" => "the session that asks".to_owned(),
        flag => format!("--{}", flag.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_in_words_of_the_command_line() {
        let id = kennel_types::SessionId::parse("0c3k5d9wq2fa").unwrap();
        let told = |fields: &[&str]| different(&id, fields).problem().detail;
        assert!(told(&["argv"]).ends_with(": the command differs"));
        assert!(told(&["cwd", "output_limit"]).ends_with(": the folder, --output-limit differ"));
    }
}
