//! A client on a terminal gives the agent a terminal.

use std::process::{Child, Stdio};

use kennel_sys::terminal::{self, Pty, Size};
use kennel_testing::{Pen, Scene, Screen, Who, eventually, everywhere};
use rustix::termios::{LocalModes, tcgetattr};

const SIZE: Size = Size { rows: 33, columns: 99 };

/// Runs `kennel run` on a terminal, below a shell. With `stay` the shell waits
/// for a key at the end; if `stay` is `jobs`, it has job control and then continues a stopped job.
fn on_a_terminal(scene: &Scene, behaviour: &[&str], stay: &str) -> (Screen, Child) {
    let Pty { master, slave } = terminal::open(SIZE).expect("a terminal");
    let agent = scene.fake_agent();
    let argv = [&[agent.as_str()], behaviour].concat();
    on_terminal_run(scene, slave, &argv, master, stay)
}

fn on_terminal_run(
    scene: &Scene,
    slave: std::os::fd::OwnedFd,
    argv: &[&str],
    master: std::os::fd::OwnedFd,
    stay: &str,
) -> (Screen, Child) {
    let run = scene.run_command(&["--linger", "100ms"], argv);
    let mut command = std::process::Command::new("setsid");
    // A shell leads the session, as for a person: the end of a leader hangs up its terminal.
    // A key that arrives after the terminal was restored goes to the shell.
    let script = r#"
        trap : INT
        [ "$STAY" != jobs ] || set -m
        "$@"; code=$?
        [ -z "$STAY" ] || read key
        [ "$STAY" != jobs ] || { fg; code=$?; }
        exit $code"#;
    command
        .args(["--ctty", "--wait", "sh", "-c", script, "sh"])
        .arg(run.get_program())
        .args(run.get_args());
    command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(scene.path("work")).env("TERM", "xterm").env("STAY", stay);
    let handle = || Stdio::from(slave.try_clone().expect("a handle"));
    command.stdin(handle()).stdout(handle()).stderr(handle());
    let child = command.spawn().expect("setsid is there");
    (Screen::new(master), child)
}

fn code(mut child: Child) -> i32 {
    let mut status = None;
    eventually("it ends", || {
        status = child.try_wait().expect("our child");
        status.is_some()
    });
    use std::os::unix::process::ExitStatusExt;
    let status = status.expect("it has ended");
    status.code().or(status.signal().map(|signal| -signal)).expect("a code or a signal")
}

fn is_raw(screen: &Screen) -> bool {
    let settings = tcgetattr(screen.terminal()).expect("the settings of our terminal");
    !settings.local_modes.contains(LocalModes::ICANON)
}

everywhere! {
    fn the_agent_gets_a_terminal_of_the_same_size_and_its_changes(scene: Scene) {
        let (mut screen, child) = on_a_terminal(&scene, &["winsize", "1"], "");
        screen.wait_for("33x99");
        let smaller = Size { rows: 20, columns: 70 };
        terminal::resize(screen.terminal(), smaller).expect("resized");
        screen.wait_for("20x70");
        assert_eq!(code(child), 0);
        scene.assert_nothing_left();
    }

    fn keys_reach_the_agent_and_the_terminal_is_restored(scene: Scene) {
        let (mut screen, child) = on_a_terminal(&scene, &["cat-tty-line"], "");
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("hello\r");
        screen.wait_for("got:hello");
        assert_eq!(code(child), 0);
        assert!(!is_raw(&screen), "our terminal is restored");
        scene.assert_nothing_left();
    }

    /// Raw mode is undone even if `kennel run` is killed.
    fn the_terminal_is_restored_when_kennel_run_is_killed(scene: Scene) {
        let (mut screen, child) = on_a_terminal(&scene, &["sleep"], "1");
        screen.wait_for("ready");
        eventually("our terminal is raw", || is_raw(&screen));
        let kennel = scene.processes().into_iter().find(|p| p.command.contains("kennel run"));
        kennel_testing::signal(kennel.expect("kennel run").pid, "KILL");
        eventually("our terminal is restored", || !is_raw(&screen));
        screen.press("\r");
        let _killed = code(child);
        scene.assert_nothing_left_soon();
    }

    /// Control-C is a key for the agent, not a signal to Kennel.
    fn control_c_interrupts_the_agent_through_its_own_terminal(scene: Scene) {
        let (mut screen, child) = on_a_terminal(&scene, &["sleep"], "");
        screen.wait_for("ready");
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("\u{3}");
        assert_eq!(code(child), 130, "INT ended the agent");
        assert!(!is_raw(&screen));
        scene.assert_nothing_left();
    }
}

