//! Input on its way to the agent: never more at once than the keeper accepts.

use std::collections::VecDeque;

use crate::protocol::{KeeperRequest, LONGEST_INPUT};

/// The maximum number of bytes that the keeper has not yet passed on to the agent.
const WINDOW: usize = 4 * LONGEST_INPUT;
/// When this many bytes are queued, no more are read.
const MAX_QUEUED: usize = 64 * 1024;

/// The queue of input.
#[derive(Debug, Default)]
pub struct TypedInput {
    queue: VecDeque<u8>,
    /// The number of bytes that were sent and not yet passed on to the agent.
    in_flight: usize,
    ended: bool,
    /// Whether the end was sent to the keeper, or need not be sent.
    end_sent: bool,
}

impl TypedInput {
    /// Returns whether more should be read.
    pub fn wants_more(&self) -> bool {
        !self.ended && self.queue.len() < MAX_QUEUED
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
    }

    /// Ends the input. With `close` the agent's standard input is closed.
    pub fn end(&mut self, close: bool) {
        self.ended = true;
        self.end_sent |= !close;
    }

    /// Notes that the keeper passed this many bytes on to the agent, possibly from another client.
    pub fn taken(&mut self, bytes: u32) {
        self.in_flight = self.in_flight.saturating_sub(bytes as usize);
    }

    /// Notes that the keeper refused input. What is queued is dropped too.
    pub fn refused(&mut self) {
        self.in_flight = 0;
        self.queue.clear();
    }

    /// Returns the next request to the keeper, if one may be sent now.
    pub fn next(&self) -> Option<KeeperRequest> {
        let room = WINDOW.saturating_sub(self.in_flight).min(LONGEST_INPUT);
        if self.queue.is_empty() {
            return (self.ended && !self.end_sent).then_some(KeeperRequest::CloseInput);
        }
        (room > 0).then(|| KeeperRequest::Input(self.queue.iter().copied().take(room).collect()))
    }

    /// Notes that a request was sent.
    pub fn sent(&mut self, request: &KeeperRequest) {
        match request {
            KeeperRequest::Input(bytes) => {
                self.queue.drain(..bytes.len());
                self.in_flight += bytes.len();
            }
            _ => self.end_sent = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_all(input: &mut TypedInput) -> Vec<KeeperRequest> {
        let mut sent = Vec::new();
        while let Some(request) = input.next() {
            input.sent(&request);
            sent.push(request);
        }
        sent
    }

    #[test]
    fn no_more_is_in_flight_than_the_keeper_accepts() {
        let mut input = TypedInput::default();
        input.add(&[b'x'; WINDOW + 100]);
        assert_eq!(send_all(&mut input).len(), 4);
        assert!(input.wants_more());
        input.taken(60);
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(vec![b'x'; 60])]);
        input.taken(u32::try_from(WINDOW).unwrap());
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(vec![b'x'; 40])]);
        input.add(&[b'x'; MAX_QUEUED]);
        assert!(!input.wants_more());
    }

    #[test]
    fn the_end_is_sent_last_and_once() {
        let mut input = TypedInput::default();
        input.add(b"ab");
        input.end(true);
        assert_eq!(
            send_all(&mut input),
            [KeeperRequest::Input(b"ab".to_vec()), KeeperRequest::CloseInput]
        );
        assert_eq!(input.next(), None);
        let mut silent = TypedInput::default();
        silent.end(false);
        assert_eq!(silent.next(), None);
    }

    #[test]
    fn refused_input_is_not_sent_again() {
        let mut input = TypedInput::default();
        input.add(&[b'x'; 3 * WINDOW]);
        send_all(&mut input);
        input.refused();
        assert_eq!(input.next(), None);
        input.add(b"y");
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(b"y".to_vec())]);
    }
}
