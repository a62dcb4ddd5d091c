//! The queue to the thread that writes. Whoever puts something in wakes the thread only if it must: most of what
//! is written can wait for company, and to be woken for each piece costs more than the piece.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender, TryRecvError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::batch::Urgency;
use crate::writer::Command;

/// The end into which wishes are put.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// There until it is dropped.
    commands: Option<Sender<Command>>,
    thread: Thread,
    patient: Arc<AtomicBool>,
}

impl Inlet {
    /// Puts it in, and wakes the thread unless it sleeps until a time that is soon enough for this.
    pub(crate) fn send(&self, command: Command) -> Result<(), SendError<Command>> {
        let urgent = command.urgency() > Urgency::Soon;
        match &self.commands {
            Some(commands) => commands.send(command)?,
            None => return Err(SendError(command)),
        }
        if urgent || !self.patient.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Ok(())
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        // First the end, then the news of it.
        self.commands = None;
        self.thread.unpark();
    }
}

/// The thread's end.
#[derive(Debug)]
pub(crate) struct Outlet {
    commands: Receiver<Command>,
    patient: Arc<AtomicBool>,
}

/// What came out.
#[derive(Debug)]
pub(crate) enum Next {
    /// A wish.
    Command(Command),
    /// None in that time.
    Nothing,
    /// None, and there will be none.
    Closed,
}

/// A queue whose inlet is made when the thread is known.
pub(crate) fn queue() -> (impl FnOnce(Thread) -> Inlet, Outlet) {
    let (sender, commands) = mpsc::channel();
    let patient = Arc::new(AtomicBool::new(false));
    let outlet = Outlet { commands, patient: Arc::clone(&patient) };
    (move |thread| Inlet { commands: Some(sender), thread, patient }, outlet)
}

impl Outlet {
    /// What lies there.
    pub(crate) fn take(&self) -> Next {
        match self.commands.try_recv() {
            Ok(command) => Next::Command(command),
            Err(TryRecvError::Empty) => Next::Nothing,
            Err(TryRecvError::Disconnected) => Next::Closed,
        }
    }

    /// Waits for the next, for so long or for ever.
    pub(crate) fn wait(&self, patience: Option<Duration>) -> Next {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            match (self.take(), deadline) {
                (Next::Nothing, None) => thread::park(),
                (Next::Nothing, Some(deadline)) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Next::Nothing;
                    }
                    thread::park_timeout(left);
                }
                (next, _) => return next,
            }
        }
    }

    /// As [`Self::wait`], by one who need not be woken for what can wait until then.
    pub(crate) fn wait_patiently(&self, until: Instant) -> Next {
        self.patient.store(true, Ordering::SeqCst);
        let next = self.wait(Some(until.saturating_duration_since(Instant::now())));
        self.patient.store(false, Ordering::SeqCst);
        next
    }

    /// All that is left when nobody writes any more.
    pub(crate) fn drain(&self) -> impl Iterator<Item = Command> {
        self.commands.try_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Item;
    use crate::entry::NewEvent;

    fn event() -> Command {
        let kind = "test".to_owned();
        let cause = String::new();
        Command::Write(Item::event(NewEvent { time_ms: 0, session: None, kind, cause, by: None }))
    }

    #[test]
    fn the_end_of_all_inlets_ends_the_wait() {
        let (inlet, outlet) = queue();
        let waiting = thread::spawn(move || matches!(outlet.wait(None), Next::Closed));
        drop(inlet(waiting.thread().clone()));
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_wish_ends_a_wait_and_what_can_wait_is_there_when_patience_is_over() {
        let (inlet, outlet) = queue();
        let (told, heard) = mpsc::channel();
        let waiting = thread::spawn(move || {
            told.send(matches!(outlet.wait(None), Next::Command(_))).unwrap();
            let until = Instant::now() + Duration::from_millis(50);
            let first = matches!(outlet.wait_patiently(until), Next::Command(_));
            told.send(first || matches!(outlet.take(), Next::Command(_))).unwrap();
            told.send(matches!(outlet.wait(None), Next::Command(Command::Close))).unwrap();
        });
        let inlet = inlet(waiting.thread().clone());
        inlet.send(event()).unwrap();
        assert!(heard.recv().unwrap());
        inlet.send(event()).unwrap();
        assert!(heard.recv().unwrap());
        inlet.send(Command::Close).unwrap();
        assert!(heard.recv().unwrap());
        waiting.join().unwrap();
    }
}
