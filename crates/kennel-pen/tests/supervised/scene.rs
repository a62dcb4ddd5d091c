//! What these tests share.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_pen::PenKind;
use kennel_pen::supervisor::{GatedLaunch, PenLaunch, SupervisorError, SupervisorProgram};
use kennel_pen::{Command, HomeId, PenName};
use kennel_testing::{alive, cgroups_named, eventually, may_make_cgroups};
use tempfile::TempDir;

/// A home and a folder of its own.
pub(crate) struct TestHome {
    pub(crate) home: HomeId,
    pub(crate) folder: TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("kennel-home-").tempdir().expect("a temp folder");
        Self { home: HomeId::random().expect("random bytes"), folder }
    }

    /// Returns the kinds of pen that are possible here.
    pub(crate) fn kinds() -> Vec<PenKind> {
        let mut kinds = vec![PenKind::Subtree];
        if may_make_cgroups() {
            kinds.push(PenKind::Cgroup);
        } else {
            kennel_testing::skip(
                "kennel-pen's own tests in a cgroup pen",
                "needs root, or a delegated cgroup",
            );
        }
        kinds
    }

    pub(crate) fn program() -> SupervisorProgram {
        SupervisorProgram::at(env!("CARGO_BIN_EXE_kennel-supervisor"))
    }

    /// Returns the fake agent with this behaviour.
    pub(crate) fn agent(&self, behaviour: &[&str]) -> Command {
        let mut command = Command::new(fake_agent());
        command.args(behaviour).env("FAKE_AGENT_PIDS", self.pids_file()).folder(self.folder.path());
        command
    }

    pub(crate) fn order(&self, kind: PenKind, command: Command) -> PenLaunch {
        let name = PenName::random(self.home.clone()).expect("random bytes");
        let mut launch = PenLaunch::new(name, command);
        (launch.kind, launch.linger) = (kind, Duration::from_millis(100));
        launch
    }

    pub(crate) fn launch(
        &self,
        kind: PenKind,
        behaviour: &[&str],
    ) -> Result<GatedLaunch, SupervisorError> {
        Self::program().launch(self.order(kind, self.agent(behaviour)), soon())
    }

    fn pids_file(&self) -> PathBuf {
        self.folder.path().join("pids")
    }

    /// Returns the pids that the processes of the fake agent have recorded.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.pids_file()).unwrap_or_default();
        text.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
    }

    pub(crate) fn pens(&self) -> Vec<PathBuf> {
        cgroups_named(&format!("kennel-{}-", self.home))
    }

    /// Checks from outside that nothing is left soon.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        eventually("no process, no supervisor and no pen is left", || {
            self.pids().into_iter().all(|pid| !alive(pid))
                && self.pens().is_empty()
                && self.supervisors() == 0
        });
    }

    /// Counts the supervisors and gated processes of this home, by command line and environment.
    fn supervisors(&self) -> usize {
        let entries = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
        let bears = |file: PathBuf| {
            std::fs::read(file).is_ok_and(|text| contains(&text, self.home.as_str().as_bytes()))
        };
        entries
            .filter(|entry| {
                bears(entry.path().join("cmdline")) || bears(entry.path().join("environ"))
            })
            .count()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

pub(crate) fn fake_agent() -> PathBuf {
    let test = std::env::current_exe().expect("our own path");
    let folder = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    folder.join("fake-agent")
}

pub(crate) fn soon() -> Instant {
    kennel_testing::soon()
}
