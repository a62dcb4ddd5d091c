//! The command queue of the writing thread.
//!
//! A sender wakes the thread only if the command is urgent: most writes can wait for the end of the
//! current batch delay, and waking the thread costs more than the write itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender, TryRecvError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::batch::WriteUrgency;
use crate::writer::WriterCommand;

#[derive(Debug)]
pub(crate) struct CommandSender {
    /// `None` only while the sender is dropped.
    commands: Option<Sender<WriterCommand>>,
    thread: Thread,
    batching: Arc<AtomicBool>,
}

impl CommandSender {
    /// Queues a command, and wakes the thread unless the command can wait for the batch delay.
    pub(crate) fn send(&self, command: WriterCommand) -> Result<(), SendError<WriterCommand>> {
        let urgent = command.urgency() > WriteUrgency::Soon;
        match &self.commands {
            Some(commands) => commands.send(command)?,
            None => return Err(SendError(command)),
        }
        if urgent || !self.batching.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Ok(())
    }
}

impl Drop for CommandSender {
    fn drop(&mut self) {
        // Disconnect first, so that the thread sees it when it wakes.
        self.commands = None;
        self.thread.unpark();
    }
}

#[derive(Debug)]
pub(crate) struct CommandReceiver {
    commands: Receiver<WriterCommand>,
    /// Whether the thread waits for the end of a batch delay.
    batching: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(crate) enum NextCommand {
    Command(WriterCommand),
    /// No command arrived in time.
    Timeout,
    /// The queue is empty, and every sender is gone.
    Closed,
}

/// Creates a queue. The sender is created once the thread that it wakes is known.
pub(crate) fn queue() -> (impl FnOnce(Thread) -> CommandSender, CommandReceiver) {
    let (sender, commands) = mpsc::channel();
    let batching = Arc::new(AtomicBool::new(false));
    let receiver = CommandReceiver { commands, batching: Arc::clone(&batching) };
    (move |thread| CommandSender { commands: Some(sender), thread, batching }, receiver)
}

impl CommandReceiver {
    /// Returns a queued command, without waiting.
    pub(crate) fn try_next(&self) -> NextCommand {
        match self.commands.try_recv() {
            Ok(command) => NextCommand::Command(command),
            Err(TryRecvError::Empty) => NextCommand::Timeout,
            Err(TryRecvError::Disconnected) => NextCommand::Closed,
        }
    }

    /// Waits for the next command, at most `timeout`.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> NextCommand {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            match (self.try_next(), deadline) {
                (NextCommand::Timeout, None) => thread::park(),
                (NextCommand::Timeout, Some(deadline)) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return NextCommand::Timeout;
                    }
                    thread::park_timeout(left);
                }
                (next, _) => return next,
            }
        }
    }

    /// Waits until `deadline`; commands that are not urgent don't wake the thread before.
    pub(crate) fn wait_for_batch(&self, deadline: Instant) -> NextCommand {
        self.batching.store(true, Ordering::SeqCst);
        let next = self.wait(Some(deadline.saturating_duration_since(Instant::now())));
        self.batching.store(false, Ordering::SeqCst);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::WriteRequest;
    use crate::record::NewEvent;

    fn event() -> WriterCommand {
        let (kind, cause) = ("test".to_owned(), String::new());
        let event = NewEvent { time_ms: 0, session: None, kind, cause, by: None };
        WriterCommand::Write(WriteRequest::event(event))
    }

    #[test]
    fn dropping_the_last_sender_ends_a_wait() {
        let (sender, receiver) = queue();
        let waiting = thread::spawn(move || matches!(receiver.wait(None), NextCommand::Closed));
        drop(sender(waiting.thread().clone()));
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_command_ends_a_wait_and_a_batch_delay_delivers_what_arrived() {
        let (sender, receiver) = queue();
        let (results, seen) = mpsc::channel();
        let waiting = thread::spawn(move || {
            let is_command = |next| matches!(next, NextCommand::Command(_));
            results.send(is_command(receiver.wait(None))).unwrap();
            let deadline = Instant::now() + Duration::from_millis(50);
            let first = is_command(receiver.wait_for_batch(deadline));
            results.send(first || is_command(receiver.try_next())).unwrap();
            let close = receiver.wait(None);
            results.send(matches!(close, NextCommand::Command(WriterCommand::Close))).unwrap();
        });
        let sender = sender(waiting.thread().clone());
        for command in [event(), event(), WriterCommand::Close] {
            sender.send(command).unwrap();
            assert!(seen.recv().unwrap());
        }
        waiting.join().unwrap();
    }
}
