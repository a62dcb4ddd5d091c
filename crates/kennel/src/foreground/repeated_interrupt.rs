//! Detects repeated Ctrl-C. The agent receives the key, but repeated presses mean that the user
//! wants to stop the session.

use std::time::{Duration, Instant};

/// From this press within [`WINDOW`] on, each one is also an INT for Kennel.
const PRESSES: usize = 3;
const WINDOW: Duration = Duration::from_secs(2);

/// Ctrl-C as sent by a plain terminal, and with the kitty keyboard protocol.
const KEYS: [&[u8]; 2] = [b"\x03", b"\x1b[99;5u"];

#[derive(Debug, Default)]
pub(crate) struct RepeatedInterrupt {
    presses: Vec<Instant>,
}

impl RepeatedInterrupt {
    /// Returns whether this input means that the user wants to stop. Pasted text that contains the
    /// character doesn't count. During a stop, every press counts.
    pub(crate) fn wants_stop(&mut self, typed: &[u8], now: Instant, stopping: bool) -> bool {
        let Some(presses) = KEYS.iter().find_map(|key| repetitions(typed, key)) else {
            return false;
        };
        self.presses.retain(|press| now.saturating_duration_since(*press) < WINDOW);
        self.presses.extend(std::iter::repeat_n(now, presses));
        stopping || self.presses.len() >= PRESSES
    }
}

/// Returns how many times `typed` repeats `key`, if it contains nothing else.
fn repetitions(typed: &[u8], key: &[u8]) -> Option<usize> {
    let all = !typed.is_empty() && typed.len().is_multiple_of(key.len());
    (all && typed.chunks(key.len()).all(|chunk| chunk == key)).then(|| typed.len() / key.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_press_and_each_after_it_count() {
        let (mut user, start) = (RepeatedInterrupt::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let seen = [0, 300, 600, 900].map(|ms| user.wants_stop(b"\x03", at(ms), false));
        assert_eq!(seen, [false, false, true, true]);
        assert!(!user.wants_stop(b"\x03", at(60_000), false), "that was long ago");
        assert!(RepeatedInterrupt::default().wants_stop(b"\x03\x03\x03", start, false));
        assert!(RepeatedInterrupt::default().wants_stop(
            b"\x1b[99;5u\x1b[99;5u\x1b[99;5u",
            start,
            false
        ));
    }

    #[test]
    fn during_a_stop_every_press_counts() {
        let (mut user, start) = (RepeatedInterrupt::default(), Instant::now());
        assert!(user.wants_stop(b"\x03", start, true));
        assert!(user.wants_stop(b"\x03", start + Duration::from_secs(60), true));
    }

    #[test]
    fn ignores_other_keys_and_pasted_text() {
        let (mut user, now) = (RepeatedInterrupt::default(), Instant::now());
        for typed in [&b"a\x03\x03\x03"[..], b"", b"\x03a", b"\x1b[99;5"] {
            for stopping in [false, false, false, true] {
                assert!(!user.wants_stop(typed, now, stopping), "{typed:?}");
            }
        }
    }
}
