//! Control-C is a key for the agent. One who presses it again and again wants out.

use std::time::{Duration, Instant};

/// From this press on within [`WINDOW`], each is an INT to Kennel too.
const PRESSES: usize = 3;
const WINDOW: Duration = Duration::from_secs(2);

/// Control-C as a plain terminal sends it, and as one with the kitty keyboard protocol does.
const KEYS: [&[u8]; 2] = [b"\x03", b"\x1b[99;5u"];

/// Counts presses of Control-C.
#[derive(Debug, Default)]
pub(crate) struct RepeatedInterrupt {
    presses: Vec<Instant>,
}

impl RepeatedInterrupt {
    /// Looks at what was typed at once; says whether it means that the user wants out. Text that merely
    /// has such a character in it (a paste) means nothing. Once a stop is under way, each press does.
    pub(crate) fn wants_out(&mut self, typed: &[u8], now: Instant, stopping: bool) -> bool {
        let Some(presses) = KEYS.iter().find_map(|key| repetitions(typed, key)) else {
            return false;
        };
        self.presses.retain(|press| now.saturating_duration_since(*press) < WINDOW);
        self.presses.extend(std::iter::repeat_n(now, presses));
        stopping || self.presses.len() >= PRESSES
    }
}

/// How often `typed` is `key`, if it is nothing else.
fn repetitions(typed: &[u8], key: &[u8]) -> Option<usize> {
    let all = !typed.is_empty() && typed.len().is_multiple_of(key.len());
    (all && typed.chunks(key.len()).all(|chunk| chunk == key)).then(|| typed.len() / key.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_press_in_a_row_wants_out_and_so_does_each_after_it() {
        let (mut user, start) = (RepeatedInterrupt::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let seen = [0, 300, 600, 900].map(|ms| user.wants_out(b"\x03", at(ms), false));
        assert_eq!(seen, [false, false, true, true]);
        assert!(!user.wants_out(b"\x03", at(60_000), false), "that was long ago");
        assert!(RepeatedInterrupt::default().wants_out(b"\x03\x03\x03", start, false));
        assert!(RepeatedInterrupt::default().wants_out(
            b"\x1b[99;5u\x1b[99;5u\x1b[99;5u",
            start,
            false
        ));
    }

    #[test]
    fn while_a_stop_is_under_way_each_press_counts() {
        let (mut user, start) = (RepeatedInterrupt::default(), Instant::now());
        assert!(user.wants_out(b"\x03", start, true));
        assert!(user.wants_out(b"\x03", start + Duration::from_secs(60), true));
    }

    #[test]
    fn other_keys_and_pasted_text_mean_nothing() {
        let (mut user, now) = (RepeatedInterrupt::default(), Instant::now());
        for typed in [&b"a\x03\x03\x03"[..], b"", b"\x03a", b"\x1b[99;5"] {
            for stopping in [false, false, false, true] {
                assert!(!user.wants_out(typed, now, stopping), "{typed:?}");
            }
        }
    }
}
