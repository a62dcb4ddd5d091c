//! The examples in the documentation work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kennel_testing::{Pen, Running, Scene, Who};

use crate::ask::AskScene;
use crate::config::configure;

pub(crate) fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(path).expect("the page is there")
}

/// The texts of all blocks of a kind.
pub(crate) fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let begin = format!("```{kind}\n");
    let after = page.split(begin.as_str()).skip(1);
    after.map(|text| text.split("```").next().expect("a block")).collect()
}

/// A program `agent` for the examples.
fn make_agent(folder: &Path) {
    let path = folder.join("agent");
    fs::write(&path, "#!/bin/sh\nexec sleep 100\n").expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
}

#[test]
fn the_examples_about_limits_run() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let page = page("limits.md");
    configure(&scene, blocks(&page, "toml")[0]);
    make_agent(&scene.path(""));
    let scripts = blocks(&page, "sh");
    assert!(scripts.len() >= 6, "{scripts:?}");
    for script in scripts {
        run(&scene, script, &[]);
    }
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// Runs an example as a shell would, with these folders of the scene first in its `PATH`.
#[track_caller]
fn run(scene: &Scene, script: &str, more: &[&str]) {
    let mut command = scene.command(Path::new("/bin/sh"));
    let mut path = std::env::var("PATH").unwrap_or_default();
    for folder in [""].iter().chain(more) {
        path = format!("{}:{path}", scene.path(folder).display());
    }
    command.env("PATH", path).env("KENNEL_HOME", scene.path("home/kennel"));
    command.env("FAKE_CLAUDE", scene.path("work/claude"));
    command.args(["-euc", script]);
    let ended = Running::start(command).wait();
    assert_eq!(ended.code, 0, "{script}\n{}{}", ended.stdout, ended.stderr);
}

/// A scripted Claude Code, with one line for each launch on the page.
#[test]
fn the_examples_about_asking_run() {
    let script = [
        "ok a kennel",
        "ok with care",
        "ok it mends things",
        "ok it is",
        "ok mended",
        "overloaded",
        "hang",
        "ok here I am",
        "a chat",
    ];
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &script) else { return };
    let page = page("asking.md");
    let scripts = blocks(&page, "sh");
    assert!(scripts.len() >= 5, "{scripts:?}");
    for script in scripts {
        run(&ask_scene.scene, script, &["bin"]);
    }
    assert_eq!(ask_scene.launches().len(), script.len());
    ask_scene.end();
}
