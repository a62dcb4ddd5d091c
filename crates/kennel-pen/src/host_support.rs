//! What this host supports for pens, found out by trying.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use kennel_sys::clone::{self, ChildSpec};
use kennel_sys::fault::{CallError, call};
use kennel_types::PenKind;
use rustix::fd::AsFd;
use rustix::io::Errno;

use crate::cgroup::{Cgroup, CgroupBase};
use crate::command::open_null;
use crate::controllers::{PenFolder, SUPERVISOR};
use crate::limits::{CgroupSetting, Controller, NoController, PenLimitError, PenLimits};
use crate::name::{HomeId, PenName};

/// How long the cgroup of a trial may take to become empty.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Why no cgroup pens can be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCgroup {
    /// No cgroup v2 file system is mounted.
    #[error("no cgroup v2 file system is mounted")]
    NotMounted,
    /// The cgroup of this process is outside the hierarchy at this mount point.
    #[error("the cgroup {0} of this process is not below the mount at {1}")]
    NotVisible(String, PathBuf),
    /// systemd owns the root of the hierarchy, so other programs may not create folders there.
    #[error("this process is in the root cgroup, which belongs to systemd")]
    RootOfSystemd,
    /// A step of the trial failed.
    #[error("{0}")]
    Trial(String),
}

/// What this host supports for pens of this process.
#[derive(Debug)]
pub struct HostSupport {
    cgroup: Result<CgroupBase, NoCgroup>,
}

impl HostSupport {
    /// Creates a cgroup below that of this process, starts a process in it, and removes it. The
    /// name contains the home's id, so it can be found if this process is killed.
    pub fn survey(home: &HomeId) -> Self {
        Self { cgroup: find_base().and_then(|path| try_base(&path, home)) }
    }

    /// Looks for the cgroup folder without a trial: enough to search for pens.
    pub fn look() -> Self {
        let open = |path: PathBuf| CgroupBase::open(&path).map_err(failed_trial("opening", &path));
        Self { cgroup: find_base().and_then(open) }
    }

    /// No support for cgroups, regardless of the host.
    pub fn without_cgroup() -> Self {
        Self { cgroup: Err(NoCgroup::NotMounted) }
    }

    /// Returns the folder in which cgroup pens can be created.
    pub fn cgroup(&self) -> Result<&CgroupBase, &NoCgroup> {
        self.cgroup.as_ref()
    }
}

/// Whether pens can have one kind of limit.
#[derive(Debug)]
pub struct LimitOffer {
    /// The kind of limit.
    pub controller: Controller,
    /// Why not, and what to do.
    pub why_not: Option<PenLimitError>,
}

impl HostSupport {
    /// Returns which limits pens can have. Changes nothing; the first pen with a limit may move
    /// Kennel's processes to a cgroup `kennel-supervisor` beside the pens, as the kernel requires.
    pub fn limits(&self) -> Vec<LimitOffer> {
        let offer = |controller| {
            let why_not = match &self.cgroup {
                Err(why) => Some(PenLimitError::NoCgroup { controller, why: why.clone() }),
                Ok(base) => PenFolder::here(&base.path)
                    .offer(controller)
                    .err()
                    .map(|why| no_controller(base, controller, why)),
            };
            LimitOffer { controller, why_not }
        };
        Controller::ALL.map(offer).into()
    }

    /// Enables the controllers for these limits. Returns what to set in the pen's folder, and the
    /// limits that are not possible.
    pub(crate) fn prepare(
        &self,
        limits: &PenLimits,
        base: Option<&CgroupBase>,
        kind: PenKind,
    ) -> Result<(Vec<CgroupSetting>, Vec<PenLimitError>), PenLimitError> {
        let mut settings = limits.settings();
        let mut wanted = settings.iter().map(|setting| setting.controller).collect::<Vec<_>>();
        wanted.dedup();
        let mut unmet = Vec::new();
        for controller in wanted {
            let ready = match (base, &self.cgroup) {
                (Some(base), _) => PenFolder::here(&base.path)
                    .enable(controller)
                    .map_err(|why| no_controller(base, controller, why)),
                (None, Err(why)) if matches!(kind, PenKind::Auto | PenKind::Cgroup) => {
                    Err(PenLimitError::NoCgroup { controller, why: why.clone() })
                }
                (None, _) => Err(PenLimitError::WithoutCgroup { controller }),
            };
            match ready {
                Ok(()) => {}
                Err(error) if !limits.best_effort => return Err(error),
                Err(error) => {
                    settings.retain(|setting| setting.controller != controller);
                    unmet.push(error);
                }
            }
        }
        Ok((settings, unmet))
    }
}

fn no_controller(base: &CgroupBase, controller: Controller, why: NoController) -> PenLimitError {
    PenLimitError::NoController { controller, folder: base.path.clone(), why }
}

/// Returns the mount point of cgroup v2, if it is mounted.
pub fn cgroup_mount() -> Option<PathBuf> {
    mounts().into_iter().next().map(|(_, point)| point)
}

