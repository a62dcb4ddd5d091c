//! Named points at which a test stops or kills this process.
//!
//! With the feature `faults`, a process that comes to a point whose name is in the folder named by `KENNEL_FAULTS`
//! stands still there, and while there is a file `call.NAME`, its calls of that name fail with the errno in it (see
//! [`kennel_sys::fault`]; a `/` in the name is `_` there). Without the feature a point is nothing. In the same way a
//! test moves clocks forward, since nobody waits an hour to see what an hour does.

/// A point on the way. See the module.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

/// How far a test has moved the clocks forward. See the module.
#[cfg(not(feature = "faults"))]
#[inline(always)]
#[must_use]
pub fn leap() -> std::time::Duration {
    std::time::Duration::ZERO
}

#[cfg(feature = "faults")]
pub use armed::{leap, point};

#[cfg(feature = "faults")]
mod armed {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// The folder by which a test talks to us: `NAME` there means that we announce ourselves by making
    /// `NAME.reached` with our pid in it, and stand still until `NAME` is gone.
    fn folder() -> Option<&'static PathBuf> {
        static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
        let find = || {
            let folder = std::env::var_os("KENNEL_FAULTS").map(PathBuf::from)?;
            kennel_sys::fault::ask(failing);
            Some(folder)
        };
        FOLDER.get_or_init(find).as_ref()
    }

    /// The errno with which a call is to fail, if it is.
    fn failing(call: &'static str) -> Option<i32> {
        let wish = folder()?.join(format!("call.{}", call.replace('/', "_")));
        fs::read_to_string(wish).ok()?.trim().parse().ok()
    }

    /// A point on the way.
    pub fn point(name: &'static str) {
        let Some(folder) = folder() else { return };
        let wish = folder.join(name);
        if !wish.exists() {
            return;
        }
        let reached = folder.join(format!("{name}.reached"));
        fs::write(&reached, std::process::id().to_string()).ok();
        while wish.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// How many seconds the file `clock` in that folder names; none without one.
    #[must_use]
    pub fn leap() -> Duration {
        let text = folder().and_then(|folder| fs::read_to_string(folder.join("clock")).ok());
        let seconds = text.and_then(|text| text.trim().parse().ok());
        Duration::from_secs(seconds.unwrap_or(0))
    }
}
