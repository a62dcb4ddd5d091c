//! O5: programs on their own terminal, through attach, resize, detach and another attach.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kennel_sys::terminal::{self, Pty, Size};
use kennel_testing::{Pen, Running, Scene, Screen, Who, eventually, everywhere, skip};
use rustix::termios::{LocalModes, tcgetattr};

pub(crate) const SIZE: Size = Size { rows: 24, columns: 80 };
/// Control-P, Control-Q, as in docker.
const DETACH: &str = "\u{10}\u{11}";

/// `kennel ARGS…` on a terminal, below a shell that leads the session, as for a person.
fn on_a_terminal(scene: &Scene, args: &[&str], size: Size) -> (Screen, Child) {
    on_a_terminal_with(&scene.kennel(args), size)
}

/// Runs a prepared command on a terminal.
pub(crate) fn on_a_terminal_with(kennel: &Command, size: Size) -> (Screen, Child) {
    let Pty { master, slave } = terminal::open(size).expect("a terminal");
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-c", r#""$@"; exit $?"#, "sh"]);
    command.arg(kennel.get_program()).args(kennel.get_args());
    command.env_clear().envs(kennel.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(kennel.get_current_dir().expect("the scene's")).env("TERM", "xterm");
    let handle = || Stdio::from(slave.try_clone().expect("a handle"));
    command.stdin(handle()).stdout(handle()).stderr(handle());
    let child = command.spawn().expect("setsid is there");
    (Screen::new(master), child)
}

/// Attaches, and waits until keys go to the session.
fn attach(scene: &Scene, session: &str, size: Size) -> (Screen, Child) {
    let (screen, child) = on_a_terminal(scene, &["attach", session], size);
    eventually("our terminal is raw", || is_raw(&screen));
    (screen, child)
}

pub(crate) fn is_raw(screen: &Screen) -> bool {
    let settings = tcgetattr(screen.terminal()).expect("the settings of our terminal");
    !settings.local_modes.contains(LocalModes::ICANON)
}

/// Presses the detach keys.
#[track_caller]
pub(crate) fn detach(mut screen: Screen, child: Child) {
    screen.press(DETACH);
    screen.wait_for("which keeps running");
    assert_eq!(code(child), 0);
    assert!(!is_raw(&screen), "our terminal is restored");
}

pub(crate) fn code(mut child: Child) -> i32 {
    let mut status = None;
    eventually("it ends", || {
        status = child.try_wait().expect("our child");
        status.is_some()
    });
    status.and_then(|status| status.code()).unwrap_or(-1)
}

fn resize(screen: &Screen, size: Size) {
    terminal::resize(screen.terminal(), size).expect("resized");
}

/// Makes a shell wait until its terminal has this size, which changes briefly to force a redraw.
#[track_caller]
fn wait_size(screen: &mut Screen, size: &str) {
    let until = format!(r#"until [ "$(stty size)" = "{size}" ]; do sleep 0.01; done"#);
    screen.press(&format!("{until}; echo right-$((40+2))\r"));
    screen.wait_for("right-42");
}

/// Starts a program with a terminal.
fn launch(scene: &Scene, argv: &[&str]) -> String {
    let mut run = scene.run_command(&["-d", "-t", "--name", "x"], argv);
    run.env("TERM", "xterm");
    let ended = kennel_testing::Running::start(run).wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.stdout.trim_end().to_owned()
}

/// Whether a program is installed; prints a message if not.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !there {
        skip(&format!("{program} on a terminal"), "it is not installed");
    }
    there
}

