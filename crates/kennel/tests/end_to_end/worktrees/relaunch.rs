//! Worktrees of relaunched, repeated and queued sessions: one worktree for all launches.

use std::fs;

use kennel_testing::{Pen, Running, Scene, Who, eventually, signal};
use serde_json::Value;

use super::Repo;
use crate::config::configure;

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// The kept worktrees by session id.
fn kept_sessions(repo: &Repo<'_>) -> Vec<String> {
    let listed = repo.listed();
    assert!(listed.iter().all(|it| it["state"] == "kept"), "{listed:#?}");
    listed.iter().map(|it| it["session"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_resume_continues_in_the_kept_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let script = "pwd; git commit -q --allow-empty -m more; git rev-list --count HEAD";
    let first = repo.start_in(&repo.path.join("sub"), &["--worktree", "--name", "x"], script);
    let first = first.wait();
    let id = scene.session("x")["id"].as_str().expect("an id").to_owned();
    let sub =
        repo.worktrees_folder().canonicalize().expect("it is there").join(format!("repo-{id}/sub"));
    assert_eq!(first.stdout, format!("{}\n2\n", sub.display()), "{first:?}");
    assert_eq!(kept_sessions(&repo), [id.as_str()]);

    // So can the next daemon.
    scene.call_ok(&["daemon", "restart"]);
    let second = Running::start(scene.kennel(&["resume", "x"])).wait();
    assert_eq!((second.code, second.stdout), (0, format!("{}\n3\n", sub.display())));
    assert!(second.stderr.contains("is kept: "), "{}", second.stderr);
    assert_eq!(kept_sessions(&repo), [format!("{id}_2")], "by its latest launch");

    // No launch is removed from the record before the worktree.
    for reference in ["x", &id, &format!("{id}_2")] {
        let refused = scene.call(&["rm", reference]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("kennel worktrees rm"), "{refused:?}");
    }
    let pruned = scene.call(&["prune"]);
    assert!(pruned.stderr.contains("kept 1 session"), "{pruned:?}");
    assert_eq!(scene.sessions().len(), 2);
    scene.call_ok(&["worktrees", "rm", "--force", "x"]);
    repo.assert_settled();
    scene.call_ok(&["rm", "x"]);
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    scene.stop_daemon();
}

#[test]
fn a_resume_recreates_a_missing_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let script = "pwd; cat file; [ ! -e left ]";
    let first = repo.run(&["--worktree", "--name", "x"], script);
    assert_eq!(first.code, 0, "{first:?}");
    repo.assert_settled();
    let second = Running::start(scene.kennel(&["resume", "x"])).wait();
    assert_eq!((second.code, &second.stdout), (0, &first.stdout), "{second:?}");
    repo.assert_settled();
    // A session without its repository can't be resumed, with an error.
    repo.shell("mv .git hidden");
    let third = Running::start(scene.kennel(&["resume", "x"])).wait();
    assert_eq!((third.code, third.stdout.as_str()), (202, ""), "{third:?}");
    assert!(third.stderr.contains("repo/.git does not exist any more"), "{third:?}");
    repo.shell("mv hidden .git");
    let fourth = Running::start(scene.kennel(&["resume", "x"])).wait();
    assert_eq!((fourth.code, &fourth.stdout), (0, &first.stdout), "{fourth:?}");
    scene.call_ok(&["prune"]);
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    scene.stop_daemon();
}

#[test]
fn a_worktree_removed_by_a_later_launch_is_not_kept_by_an_earlier_one() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let script = "if [ -e left ]; then rm left; else echo > left; fi";
    let first = repo.run(&["--worktree", "--name", "x"], script);
    assert_eq!((first.code, kept_sessions(&repo).len()), (0, 1), "{first:?}");
    let second = Running::start(scene.kennel(&["resume", "x"])).wait();
    assert_eq!(second.code, 0, "{second:?}");
    repo.assert_settled();
    scene.call_ok(&["rm", "x"]);
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    scene.stop_daemon();
}

#[test]
fn a_restart_uses_the_same_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let log = scene.path("work/log");
    let script = format!("pwd >> {}; exit 3", log.display());
    let run = repo.run(&["-d", "--worktree", "--restart", "on-failure:1"], &script);
    assert_eq!(run.code, 0, "{run:?}");
    let id = run.stdout.trim_end();
    assert_eq!(scene.call(&["wait", id]).code, 3);
    let tree =
        repo.worktrees_folder().canonicalize().expect("it is there").join(format!("repo-{id}"));
    let log = fs::read_to_string(log).expect("a log");
    assert_eq!(log, format!("{}\n", tree.display()).repeat(2));
    repo.assert_settled();
    scene.stop_daemon();
}

/// Both before and after a worktree is planned.
#[test]
fn many_requests_with_one_key_share_one_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    scene.call_ok(&["daemon", "start"]);
    let flags = ["-d", "--worktree", "--key", "k"];
    let clients: Vec<_> = (0..6).map(|_| repo.start(&flags, "exec sleep 100")).collect();
    let answers: Vec<_> = clients.into_iter().map(Running::wait).collect();
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    let id = sessions[0]["id"].as_str().expect("an id");
    for answer in answers {
        assert_eq!((answer.code, answer.stdout.trim_end()), (0, id), "{answer:?}");
    }
    assert_eq!(repo.listed().len(), 1);
    let other = repo.run(&["-d", "--worktree=other", "--key", "k"], "exec sleep 100");
    assert_eq!(other.code, 202, "{other:?}");
    assert!(other.stderr.contains("worktree differs"), "{other:?}");
    scene.call_ok(&["stop", id]);
    repo.assert_settled();
    scene.stop_daemon();
}

/// The queue outlives the daemon, and nothing is created for queued sessions.
#[test]
fn a_queued_session_gets_its_worktree_at_its_turn() {
    let Some(scene) = scene() else { return };
    configure(&scene, "daemon.max_live = 1\n");
    let repo = Repo::new(&scene);
    let first = scene.launch(&[], &["sleep"]);
    let refused = repo.run(&["-d", "--worktree"], "true");
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains("the limit is 1"), "{refused:?}");
    let script = "pwd; git branch --show-current";
    for name in ["gone", "next"] {
        let queued = repo.run(&["-d", "--worktree", "--queue", "--name", name], script);
        assert_eq!(queued.code, 0, "{queued:?}");
    }
    scene.call_ok(&["stop", "gone"]);
    assert!(repo.is_bare_of_worktrees(), "nothing is made");
    signal(scene.daemon().expect("a daemon"), "KILL");
    eventually("there is another daemon", || scene.daemon().is_some());
    scene.call_ok(&["stop", &first]);
    assert_eq!(scene.call(&["wait", "next"]).code, 0);
    let id = scene.session("next")["id"].as_str().expect("an id").to_owned();
    let tree =
        repo.worktrees_folder().canonicalize().expect("it is there").join(format!("repo-{id}"));
    assert_eq!(scene.output("next"), format!("{}\nkennel/{id}\n", tree.display()));
    repo.assert_settled();
    scene.stop_daemon();
}
