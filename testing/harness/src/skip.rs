//! Records what could not be tested.

use std::fs::OpenOptions;
use std::io::Write;

/// Records that a test can't run on this machine, and why. `cargo xtask test` passes a file for
/// these records, and prints them at the end.
pub fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED: {what}: {why}");
    if let Some(file) = std::env::var_os("KENNEL_TEST_SKIPS") {
        let noted = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .and_then(|mut file| file.write_all(format!("{what}: {why}\n").as_bytes()));
        noted.expect("the file for skipped tests can be written");
    }
}
