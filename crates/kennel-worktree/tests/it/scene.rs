//! A repository of a test's own, with a git that knows nothing of this machine's settings.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kennel_worktree::{
    BranchFate, Git, Limits, Made, Plan, Record, Refusal, Removed, Request, Why, make, remove,
};
use tempfile::TempDir;

pub(crate) const SESSION: &str = "0abc1234";

/// A folder with a repository `repo`, with one commit on `main`, and a place for worktrees.
pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) repo: PathBuf,
    pub(crate) place: PathBuf,
}

impl Scene {
    /// With one commit.
    pub(crate) fn new() -> Self {
        Self::named("repo")
    }

    /// With one commit, in a folder of this name.
    pub(crate) fn named(name: &str) -> Self {
        let scene = Self::empty(name);
        scene.write("file", "one\n");
        scene.write(".gitignore", "ignored\n*.o\n");
        scene.write("sub folder/inner", "inner\n");
        scene.commit_all("first");
        scene
    }

    /// Without a commit.
    pub(crate) fn empty(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("a real path");
        let (repo, place) = (real.join(name), real.join("place/of worktrees"));
        fs::create_dir(&repo).expect("a folder");
        let scene = Self { folder, repo, place };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    /// A path in the scene.
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

    /// The git under test.
    pub(crate) fn tool(&self) -> Git {
        let limits = Limits {
            make: Duration::from_secs(60),
            look: Duration::from_secs(60),
            locks: Duration::from_secs(30),
        };
        Git::new(self.environment()).with_limits(limits)
    }

    /// Git as a user calls it; must succeed.
    #[track_caller]
    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(folder);
        git.env_clear().envs(self.environment());
        let output = git.output().expect("git runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} in {folder:?}: {said}");
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

    /// A plan from a folder.
    pub(crate) fn plan(&self, folder: &Path, branch: Option<&str>) -> Result<Plan, Refusal> {
        self.plan_for(folder, SESSION, branch)
    }

    pub(crate) fn plan_for(
        &self,
        folder: &Path,
        session: &str,
        branch: Option<&str>,
    ) -> Result<Plan, Refusal> {
        let place = &self.place;
        Plan::new(&self.tool(), &Request { folder, place, session, branch, base: None })
    }

    /// A worktree from the top of the repository, on a branch of its own.
    #[track_caller]
    pub(crate) fn made(&self) -> Record {
        self.made_on(None)
    }

    #[track_caller]
    pub(crate) fn made_on(&self, branch: Option<&str>) -> Record {
        let record = self.plan(&self.repo, branch).expect("a plan").record;
        self.make(&record);
        record
    }

    #[track_caller]
    pub(crate) fn make(&self, record: &Record) -> Made {
        make(&self.tool(), record).expect("made")
    }

    /// Removes it, and says why it was kept, if it was.
    #[track_caller]
    pub(crate) fn kept(&self, record: &Record) -> Vec<Why> {
        let link = fs::symlink_metadata(record.path.join(".git")).is_ok();
        match remove(&self.tool(), record).expect("no error") {
            Removed::Kept { why } => {
                let is_there = fs::symlink_metadata(record.path.join(".git")).is_ok();
                assert_eq!(is_there, link, "what is kept is not touched");
                why
            }
            Removed::Gone { branch } => panic!("it is gone; branch: {branch:?}"),
        }
    }

    /// Removes it, and checks that nothing of it is left but perhaps the branch.
    #[track_caller]
    pub(crate) fn gone(&self, record: &Record) -> BranchFate {
        match remove(&self.tool(), record).expect("no error") {
            Removed::Gone { branch } => {
                self.assert_nothing_left(record);
                branch
            }
            Removed::Kept { why } => panic!("it was kept: {why:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn assert_nothing_left(&self, record: &Record) {
        let left: Vec<_> = fs::read_dir(record.path.parent().expect("a place"))
            .map(|entries| entries.map(|entry| entry.expect("an entry").file_name()).collect())
            .unwrap_or_default();
        let own = record.path.file_name().expect("a name").to_string_lossy().into_owned();
        let left: Vec<_> = left
            .iter()
            .filter(|name: &&OsString| name.to_string_lossy().starts_with(&own))
            .collect();
        assert!(left.is_empty(), "left in the place: {left:?}");
        assert!(!record.repo.join("worktrees").join(&own).exists(), "git's entry is left");
        self.assert_whole();
    }

    /// The repository is whole: for `fsck`, and for a list of worktrees none of which is to be pruned.
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
