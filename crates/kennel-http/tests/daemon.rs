//! Tests a daemon with a real yard and real keepers, as a client on its Unix socket.
//!
//! This program is the test, the yard and the daemon: the test starts this program as the yard, which starts it as the
//! daemon. Every test has its own home, and runs with each kind of pen.

#[path = "daemon/cases.rs"]
mod cases;
#[path = "daemon/client.rs"]
mod client;
#[path = "daemon/test_home.rs"]
mod test_home;

use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use cases::TEST_CASES;
use kennel_types::PenKind;
use test_home::TestHome;

fn main() -> ExitCode {
    match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some("kennel-yard") => test_home::run_yard(),
        Some("kennel-daemon") => test_home::run_daemon(),
        _ => run_all(),
    }
}

fn run_all() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let only = args.iter().find(|arg| !arg.starts_with('-'));
    let exact = args.iter().any(|arg| arg == "--exact");
    let (list, ignored) =
        (args.iter().any(|arg| arg == "--list"), args.iter().any(|arg| arg == "--ignored"));
    let mut failed = 0;
    for (kind, pen) in [("auto", PenKind::Auto), ("subtree", PenKind::Subtree)] {
        for (case, run) in TEST_CASES {
            let name = format!("{case}::{kind}");
            if list {
                if !ignored {
                    println!("{name}: test");
                }
                continue;
            }
            let wanted = |only: &String| if exact { name == *only } else { name.contains(only) };
            if only.is_some_and(|only| !wanted(only)) {
                continue;
            }
            let home = TestHome::open(pen);
            let passed = catch_unwind(AssertUnwindSafe(|| run(&home))).is_ok();
            if !passed {
                home.show_log();
            }
            drop(home);
            println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
            failed += u32::from(!passed);
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
