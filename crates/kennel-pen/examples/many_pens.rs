//! Runs several commands at once, each in a pen of its own with a small helper process, and ends
//! what they leave behind.
//!
//! ```text
//! cargo run -p kennel-pen --example many_pens
//! ```

use std::time::{Duration, Instant};

use kennel_pen::supervisor::{PenLaunch, SupervisorProgram, run_if_supervisor};
use kennel_pen::{Command, HomeId, PenName};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run_if_supervisor(); // must come first: the helper processes are this same program
    let soon = || Instant::now() + Duration::from_secs(10);
    let home = HomeId::random()?;
    let program = SupervisorProgram::this_one();

    let mut pens = Vec::new();
    for code in 1..=3 {
        let mut command = Command::new("/bin/sh");
        // Each command leaves a background process behind.
        command.args(["-c", &format!("sleep 1000 & exit {code}")]);
        let mut launch = PenLaunch::new(PenName::random(home.clone())?, command);
        launch.linger = Duration::from_millis(100);
        let gated = program.launch(launch, soon())?;
        println!("{} is the agent of {}", gated.identity(), gated.name());
        pens.push(gated.open(soon())?);
    }
    for mut pen in pens {
        let end = pen.wait_gone(soon())?.ok_or("the pen did not become empty in time")?;
        println!("{}: {:?}, {:?} of CPU time", pen.name(), end.status, end.cpu);
    }
    Ok(())
}
