//! Worktrees without anything of value are removed with their session, not before.

use std::time::Duration;

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere};

use super::Repo;

everywhere! {
    fn a_session_runs_in_its_worktree_and_leaves_nothing(scene: Scene) {
        let repo = Repo::new(&scene);
        let script = "pwd; echo \"$PWD\"; git branch --show-current; cat ../file";
        let ended = repo.start_in(&repo.path.join("sub"), &["--worktree"], script).wait();
        assert_eq!(ended.code, 0, "{ended:?}");
        let id = scene.sessions()[0]["id"].as_str().expect("an id").to_owned();
        let tree = repo.worktrees_folder().canonicalize().expect("it is there").join(format!("repo-{id}"));
        let sub = tree.join("sub").display().to_string();
        assert_eq!(ended.stdout, format!("{sub}\n{sub}\nkennel/{id}\none\n"));
        let reported = format!("kennel: running in worktree {} on branch kennel/{id}\n", tree.display());
        assert_eq!(ended.stderr, reported);
        repo.assert_settled();
        scene.stop_daemon();
    }

    /// C1: the grandchild would notice if its folder were removed first.
    fn a_worktree_is_removed_after_the_last_process(scene: Scene) {
        let repo = Repo::new(&scene);
        let log = scene.path("work/too-early");
        let write = format!(
            "trap '' TERM; while :; do echo x > ignored || echo early > {}; done",
            log.display()
        );
        let script = format!("setsid sh -c \"{write}\" & exec sleep 100");
        let flags = ["--worktree", "--timeout", "1s", "--grace", "300ms", "--name", "x"];
        let ended = repo.run(&flags, &script);
        assert_eq!(scene.session("x")["reason"]["kind"], "timed_out", "{ended:?}");
        assert!(!log.exists(), "removed before the last process ended");
        scene.assert_nothing_left();
        repo.assert_settled();
        scene.stop_daemon();
    }

    /// E4
    fn a_background_git_gc_does_no_harm(scene: Scene) {
        let repo = Repo::new(&scene);
        let script = "for n in 1 2 3 4 5 6 7 8; do echo $n > file; git commit -qam $n; done; \
                      git push -q . HEAD:refs/heads/done; git -c gc.auto=1 -c gc.autoDetach=true gc --auto";
        let ended = repo.run(&["--worktree", "--linger", "0s"], script);
        assert_eq!(ended.code, 0, "{ended:?}");
        repo.assert_settled();
        assert_eq!(repo.shell("git log --format=%s done | head -1"), "8");
        scene.stop_daemon();
    }
}

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

#[test]
fn an_existing_branch_stays() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    repo.shell("git branch feature");
    let script = "git branch --show-current; git commit -q --allow-empty -m more";
    let ended = repo.run(&["--worktree=feature"], script);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "feature\n"), "{ended:?}");
    repo.assert_settled();
    assert_eq!(repo.shell("git log -1 --format=%s feature"), "more");
    scene.stop_daemon();
}

#[test]
fn uncommitted_changes_are_not_copied_and_that_is_reported() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    repo.shell("echo two > file");
    let ended = repo.run(&["--worktree"], "cat file");
    assert_eq!(ended.stdout, "one\n");
    assert!(ended.stderr.contains("does not contain the uncommitted changes"), "{ended:?}");
    assert_eq!(repo.shell("cat file"), "two", "the checkout is unchanged");
    repo.assert_settled();
    scene.stop_daemon();
}

#[test]
fn git_in_a_session_started_by_a_hook_uses_its_own_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let mut command = scene
        .run_command(&["--worktree"], &["/bin/sh", "-c", "git rev-parse --show-toplevel; pwd"]);
    command.current_dir(&repo.path);
    command.env("GIT_DIR", repo.path.join(".git")).env("GIT_WORK_TREE", &repo.path);
    command.env("GIT_INDEX_FILE", repo.path.join(".git/index"));
    let ended = Running::start(command).wait();
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{ended:?}");
    repo.assert_settled();
    scene.stop_daemon();
}

/// B1, B2: while its worktree is created, in the user's own hook.
#[test]
fn a_stop_does_not_wait_for_the_creation_of_a_worktree() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let began = scene.path("work/began");
    repo.hook(&format!("touch {}; exec sleep 100", began.display()));
    let run = repo.start(&["--worktree", "-d", "--name", "x"], "touch ../ran");
    eventually("the hook runs", || began.exists());
    let again = Running::start(scene.kennel(&["stop", "x"]));
    let stop = scene.call(&["stop", "x"]);
    assert_eq!(stop.code, 0, "{stop:?}");
    assert!(stop.took < Duration::from_secs(30), "{stop:?}");
    assert_eq!(again.wait().code, 0);
    let run = run.wait();
    assert_ne!(run.code, 0, "{run:?}");
    let session = scene.session("x");
    assert_eq!(
        (&session["exit"]["kind"], &session["reason"]["kind"]),
        (&"never_ran".into(), &"stopped".into())
    );
    scene.assert_nothing_left();
    repo.assert_settled();
    scene.stop_daemon();
}

/// Two concurrent sessions of one repository have separate worktrees.
#[test]
fn concurrent_sessions_have_different_worktrees() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let all: Vec<_> = (0..4)
        .map(|number| {
            repo.start(&["--worktree"], &format!("echo {number} > ignored; pwd; cat ignored"))
        })
        .collect();
    let mut folders = Vec::new();
    for (number, run) in all.into_iter().enumerate() {
        let ended = run.wait();
        assert_eq!(ended.code, 0, "{ended:?}");
        let (folder, own) = ended.stdout.trim_end().rsplit_once('\n').expect("two lines");
        assert_eq!(own, number.to_string());
        folders.push(folder.to_owned());
    }
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), 4, "{folders:?}");
    // A worktree whose git found the repository locked is removed a moment later.
    eventually("all are removed", || repo.is_bare_of_worktrees());
    repo.assert_settled();
    scene.stop_daemon();
}