/// (root, mount point) of each cgroup v2 mount.
fn mounts() -> Vec<(String, PathBuf)> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<(String, PathBuf)> {
    let (mount, source) = line.split_once(" - ")?;
    if source.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    Some((unescape(fields.next()?), PathBuf::from(unescape(fields.next()?))))
}

/// The kernel writes blanks and backslashes in these fields as three octal digits.
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(field.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// Returns the cgroup of this process, from `/proc/self/cgroup`.
fn own_cgroup() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(beside_the_pens(own).to_owned())
}

/// Pens are created beside the leaf that Kennel's own processes may have been moved to, not in it.
fn beside_the_pens(own: &str) -> &str {
    match own.strip_suffix(SUPERVISOR).and_then(|rest| rest.strip_suffix('/')) {
        Some("") => "/",
        Some(rest) => rest,
        None => own,
    }
}

fn find_base() -> Result<PathBuf, NoCgroup> {
    let mounts = mounts();
    let own = own_cgroup().ok_or(NoCgroup::NotMounted)?;
    let mount = mounts.first().ok_or(NoCgroup::NotMounted)?.1.clone();
    if own == "/" && Path::new("/run/systemd/system").exists() {
        return Err(NoCgroup::RootOfSystemd);
    }
    mounts
        .iter()
        .find_map(|(root, point)| below(&own, root).map(|path| point.join(path)))
        .ok_or(NoCgroup::NotVisible(own, mount))
}

/// `own` relative to the mount's `root`, if it is below it.
fn below(own: &str, root: &str) -> Option<PathBuf> {
    let relative = Path::new(own).strip_prefix(root).ok()?;
    // A cgroup outside the namespace is shown as /../…
    (!relative.starts_with("..")).then(|| relative.to_owned())
}

fn failed_trial(step: &'static str, folder: &Path) -> impl Fn(CallError) -> NoCgroup {
    move |error| NoCgroup::Trial(format!("{step} in {} failed: {error}", folder.display()))
}

fn try_base(path: &Path, home: &HomeId) -> Result<CgroupBase, NoCgroup> {
    let failed = |step| failed_trial(step, path);
    let base = CgroupBase::open(path).map_err(failed("opening"))?;
    let random = |error: io::Error| failed("a random name")(CallError::new("getrandom", error));
    let name = PenName::random(home.clone()).map_err(random)?;
    let cgroup = Cgroup::create(&base, &name).map_err(failed("creating a cgroup"))?;
    let armed = cgroup.open_all().map_err(failed("opening its files"));
    let tried = try_clone_into(&cgroup).map_err(failed("starting a process in a cgroup"));
    let killed =
        cgroup.kill().map_err(|error| failed("cgroup.kill")(CallError::new("write", error)));
    let removed = remove_soon(&cgroup).map_err(failed("removing a cgroup"));
    armed.and(tried).and(killed).and(removed).map(|()| base)
}

/// On a busy machine the process of the trial may take a while to exit.
fn remove_soon(cgroup: &Cgroup) -> Result<(), CallError> {
    let deadline = Instant::now() + REMOVAL_TIMEOUT;
    loop {
        if cgroup.remove()? {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(CallError::new("rmdir", Errno::BUSY));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a process that never gets past its gate, so its program does not matter.
fn try_clone_into(cgroup: &Cgroup) -> Result<(), CallError> {
    let null = call("open /dev/null", open_null)?;
    let mut spec = ChildSpec::new(CString::default(), Vec::new(), [null.as_fd(); 3]);
    spec.cgroup = Some(cgroup.folder());
    crate::launch::reap_shortly(&clone::start(spec)?.dismiss());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_line_is_parsed_spaces_included() {
        let line =
            r"42 28 0:27 /a\040b /sys/fs/cgroup/uni\040fied rw,nosuid shared:9 - cgroup2 cgroup rw";
        assert_eq!(parse_mount(line), Some(("/a b".into(), "/sys/fs/cgroup/uni fied".into())));
        assert_eq!(parse_mount("29 28 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }

    #[test]
    fn pens_are_created_beside_their_supervisor() {
        assert_eq!(beside_the_pens("/a/b"), "/a/b");
        assert_eq!(beside_the_pens("/a/kennel-supervisor"), "/a");
        assert_eq!(beside_the_pens("/kennel-supervisor"), "/");
        assert_eq!(beside_the_pens("/a/not-kennel-supervisor"), "/a/not-kennel-supervisor");
    }

    #[test]
    fn the_own_folder_is_found_below_the_root_of_the_mount() {
        assert_eq!(below("/a/b", "/"), Some("a/b".into()));
        assert_eq!(below("/a/b", "/a"), Some("b".into()));
        assert_eq!(below("/a/b", "/c"), None);
        assert_eq!(below("/../x", "/"), None);
        assert_eq!(below("/", "/"), Some("".into()));
    }
}