everywhere! {
    fn a_shell_can_be_detached_and_attached(scene: Scene) {
        launch(&scene, &["/bin/bash", "--norc", "-i"]);
        let (mut screen, child) = attach(&scene, "x", SIZE);
        screen.press("PS1='prompt> '\r");
        screen.wait_for("prompt> ");
        screen.press("VAR=kept\r");
        wait_size(&mut screen, "24 80");
        resize(&screen, Size { rows: 30, columns: 100 });
        wait_size(&mut screen, "30 100");
        detach(screen, child);
        assert_eq!(scene.session("x")["phase"], "running");
        // Another terminal, of another size.
        let (mut screen, child) = attach(&scene, "x", Size { rows: 20, columns: 70 });
        screen.press("echo is-$VAR\r");
        screen.wait_for("is-kept");
        wait_size(&mut screen, "20 70");
        screen.press("exit 5\r");
        assert_eq!(code(child), 5, "the agent's own code");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    fn a_foreground_run_can_be_detached(scene: Scene) {
        let agent = scene.fake_agent();
        let args = ["run", "--name", "x", "--pen", scene.pen_name(), "--", &agent, "cat-tty-line"];
        let (screen, child) = on_a_terminal(&scene, &args, SIZE);
        eventually("our terminal is raw", || is_raw(&screen));
        detach(screen, child);
        assert_eq!(scene.session("x")["phase"], "running", "it is tied to no client any more");
        let (mut screen, child) = attach(&scene, "x", SIZE);
        screen.press("hello\r");
        screen.wait_for("got:hello");
        assert_eq!(code(child), 0);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// An editor draws with cursor movements: after another attach its screen must be complete.
#[test]
fn an_editors_screen_is_restored() {
    if !is_there("vim") {
        return;
    }
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    launch(&scene, &["vim", "-u", "NONE", "-N", "-i", "NONE", "-n", "letter"]);
    let (mut screen, child) = attach(&scene, "x", SIZE);
    screen.wait_for("~");
    screen.press("ifirst words\r");
    screen.press("second words\u{1b}");
    screen.wait_for("second");
    detach(screen, child);
    let (mut screen, child) = attach(&scene, "x", SIZE);
    screen.wait_for("first words");
    screen.wait_for("second words");
    // Vim redraws everything for another size.
    resize(&screen, Size { rows: 12, columns: 40 });
    screen.wait_for("first words");
    screen.press("othird words\u{1b}");
    screen.wait_for("third");
    screen.press(":wq\r");
    assert_eq!(code(child), 0);
    let letter = fs::read_to_string(scene.path("work/letter")).expect("saved");
    assert_eq!(letter, "first words\nsecond words\nthird words\n");
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// Two clients watch at once and are not affected by a daemon crash.
#[test]
fn two_clients_see_the_same_screen() {
    if !is_there("top") {
        return;
    }
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    launch(&scene, &["top", "-d", "0.3"]);
    let (mut first, first_child) = attach(&scene, "x", SIZE);
    first.wait_for("PID");
    let (mut second, second_child) = attach(&scene, "x", SIZE);
    second.wait_for("PID");
    kennel_testing::signal(scene.daemon().expect("a daemon"), "KILL");
    second.wait_for("top");
    detach(second, second_child);
    first.press("q");
    assert_eq!(code(first_child), 0);
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// Named keys, without a terminal.
#[test]
fn keys_can_be_sent_to_a_terminal() {
    if !is_there("vim") {
        return;
    }
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let id = launch(&scene, &["vim", "-u", "NONE", "-N", "-i", "NONE", "-n", "letter"]);
    eventually("the editor is up", || scene.output(&id).contains('~'));
    scene.call_ok(&["send", "--keys", "x", "i", "one", "Enter", "two", "Up", "X", "Escape"]);
    scene.call_ok(&["send", "--keys", "x", ":wq", "Enter"]);
    assert_eq!(scene.call(&["wait", "x"]).code, 0);
    let letter = fs::read_to_string(scene.path("work/letter")).expect("saved");
    assert_eq!(letter, "oneX\ntwo\n");
    scene.stop_daemon();
}

/// A read-only client types nothing.
#[test]
fn a_read_only_client_changes_nothing() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let agent = scene.fake_agent();
    let id = launch(&scene, &[&agent, "cat-tty-line"]);
    let args = ["attach", "--read-only", "x"];
    let (mut screen, child) = on_a_terminal(&scene, &args, Size { rows: 10, columns: 40 });
    eventually("our terminal is raw", || is_raw(&screen));
    screen.press("typed\r");
    screen.press("\u{3}");
    assert_eq!(code(child), 0, "Control-C leaves");
    assert_eq!(scene.session(&id)["phase"], "running");
    assert!(!scene.output(&id).contains("got:"));
    let folder: &Path = &scene.session_folder(&id);
    assert!(folder.join("keeper.sock").exists());
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

/// The session writes nothing that would fail.
#[test]
fn a_viewer_of_a_silent_terminal_notices_that_its_reader_is_gone() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let id = launch(&scene, &["/bin/sh", "-c", "echo up; while :; do sleep 1; done"]);
    eventually("it is up", || scene.output(&id).contains("up"));
    let mut attach = scene.kennel(&["attach", "--read-only", "x"]);
    attach.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = attach.spawn().expect("it starts");
    drop(child.stdout.take());
    eventually("it has ended", || child.try_wait().expect("our child").is_some());
    assert_eq!(code(child), 0);
    assert_eq!(scene.session(&id)["phase"], "running");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

everywhere! {
    /// It ignores TERM, but not a hang-up of its terminal.
    fn an_interactive_shell_is_stopped_long_before_its_grace_is_over(scene: Scene) {
        let flags = ["--name", "x", "-t", "--grace", "60s", "-e", "PS1=at-your-service>"];
        scene.launch_command(&flags, &["bash", "--norc", "-i"]);
        eventually("it has a prompt", || scene.output("x").contains("at-your-service>"));
        let since = std::time::Instant::now();
        scene.call_ok(&["stop", "x"]);
        assert!(since.elapsed().as_secs() < 30, "{:?}", since.elapsed());
        let session = scene.session("x");
        assert_eq!((&session["exit"]["kind"], &session["exit"]["signal"]), (&"signal".into(), &1.into()), "{session:#}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// A program that handles TERM gets its whole grace without a hang-up.
    fn a_program_that_handles_term_is_not_hung_up(scene: Scene) {
        let script = "trap 'sleep 1; echo done; exit 5' TERM; echo up; while :; do sleep 0.05; done";
        scene.launch_command(&["--name", "x", "-t", "--grace", "60s"], &["/bin/sh", "-c", script]);
        eventually("it is up", || scene.output("x").contains("up"));
        scene.call_ok(&["stop", "x"]);
        assert!(scene.output("x").contains("done"));
        assert_eq!(scene.session("x")["exit"]["code"], 5);
        scene.stop_daemon();
    }
}

/// The standard input of a script, and its end-of-file, must not reach the agent: that would end
/// it.
#[test]
fn attaching_without_a_terminal_ends_no_session() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch(&["-i", "--name", "x"], &["echo"]);
    let refused = scene.call(&["attach", "x"]);
    assert_eq!(refused.code, 201, "{refused:?}");
    for hint in ["not a terminal", "kennel send x -", "kennel logs -f x"] {
        assert!(refused.stderr.contains(hint), "{hint} in {refused:?}");
    }
    let looking = Running::start(scene.kennel(&["attach", "--read-only", "x"]));
    scene.call_ok(&["send", "--enter", "x", "hello"]);
    eventually("it still answers", || scene.output(&id) == "hello\n");
    assert_eq!(scene.session(&id)["phase"], "running");
    scene.call_ok(&["send", "--eof", "x"]);
    let looked = looking.wait();
    assert_eq!((looked.code, looked.stdout.as_str()), (0, "hello\n"), "{looked:?}");
    scene.stop_daemon();
}
