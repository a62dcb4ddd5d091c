//! A repository of a scene's user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kennel_testing::{Ended, Running, Scene, eventually};
use serde_json::Value;

/// A repository `repo` in a scene's work folder, with one commit on `main`.
pub(crate) struct Repo<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) path: PathBuf,
}

impl<'a> Repo<'a> {
    /// With one commit; everything called `ignored` is ignored.
    #[track_caller]
    pub(crate) fn new(scene: &'a Scene) -> Self {
        let repo = Self::empty(scene);
        repo.shell(
            "mkdir sub && echo one > file && echo ignored > .gitignore && echo in > sub/inner",
        );
        repo.shell("git add -A && git commit -qm first");
        repo
    }

    /// Without a commit.
    #[track_caller]
    pub(crate) fn empty(scene: &'a Scene) -> Self {
        let repo = Self { scene, path: scene.path("work/repo") };
        fs::create_dir(&repo.path).expect("mkdir");
        scene.give(&repo.path);
        repo.shell(
            "git config --global user.name Somebody && git config --global user.email s@example.com && \
             git config --global init.defaultBranch main && git init -q",
        );
        repo
    }

    /// Runs a shell in the repository as the scene's user and returns its output.
    #[track_caller]
    pub(crate) fn shell(&self, script: &str) -> String {
        self.shell_in(&self.path, script)
    }

    #[track_caller]
    pub(crate) fn shell_in(&self, folder: &Path, script: &str) -> String {
        let mut command = self.scene.command(Path::new("/bin/sh"));
        command.args(["-c", script]).current_dir(folder);
        let ended = Running::start(command).wait();
        assert_eq!(ended.code, 0, "{script}: {ended:?}");
        ended.stdout.trim_end().to_owned()
    }

    /// Starts `kennel run --worktree FLAGS… -- sh -c SCRIPT` in the repository.
    pub(crate) fn start(&self, flags: &[&str], script: &str) -> Running {
        self.start_in(&self.path, flags, script)
    }

    pub(crate) fn start_in(&self, folder: &Path, flags: &[&str], script: &str) -> Running {
        let mut command = self.scene.run_command(flags, &["/bin/sh", "-c", script]);
        command.current_dir(folder);
        Running::start(command)
    }

    pub(crate) fn run(&self, flags: &[&str], script: &str) -> Ended {
        self.start(flags, script).wait()
    }

    /// Makes git run this at every checkout.
    pub(crate) fn hook(&self, script: &str) {
        self.hook_at("post-checkout", script);
    }

    /// Installs a git hook with this name.
    pub(crate) fn hook_at(&self, name: &str, script: &str) {
        let path = self.path.join(".git/hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        self.scene.give(&path);
    }

    /// The default folder for worktrees.
    pub(crate) fn worktrees_folder(&self) -> PathBuf {
        self.scene.kennel_home().join("worktrees")
    }

    /// The contents of that folder.
    pub(crate) fn worktree_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.worktrees_folder()).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Whether nothing is left of any worktree or its branch.
    pub(crate) fn is_bare_of_worktrees(&self) -> bool {
        let branches = self.shell("git for-each-ref --format='%(refname)' refs/heads/kennel");
        let entries = fs::read_dir(self.path.join(".git/worktrees")).into_iter().flatten().count();
        branches.is_empty() && entries == 0 && self.worktree_names().is_empty()
    }

    /// Checks that no worktree or branch is left, and that the repository is intact.
    #[track_caller]
    pub(crate) fn assert_settled(&self) {
        assert_eq!(self.worktree_names(), Vec::<String>::new(), "left in the folder of worktrees");
        eventually("no worktree and no branch of one is left", || self.is_bare_of_worktrees());
        self.assert_whole();
        let listed = self.scene.call_ok(&["worktrees"]);
        assert_eq!(listed, "no worktrees\n");
    }

    #[track_caller]
    pub(crate) fn assert_whole(&self) {
        self.shell("git fsck --strict --no-dangling");
        let list = self.shell("git worktree list --porcelain");
        assert!(!list.contains("prunable"), "{list}");
    }

    /// The worktrees that Kennel reports.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<Value> {
        let found = self.scene.call_json(&["worktrees", "--json"]);
        found["worktrees"].as_array().expect("a list").clone()
    }
}
