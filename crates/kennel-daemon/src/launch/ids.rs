//! The one place that makes ids of sessions and plans, and tokens of launches.

use kennel_types::{IdMaker, LaunchToken, SessionId};

use crate::error::ApiError;
use crate::os::clock;

/// Makes ids that sort by time and never repeat.
#[derive(Debug, Default)]
pub(crate) struct LaunchIds(IdMaker);

impl LaunchIds {
    /// Ids made from now on sort after this one.
    pub(crate) fn after(&mut self, id: &SessionId) {
        self.0.after(id);
    }

    pub(crate) fn session(&mut self) -> Result<SessionId, ApiError> {
        Ok(self.0.next(clock::now_ms(), u32::from_le_bytes(random()?)))
    }

    pub(crate) fn token() -> Result<LaunchToken, ApiError> {
        Ok(LaunchToken::new(u128::from_le_bytes(random()?)))
    }

    /// Returns random bits that spread retries over time; 0 if there are none.
    pub(crate) fn jitter() -> u16 {
        random().map_or(0, u16::from_le_bytes)
    }
}

fn random<const N: usize>() -> Result<[u8; N], ApiError> {
    let failed = |error| ApiError::internal(format!("can't get random bytes: {error}"));
    let (mut bytes, mut filled) = ([0; N], 0);
    while filled < N {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags).map_err(failed)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_tokens_differ() {
        let mut ids = LaunchIds::default();
        let first = ids.session().unwrap();
        let second = ids.session().unwrap();
        assert!(first < second);
        assert_ne!(LaunchIds::token().unwrap().secret(), LaunchIds::token().unwrap().secret());
    }
}
