//! What is typed, on its way to the agent: never more at once than its keeper takes.

use std::collections::VecDeque;

use crate::protocol::{KeeperRequest, LONGEST_INPUT};

/// The most that is on its way, without a word from the keeper that it went on to the agent.
const WINDOW: usize = 4 * LONGEST_INPUT;
/// When this much waits, no more is read.
const ENOUGH: usize = 64 * 1024;

/// The queue.
#[derive(Debug, Default)]
pub struct TypedInput {
    waiting: VecDeque<u8>,
    on_its_way: usize,
    /// Nothing more comes.
    ended: bool,
    /// And the keeper was told.
    told: bool,
}

impl TypedInput {
    /// Whether more should be read.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        !self.ended && self.waiting.len() < ENOUGH
    }

    /// More was typed.
    pub fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// That was all; with `tell` the agent shall know.
    pub fn end(&mut self, tell: bool) {
        self.ended = true;
        self.told |= !tell;
    }

    /// So much went on to the agent; maybe that of somebody else who types.
    pub fn taken(&mut self, bytes: u32) {
        self.on_its_way = self.on_its_way.saturating_sub(bytes as usize);
    }

    /// Nothing that was sent was taken, and what waits is not wanted either.
    pub fn refused(&mut self) {
        self.on_its_way = 0;
        self.waiting.clear();
    }

    /// The next request to the keeper, if one may be sent now.
    #[must_use]
    pub fn next(&self) -> Option<KeeperRequest> {
        let room = WINDOW.saturating_sub(self.on_its_way).min(LONGEST_INPUT);
        if self.waiting.is_empty() {
            return (self.ended && !self.told).then_some(KeeperRequest::CloseInput);
        }
        (room > 0).then(|| KeeperRequest::Input(self.waiting.iter().copied().take(room).collect()))
    }

    /// It was sent.
    pub fn sent(&mut self, request: &KeeperRequest) {
        match request {
            KeeperRequest::Input(bytes) => {
                self.waiting.drain(..bytes.len());
                self.on_its_way += bytes.len();
            }
            _ => self.told = true,
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
    fn no_more_is_on_its_way_than_the_keeper_takes() {
        let mut input = TypedInput::default();
        input.add(&[b'x'; WINDOW + 100]);
        assert_eq!(send_all(&mut input).len(), 4);
        assert!(input.wants_more());
        input.taken(60);
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(vec![b'x'; 60])]);
        input.taken(u32::try_from(WINDOW).unwrap());
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(vec![b'x'; 40])]);
        input.add(&[b'x'; ENOUGH]);
        assert!(!input.wants_more());
    }

    #[test]
    fn the_end_comes_last_and_once() {
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
    fn what_is_refused_is_not_sent_again() {
        let mut input = TypedInput::default();
        input.add(&[b'x'; 3 * WINDOW]);
        send_all(&mut input);
        input.refused();
        assert_eq!(input.next(), None);
        input.add(b"y");
        assert_eq!(send_all(&mut input), [KeeperRequest::Input(b"y".to_vec())]);
    }
}
