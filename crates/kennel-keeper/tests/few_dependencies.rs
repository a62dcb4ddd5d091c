//! There is one keeper for each session, so its dependencies stay few.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates in every keeper. A further one needs a good reason.
const ALLOWED: &[&str] = &[
    "kennel-keeper",
    "kennel-pen",
    "kennel-sys",
    "kennel-types",
    "bitflags",
    "libc",
    "linux-raw-sys",
    "rustix",
    // The messages between processes.
    "cobs",
    "postcard",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_ignored",
    // Used by kennel-types for durations, suggestions and names of variants. None has dependencies.
    "humantime",
    "strsim",
    "strum",
    // Used only while building.
    "heck",
    "strum_macros",
    "proc-macro2",
    "quote",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
];

#[test]
fn the_keeper_has_few_dependencies() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "kennel-keeper", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let found: BTreeSet<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(found.contains("rustix"), "unexpected output of cargo tree: {found:?}");
    let more: Vec<_> =
        found.iter().filter(|name| !name.is_empty() && !ALLOWED.contains(name)).collect();
    assert_eq!(more, Vec::<&&str>::new());
}
