//! A signal to `kennel run` stops the session; the exit code is the agent's own.

use std::time::{Duration, Instant};

use kennel_testing::{Pen, Scene, Who, alive, eventually, everywhere, signal};

everywhere! {
    fn the_exit_code_is_the_agents_own(scene: Scene) {
        for code in [0, 1, 7, 42, 127, 200] {
            let ended = scene.run(&[], &["exit", &code.to_string()]);
            assert_eq!((ended.code, ended.stderr.as_str()), (code, ""));
        }
        scene.assert_nothing_left();
    }

    fn an_agent_ended_by_a_signal_gives_128_plus_its_number(scene: Scene) {
        for number in [1, 6, 9, 11, 15] {
            assert_eq!(scene.run(&[], &["signal", &number.to_string()]).code, 128 + number);
        }
        scene.assert_nothing_left();
    }

    fn int_term_hup_and_quit_each_stop_the_session(scene: Scene) {
        for name in ["INT", "TERM", "HUP", "QUIT"] {
            let mut running = scene.start(&[], &["setsid", "1"]);
            running.wait_ready().signal(name);
            assert_eq!(running.wait().code, 143, "{name}: the tree gets TERM");
            scene.assert_nothing_left();
        }
    }

    fn a_second_int_kills_at_once(scene: Scene) {
        let mut running = scene.start(&["--grace", "1h"], &["ignore-term", "2"]);
        running.wait_ready().signal("INT");
        // The first signal has arrived once the fake agent has caught TERM; it survives TERM.
        let before = Instant::now();
        running.signal("INT");
        // Two signals can merge into one, so send again until Kennel reacts.
        eventually("it ends", || running.has_ended() || { running.signal("INT"); false });
        assert_eq!(running.wait().code, 137);
        assert!(before.elapsed() < Duration::from_secs(600));
        scene.assert_nothing_left();
    }

    /// B1, B2 for foreground runs: a stop at any moment of the launch, several times.
    fn a_stop_at_any_moment_of_the_launch_leaves_nothing(scene: Scene) {
        for delay in 0..25 {
            let running = scene.start(&["--grace", "100ms"], &["env-i"]);
            let until = Instant::now() + Duration::from_micros(delay * 400);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            signal(running.pid(), if delay % 2 == 0 { "TERM" } else { "INT" });
            let ended = running.wait();
            // Before Kennel handles signals, one ends it; later it refuses to launch; then it stops
            // the session.
            assert!([-15, -2, 130, 143, 137].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
            scene.assert_nothing_left_soon();
        }
    }
}

/// A job-control stop without a terminal suspends the agent with `kennel run`, and continues it
/// too.
#[test]
fn a_suspended_run_suspends_its_agent_and_continues_it() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else {
        return;
    };
    let mut running = scene.start(&[], &["setsid", "1"]);
    running.wait_ready().signal("TSTP");
    let state = |pid| kennel_testing::Process::look(pid).map(|process| process.state);
    let (agent, leaf) = (scene.pid_of("agent"), scene.pid_of("leaf"));
    eventually("all are suspended", || {
        [running.pid(), agent, leaf].into_iter().all(|pid| state(pid) == Some('T'))
    });
    running.signal("CONT");
    eventually("all are continued", || {
        [running.pid(), agent, leaf].into_iter().all(|pid| state(pid) == Some('S'))
    });
    assert!(alive(agent));
    running.signal("TERM");
    assert_eq!(running.wait().code, 143);
    scene.assert_nothing_left();
}

/// Under `nohup`, HUP does not stop the session.
#[test]
fn an_ignored_hup_stays_ignored() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else {
        return;
    };
    let mut command = scene.command(std::path::Path::new("nohup"));
    let (kennel, agent) = (scene.path("kennel"), scene.fake_agent());
    command.arg(kennel).args(["run", "--pen", "subtree", "--", &agent, "sleep"]);
    command.env("KENNEL_HOME", scene.path("home/kennel"));
    let mut running = kennel_testing::Running::start(command);
    running.wait_ready().signal("HUP");
    // A later TERM shows that the HUP was handled. The code is 143 in both cases, so look
    // at the agent, which a HUP would have stopped.
    let agent = scene.pid_of("agent");
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        assert!(alive(agent), "the HUP was not ignored");
        std::thread::yield_now();
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, 143);
    scene.assert_nothing_left();
}
