//! The examples of `docs/worktrees.md`, run in order.

use kennel_testing::{Pen, Running, Scene, Who};

use super::Repo;

const DOCS: &str = include_str!("../../../../../docs/worktrees.md");

/// Each `$ command` of the console blocks, with what is printed after it.
fn examples() -> Vec<(String, Vec<String>)> {
    let mut examples: Vec<(String, Vec<String>)> = Vec::new();
    for block in DOCS.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines() {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push((command.to_owned(), Vec::new())),
                (None, Some((_, printed))) => printed.push(line.to_owned()),
                (None, None) => panic!("{line} belongs to no command"),
            }
        }
    }
    examples
}

/// Replaces what differs between runs: ids, commits and the home folder.
fn normalized(line: &str, scene: &Scene) -> Vec<String> {
    let home = scene.path("home").canonicalize().expect("it is there").display().to_string();
    let work = scene.path("work").canonicalize().expect("it is there").display().to_string();
    let line = line.replace(&home, "/home/u").replace(&work, "/home/u");
    let line = line.replace("/home/u/kennel/", "/home/u/.local/state/kennel/");
    let id = |word: &str| {
        word.len() >= 10
            && word.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
            && word.chars().any(|c| c.is_ascii_digit())
    };
    let words = line.split_whitespace().map(|word| {
        let parts = word.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        let parts = parts.map(|part| {
            let (bare, rest) = part
                .split_at(part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len()));
            if id(bare) { format!("ID{rest}") } else { part.to_owned() }
        });
        parts.collect::<String>()
    });
    words.collect()
}

#[test]
fn the_examples_in_the_docs_are_true() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let repo = Repo::new(&scene);
    let kennel = scene.path("kennel").display().to_string();
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for (command, expected) in examples {
        let mut shell = scene.command(std::path::Path::new("/bin/sh"));
        shell.env("KENNEL_HOME", scene.kennel_home());
        let script = command.replace("kennel run ", "kennel run --pen subtree ");
        let script = format!("kennel() {{ {kennel} \"$@\"; }}\n{script}");
        shell.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(&repo.path);
        let ended = Running::start(shell).wait();
        let lines = |lines: &mut dyn Iterator<Item = &str>| {
            lines.map(|line| normalized(line, &scene)).collect::<Vec<_>>()
        };
        let printed = lines(&mut ended.stdout.lines());
        let expected = lines(&mut expected.iter().map(String::as_str));
        assert_eq!(printed, expected, "$ {command}\n{}", ended.stdout);
    }
    repo.assert_settled();
    scene.stop_daemon();
}