/// If the agent ignores Control-C, the third press stops it and the next one kills it.
#[test]
fn pressing_control_c_repeatedly_ends_the_agent() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let (mut screen, mut child) = on_a_terminal(&scene, &["ignore-term", "1"], "");
    screen.wait_for("ready");
    eventually("our terminal is raw", || is_raw(&screen));
    eventually("it ends", || {
        let ended = child.try_wait().expect("our child").is_some();
        if !ended {
            screen.press("\u{3}");
        }
        ended
    });
    assert_eq!(code(child), 137);
    scene.assert_nothing_left();
}

/// Standard error that goes to a file stays there.
#[test]
fn a_redirected_standard_error_is_not_the_terminal() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let Pty { master, slave } = terminal::open(SIZE).expect("a terminal");
    let agent = scene.fake_agent();
    let errors = scene.path("work/errors");
    let script = format!(
        "exec {} run --pen subtree -- {agent} report 2>{}",
        scene.path("kennel").display(),
        errors.display()
    );
    let mut shell = scene.command(std::path::Path::new("/bin/sh"));
    shell.args(["-c", &script]).env("KENNEL_HOME", scene.path("home/kennel"));
    let handle = || Stdio::from(slave.try_clone().expect("a handle"));
    let child = shell.stdin(handle()).stdout(handle()).stderr(handle()).spawn().expect("starts");
    let mut screen = Screen::new(master);
    screen.wait_for("\"isatty\"");
    screen.wait_for("[true,true,false]");
    assert_eq!(code(child), 0);
    scene.assert_nothing_left();
}

/// A job-control stop from outside returns the terminal to the shell; continuing takes it again.
#[test]
fn a_suspended_run_gives_the_terminal_back() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let (mut screen, child) = on_a_terminal(&scene, &["sleep"], "jobs");
    screen.wait_for("ready");
    eventually("our terminal is raw", || is_raw(&screen));
    let kennel = scene.processes().into_iter().find(|p| p.command.contains("kennel run"));
    let kennel = kennel.expect("kennel").pid;
    kennel_testing::signal(kennel, "TSTP");
    eventually("our terminal is restored", || !is_raw(&screen));
    let state = || kennel_testing::Process::look(kennel).map(|process| process.state);
    eventually("it is suspended", || state() == Some('T'));
    // Now the shell has the terminal, waits for a key and continues the job. A key that arrives
    // before it reads may be lost, so press more than one.
    eventually("our terminal is raw again", || {
        let raw = is_raw(&screen);
        if !raw {
            screen.press("\n");
        }
        raw
    });
    screen.press("\u{3}");
    assert_eq!(code(child), 130);
    assert!(!is_raw(&screen));
    scene.assert_nothing_left();
}

/// A shell on the agent's terminal has its own job control.
#[test]
fn an_interactive_shell_works_in_it() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else {
        return;
    };
    let Pty { master, slave } = terminal::open(SIZE).expect("a terminal");
    let (mut screen, child) =
        on_terminal_run(&scene, slave, &["/bin/bash", "--norc", "-i"], master, "");
    screen.press("PS1='prompt> '\r");
    screen.wait_for("prompt> ");
    screen.press("tty | tr a-z A-Z; echo $((6*7))\r");
    screen.wait_for("/DEV/PTS/");
    screen.wait_for("42");
    screen.press("sleep 200\r");
    eventually("it sleeps", || scene.processes().iter().any(|p| p.command == "sleep 200"));
    screen.press("\u{1a}");
    screen.wait_for("Stopped");
    screen.press("bg; jobs\r");
    screen.wait_for("Running");
    screen.press("exit 9\r");
    assert_eq!(code(child), 9);
    scene.assert_nothing_left();
}

/// Without a terminal on any of the client's streams the agent gets none.
#[test]
fn pipes_stay_pipes() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else {
        return;
    };
    let ended = scene.run(&[], &["report"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!(report["isatty"], serde_json::json!([false, false, false]));
    assert_eq!(report["tty"], false);
}
