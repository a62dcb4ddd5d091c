//! A daemon with a real yard and real keepers, seen from a client at its socket.
//!
//! This program is all of them: started by cargo it is the test, which starts itself as the yard, which starts it as the
//! daemon. Every test has a home of its own, and runs in each kind of pen.

#[path = "daemon/client.rs"]
mod client;
#[path = "daemon/scenes.rs"]
mod scenes;
#[path = "daemon/stage.rs"]
mod stage;

use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use kennel_types::PenKind;
use scenes::SCENES;
use stage::Stage;

fn main() -> ExitCode {
    match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some("kennel-yard") => stage::be_yard(),
        Some("kennel-daemon") => stage::be_daemon(),
        _ => play_all(),
    }
}

fn play_all() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let only = args.iter().find(|arg| !arg.starts_with('-'));
    let exact = args.iter().any(|arg| arg == "--exact");
    let (list, ignored) =
        (args.iter().any(|arg| arg == "--list"), args.iter().any(|arg| arg == "--ignored"));
    let mut failed = 0;
    for (kind, pen) in [("auto", PenKind::Auto), ("subtree", PenKind::Subtree)] {
        for (scene, play) in SCENES {
            let name = format!("{scene}::{kind}");
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
            let stage = Stage::open(pen);
            let passed = catch_unwind(AssertUnwindSafe(|| play(&stage))).is_ok();
            if !passed {
                stage.show_log();
            }
            drop(stage);
            println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
            failed += u32::from(!passed);
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
