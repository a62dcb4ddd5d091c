//! A repository for one test, with a git that ignores the settings of this machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kennel_worktree::{
    BranchOutcome, CreatedWorktree, Git, GitLimits, KeepReason, PlanWorktreeError, RemoveOutcome,
    WorktreePlan, WorktreeRecord, WorktreeRequest, create, remove,
};
use tempfile::TempDir;

pub(crate) const SESSION: &str = "0abc1234";

/// A folder with a repository `repo`, which has one commit on `main`, and a parent folder for
/// worktrees.
pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) repo: PathBuf,
    pub(crate) parent: PathBuf,
}

impl Scene {
    /// Creates a repository with one commit.
    pub(crate) fn new() -> Self {
        Self::named("repo")
    }

    /// Creates a repository with one commit, in a folder of this name.
    pub(crate) fn named(name: &str) -> Self {
        let scene = Self::empty(name);
        scene.write("file", "one\n");
        scene.write(".gitignore", "ignored\n*.o\n");
        scene.write("sub folder/inner", "inner\n");
        scene.commit_all("first");
        scene
    }

    /// Creates a repository without a commit.
    pub(crate) fn empty(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("a real path");
        let (repo, parent) = (real.join(name), real.join("place/of worktrees"));
        fs::create_dir(&repo).expect("a folder");
        let scene = Self { folder, repo, parent };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    /// Returns a path in the scene.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a real path").join(name)
    }

    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").expect("a PATH");
        let mut all: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), self.folder.path().into()),
            ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        for who in ["AUTHOR", "COMMITTER"] {
            all.push((format!("GIT_{who}_NAME").into(), "Somebody".into()));
            all.push((format!("GIT_{who}_EMAIL").into(), "somebody@example.com".into()));
        }
        all
    }

    /// Returns the git under test.
    pub(crate) fn tool(&self) -> Git {
        let limits = GitLimits {
            create: Duration::from_secs(60),
            call: Duration::from_secs(60),
            locks: Duration::from_secs(30),
        };
        Git::new(self.environment()).with_limits(limits)
    }

    /// Calls git as a user does; it must succeed.
    #[track_caller]
    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(folder);
        git.env_clear().envs(self.environment());
        let output = git.output().expect("git runs");
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} in {folder:?}: {output_text}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo, args)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.repo, name, text);
    }

    #[track_caller]
    pub(crate) fn commit_all(&self, message: &str) -> String {
        self.commit_in(&self.repo, message)
    }

    #[track_caller]
    pub(crate) fn commit_in(&self, folder: &Path, message: &str) -> String {
        self.git_in(folder, &["add", "-A"]);
        self.git_in(folder, &["commit", "-q", "--allow-empty", "-m", message]);
        self.git_in(folder, &["rev-parse", "HEAD"])
    }

    /// Plans a worktree from a folder.
    pub(crate) fn plan(
        &self,
        folder: &Path,
        branch: Option<&str>,
    ) -> Result<WorktreePlan, PlanWorktreeError> {
        self.plan_for(folder, SESSION, branch)
    }

    pub(crate) fn plan_for(
        &self,
        folder: &Path,
        session: &str,
        branch: Option<&str>,
    ) -> Result<WorktreePlan, PlanWorktreeError> {
        let parent = &self.parent;
        WorktreePlan::new(
            &self.tool(),
            &WorktreeRequest { folder, parent, session, branch, base: None },
        )
    }

    /// Creates a worktree from the top of the repository, on its own branch.
    #[track_caller]
    pub(crate) fn worktree(&self) -> WorktreeRecord {
        self.worktree_on(None)
    }

    #[track_caller]
    pub(crate) fn worktree_on(&self, branch: Option<&str>) -> WorktreeRecord {
        let record = self.plan(&self.repo, branch).expect("a plan").record;
        self.create(&record);
        record
    }

    #[track_caller]
    pub(crate) fn create(&self, record: &WorktreeRecord) -> CreatedWorktree {
        create(&self.tool(), record).expect("made")
    }

    /// Removes a worktree, and returns why it was kept.
    #[track_caller]
    pub(crate) fn kept(&self, record: &WorktreeRecord) -> Vec<KeepReason> {
        let link = fs::symlink_metadata(record.path.join(".git")).is_ok();
        match remove(&self.tool(), record).expect("no error") {
            RemoveOutcome::Kept { why } => {
                let is_there = fs::symlink_metadata(record.path.join(".git")).is_ok();
                assert_eq!(is_there, link, "what is kept is not touched");
                why
            }
            RemoveOutcome::Gone { branch } => panic!("it is gone; branch: {branch:?}"),
        }
    }

    /// Removes a worktree, and checks that nothing but possibly the branch is left.
    #[track_caller]
    pub(crate) fn gone(&self, record: &WorktreeRecord) -> BranchOutcome {
        match remove(&self.tool(), record).expect("no error") {
            RemoveOutcome::Gone { branch } => {
                self.assert_nothing_left(record);
                branch
            }
            RemoveOutcome::Kept { why } => panic!("it was kept: {why:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn assert_nothing_left(&self, record: &WorktreeRecord) {
        let left: Vec<_> = fs::read_dir(record.path.parent().expect("a parent"))
            .map(|entries| entries.map(|entry| entry.expect("an entry").file_name()).collect())
            .unwrap_or_default();
        let own = record.path.file_name().expect("a name").to_string_lossy().into_owned();
        let left: Vec<_> = left
            .iter()
            .filter(|name: &&OsString| name.to_string_lossy().starts_with(&own))
            .collect();
        assert!(left.is_empty(), "left in the parent: {left:?}");
        assert!(!record.repo.join("worktrees").join(&own).exists(), "git's entry is left");
        self.assert_whole();
    }

    /// Checks that the repository is valid according to `fsck`, and that no worktree is prunable.
    #[track_caller]
    pub(crate) fn assert_whole(&self) {
        if self.repo.exists() {
            self.git(&["fsck", "--strict", "--no-dangling"]);
            let list = self.git(&["worktree", "list", "--porcelain"]);
            assert!(!list.contains("prunable"), "{list}");
        }
    }

    pub(crate) fn has_branch(&self, branch: &str) -> bool {
        !self.git(&["branch", "--list", branch]).is_empty()
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("written");
}
