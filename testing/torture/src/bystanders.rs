//! Processes that do not belong to Kennel, and must be unharmed at the end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kennel_testing::{Process, Scene};

/// How long bystanders run, in seconds.
const LIFE: &str = "900";
/// How long a dead process may take to be reaped, after which its pid is free.
const REAP_TIMEOUT: Duration = Duration::from_secs(1);
/// Writing a number here makes the next process get the pid that follows.
const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";

/// The bystanders of a scene.
#[derive(Debug, Default)]
pub(crate) struct Bystanders(Mutex<Vec<Bystander>>);

#[derive(Debug)]
struct Bystander {
    what: String,
    child: Child,
}

/// Whether a bystander has got a certain pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum PidReuse {
    /// A bystander has the pid.
    Yes,
    /// Another process was faster, or this machine does not support it.
    No,
}

impl Bystanders {
    fn open(&self) -> MutexGuard<'_, Vec<Bystander>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts processes with names and cookies that look like Kennel's, and an agent outside of
    /// Kennel.
    pub(crate) fn start(scene: &Scene) -> anyhow::Result<Self> {
        let all = Self::default();
        for name in ["kennel-keeper", "kennel-yard", "kennel-daemon", "kennel-spare"] {
            let mut bash = scene.command(Path::new("bash"));
            bash.args([
                "-c",
                &format!("exec -a '{name} {}' sleep {LIFE}", scene.kennel_home().display()),
            ]);
            bash.env("KENNEL_HOME_ID", "0123456789abcdef").env("KENNEL_SESSION_ID", "0c3k5d9wq2fa");
            all.add(format!("a process called {name}"), bash)?;
        }
        let mut own = scene.command(Path::new(&scene.fake_agent()));
        own.arg("sleep");
        all.add("the user's own agent".to_owned(), own)?;
        if scene.has_cgroup() {
            let cgroup = scene.other_cgroup("kennel-0123456789abcdef-0c3k5d9wq2fa");
            let pid = all.pids().iter().next().copied().unwrap_or_default();
            fs::write(cgroup.join("cgroup.procs"), pid.to_string())?;
        }
        Ok(all)
    }

    fn add(&self, what: String, mut command: Command) -> anyhow::Result<()> {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        self.open().push(Bystander { what, child });
        Ok(())
    }

    /// Returns their pids. They are children that are not reaped, so that no other process has
    /// these pids.
    pub(crate) fn pids(&self) -> BTreeSet<i32> {
        self.open().iter().filter_map(|it| i32::try_from(it.child.id()).ok()).collect()
    }

    /// Starts a bystander with the pid of a killed process, as soon as that is reaped.
    pub(crate) fn reuse_pid(&self, pid: i32, whose: &str) -> PidReuse {
        let deadline = Instant::now() + REAP_TIMEOUT;
        while Path::new(&format!("/proc/{pid}")).exists() {
            if Instant::now() > deadline {
                return PidReuse::No;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let set = fs::write(LAST_PID, (pid - 1).to_string());
        let sleeper = Command::new("sleep").arg(LIFE).env_clear().spawn();
        let (Ok(()), Ok(mut child)) = (set, sleeper) else { return PidReuse::No };
        if i32::try_from(child.id()) == Ok(pid) {
            let what = format!("a bystander with the former pid {pid} of {whose}");
            self.open().push(Bystander { what, child });
            return PidReuse::Yes;
        }
        child.kill().and_then(|()| child.wait()).ok();
        PidReuse::No
    }

    /// Returns the bystanders that were harmed.
    pub(crate) fn harmed(&self) -> Vec<String> {
        let mut harmed = Vec::new();
        for Bystander { what, child } in self.open().iter_mut() {
            let pid = i32::try_from(child.id()).unwrap_or_default();
            match child.try_wait() {
                Ok(None) => {}
                ended => {
                    harmed.push(format!("{what} (pid {pid}) has ended: {ended:?}"));
                    continue;
                }
            }
            match Process::look(pid) {
                Some(process) if process.state != 'T' => {}
                other => harmed.push(format!("{what} (pid {pid}) is stopped: {other:?}")),
            }
        }
        harmed
    }

    /// Returns the number of live bystanders.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }
}

impl Drop for Bystanders {
    fn drop(&mut self) {
        for bystander in self.open().iter_mut() {
            bystander.child.kill().and_then(|()| bystander.child.wait().map(drop)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_a_bystander_that_was_harmed() {
        let all = Bystanders::default();
        let mut sleep = Command::new("sleep");
        sleep.arg(LIFE);
        all.add("a sleeper".to_owned(), sleep).unwrap();
        assert_eq!(all.harmed(), Vec::<String>::new());
        all.open()[0].child.kill().unwrap();
        kennel_testing::eventually("it is reported", || {
            all.harmed().first().is_some_and(|harmed| harmed.contains("a sleeper"))
        });
    }
}
