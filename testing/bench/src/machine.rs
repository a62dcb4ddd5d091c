//! Describes the machine on which the figures were measured.

use std::fs;

use anyhow::Result;
use kennel_pen::{HostSupport, cgroup_mount};
use rustix::process::Pid;

/// Prints the facts.
pub(crate) fn print_facts(quick: bool) {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let profile =
        if cfg!(debug_assertions) { "debug (figures are meaningless)" } else { "release" };
    let line = |name: &str, value: &str| println!("  {name:<18}{value}");
    println!("machine");
    line("kernel", &release);
    line("cores", &format!("{cores}, {}", processor()));
    line("cgroup", &cgroup());
    line("user", if is_root() { "root" } else { "not root" });
    line("huge pages", &first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
    line("load", &first_line("/proc/loadavg"));
    line("profile", profile);
    line("mode", if quick { "quick" } else { "full" });
    println!();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn cgroup() -> String {
    let support = HostSupport::look();
    match support.cgroup() {
        Ok(base) => base.path().display().to_string(),
        Err(why) => format!("none: {why} (mount: {:?})", cgroup_mount().unwrap_or_default()),
    }
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown", |(_, name)| name).to_owned()
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

/// Returns the children of this process, zombies included.
pub(crate) fn children() -> Result<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        let pids = text.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok());
        children.extend(pids.filter_map(Pid::from_raw));
    }
    Ok(children)
}
