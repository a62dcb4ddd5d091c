//! The texts of refusals, hints and empty lists, as snapshots. The commands of a test share one
//! home.

use std::fmt::Write as _;

use kennel_testing::{Pen, Scene, Who};

/// Runs commands, and returns what a user sees.
fn transcript(scene: &Scene, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for args in commands {
        let ended = scene.call(args);
        let (command, code) = (args.join(" "), ended.code);
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        writeln!(text, "$ kennel {command}\n{printed}[exit code {code}]\n").expect("a string");
    }
    text
}

/// Replaces what differs from run to run.
fn filtered(scene: &Scene, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    let folder = scene.path("");
    let folder = folder.to_str().expect("a plain path").trim_end_matches('/');
    settings.add_filter(folder, "SCENE");
    settings.add_filter(r"\b0[0-9a-z]{11}\b", "ID");
    settings.add_filter(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME");
    settings.add_filter(r"pid \d+", "pid PID");
    settings.add_filter(r"user \d+", "user UID");
    settings.bind(check);
}

#[test]
fn refusals_of_the_command_line() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
    let text = transcript(
        &scene,
        &[
            &["stop"],
            &["kill", "x"],
            &["status"],
            &["start", "x"],
            &["exec", "x", "ls"],
            &["--config", "/no/such/file", "ps"],
            &["run", "--wait-ready", "--ready", "tcp:1", "--", "true"],
            &["run", "-d", "--wait-ready", "--", "true"],
            &["run", "--worktree", "feature", "--", "true"],
            &["run", "-e", "KENNEL_TOKEN=s3", "--", "true"],
            &["run", "-e", "NO_SUCH_VARIABLE", "--", "true"],
            &["run", "--env-file", "/no/such/file", "--", "true"],
            &["run", "--restart", "on-failure", "--", "true"],
            &["run", "-d", "--restart-unknown", "--", "true"],
            &["resume", "-d", "--wait-ready", "x"],
            &["answer", "x"],
            &["ask"],
            &["chat"],
            &["ask", "--agent", "claude", "two", "prompts"],
            &["ask", "--model", "opus", "anna", "hello"],
            &["send", "x", "two", "texts"],
            &["send", "--keys", "x", "C-1"],
            &["adopt", "999999999"],
            &["report", "ready"],
            &["config", "check"],
            &["daemon", "start", "--listen", "0.0.0.0:0"],
            &["plan", "run", "/no/such/file"],
            &["plan", "run", "-d", "--results", "results", "review.toml"],
            &["plan", "resume", "-d", "--results", "results", "review"],
            &["member", "add", "bert", "--agent", "claude", "--cwd", "/no/such/folder"],
        ],
    );
    filtered(&scene, || insta::assert_snapshot!(text));
    assert_eq!(scene.session("x")["id"], id.as_str(), "nothing else was started");
    assert_eq!(scene.session("x")["phase"], "running");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

#[test]
fn refusals_of_the_daemon() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    scene.launch_ready(&["--name", "fix-login"], &["sleep"]);
    let text = transcript(
        &scene,
        &[
            &["inspect", "fix-logni"],
            &["logs", "no-such"],
            &["wait", "no-such"],
            &["send", "fix-login", "hello"],
            &["rm", "fix-login"],
            &["forget", "fix-login"],
            &["run", "-d", "--name", "fix-login", "--", "true"],
            &["run", "--cwd", "/no/such/folder", "--", "true"],
            &["run", "--", "no-such-program"],
            &["ask", "anna", "hello"],
            &["member", "show", "anna"],
            &["member", "add", "bert", "--agent", "cluade"],
            &["plan", "show", "no-such"],
            &["worktrees", "rm", "no-such"],
            &["token", "revoke", "no-such"],
        ],
    );
    filtered(&scene, || insta::assert_snapshot!(text));
    scene.call_ok(&["stop", "fix-login"]);
    scene.stop_daemon();
}

#[test]
fn empty_lists() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let text = transcript(
        &scene,
        &[
            &["daemon", "status"],
            &["daemon", "stop"],
            &["ps"],
            &["member", "list"],
            &["plan", "list"],
            &["worktrees"],
            &["strays"],
            &["prune"],
            &["rescue"],
            &["daemon", "stop"],
        ],
    );
    filtered(&scene, || insta::assert_snapshot!(text));
}
