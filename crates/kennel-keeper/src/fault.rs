//! Named points at which a test stops or kills this process.
//!
//! With the feature `faults`, a process stops at a point whose name is a file in the folder
//! `KENNEL_FAULTS`. As long as there is a file `call.NAME`, its calls of that name fail with the
//! errno in it (see [`kennel_sys::fault`]; a `/` in the name becomes `_`). A file `clock` moves
//! clocks forward, since no test can wait an hour. Without the feature none of this exists.

/// A point at which a test may stop this process.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

/// Returns how far a test has moved the clocks forward.
#[cfg(not(feature = "faults"))]
#[inline(always)]
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

    /// Returns the folder through which a test controls this process.
    fn folder() -> Option<&'static PathBuf> {
        static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
        let find = || {
            let folder = std::env::var_os("KENNEL_FAULTS").map(PathBuf::from)?;
            kennel_sys::fault::ask(failing);
            Some(folder)
        };
        FOLDER.get_or_init(find).as_ref()
    }

    /// Returns the errno with which this call must fail, if a test requests that.
    fn failing(call: &'static str) -> Option<i32> {
        let file = folder()?.join(format!("call.{}", call.replace('/', "_")));
        fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// Stops as long as there is a file of this name. `NAME.reached` then contains the pid.
    pub fn point(name: &'static str) {
        let Some(folder) = folder() else { return };
        let file = folder.join(name);
        if !file.exists() {
            return;
        }
        let reached = folder.join(format!("{name}.reached"));
        fs::write(&reached, std::process::id().to_string()).ok();
        while file.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the number of seconds in the file `clock`, if there is one.
    pub fn leap() -> Duration {
        let text = folder().and_then(|folder| fs::read_to_string(folder.join("clock")).ok());
        let seconds = text.and_then(|text| text.trim().parse().ok());
        Duration::from_secs(seconds.unwrap_or(0))
    }
}
