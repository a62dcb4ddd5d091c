//! A simulated hierarchy with the kernel's rules, and a real one if a controller is available.

use std::cell::{Cell, RefCell};

use super::*;

/// Folders and files in a temporary folder, and a log of the writes to them.
struct Made {
    root: tempfile::TempDir,
    writes: RefCell<Vec<String>>,
    /// How many processes are forked into the folder right after it is listed.
    forks: Cell<i32>,
    is_writable: bool,
}

impl Made {
    fn new(controllers: &str, pids: &[i32]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        put("cgroup.controllers", controllers);
        put("cgroup.subtree_control", "");
        put("cgroup.procs", &lines(pids));
        Self { root, writes: RefCell::default(), forks: Cell::new(0), is_writable: true }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).unwrap()
    }

    fn place(&self) -> PenFolder<'_> {
        PenFolder {
            files: self,
            folder: self.root.path(),
            is_root: false,
            is_managed: false,
            by_root: true,
            version_one: Vec::new(),
            at_top: Vec::new(),
            owner_of: &|pid| match pid {
                0..100 => ProcessOwner::Kennel,
                100..200 => ProcessOwner::Gone,
                _ => ProcessOwner::Other("bash".into()),
            },
        }
    }
}

fn lines(pids: &[i32]) -> String {
    pids.iter().map(|pid| format!("{pid}\n")).collect()
}

impl CgroupFiles for Made {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = fs::read_to_string(path)?;
        if path.ends_with("cgroup.procs") && self.forks.get() > 0 {
            self.forks.set(self.forks.get() - 1);
            fs::write(path, format!("{text}{}\n", 50 + self.forks.get() % 40))?;
        }
        Ok(text)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let name = path.strip_prefix(self.root.path()).unwrap().display().to_string();
        self.writes.borrow_mut().push(format!("{name}: {text}"));
        let procs = self.root.path().join("cgroup.procs");
        let inside = fs::read_to_string(&procs)?;
        match name.as_str() {
            // The kernel's rule: no processes in a folder whose children have controllers. Threaded
            // controllers are enabled all the same, and then the children accept no process.
            "cgroup.subtree_control" if !inside.is_empty() && text == "+memory" => {
                Err(Errno::BUSY.into())
            }
            "cgroup.subtree_control" if !inside.is_empty() => panic!("a threaded domain: {text}"),
            "cgroup.subtree_control" => fs::write(path, &text[1..]),
            _ => {
                let stay = inside.lines().filter(|line| *line != text);
                fs::write(&procs, stay.map(|line| format!("{line}\n")).collect::<String>())?;
                fs::write(path, format!("{}{text}\n", fs::read_to_string(path).unwrap_or_default()))
            }
        }
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        KernelFiles.make_folder(path)
    }

    fn is_writable(&self, _: &Path) -> bool {
        self.is_writable
    }
}

#[test]
fn own_processes_are_moved_and_then_the_controller_is_enabled() {
    let made = Made::new("cpu memory pids\n", &[1, 2]);
    assert_eq!(made.place().offer(Controller::Memory), Ok(()));
    assert!(made.writes.borrow().is_empty(), "checking changes nothing");
    made.place().enable(Controller::Memory).unwrap();
    let expected = [
        "kennel-supervisor/cgroup.procs: 1",
        "kennel-supervisor/cgroup.procs: 2",
        "cgroup.subtree_control: +memory",
    ];
    assert_eq!(*made.writes.borrow(), expected);
    assert_eq!(made.text("cgroup.subtree_control"), "memory");
    made.writes.borrow_mut().clear();
    made.place().enable(Controller::Memory).unwrap();
    assert!(made.writes.borrow().is_empty(), "it is already enabled");
}

#[test]
fn own_processes_are_moved_for_threaded_controllers_too() {
    for controller in [Controller::Pids, Controller::Cpu] {
        let made = Made::new("cpu memory pids\n", &[1]);
        made.place().enable(controller).unwrap();
        let expected = [
            "kennel-supervisor/cgroup.procs: 1".to_owned(),
            format!("cgroup.subtree_control: +{controller}"),
        ];
        assert_eq!(*made.writes.borrow(), expected);
    }
}

#[test]
fn an_empty_folder_needs_no_leaf() {
    let made = Made::new("pids", &[]);
    made.place().enable(Controller::Pids).unwrap();
    assert_eq!(*made.writes.borrow(), ["cgroup.subtree_control: +pids"]);
    assert!(!made.root.path().join(SUPERVISOR).exists());
}

#[test]
fn processes_that_are_forked_meanwhile_are_moved_too() {
    let made = Made::new("pids", &[1]);
    made.forks.set(3);
    made.place().enable(Controller::Pids).unwrap();
    assert_eq!(made.text("cgroup.procs"), "");
    let forking = Made::new("pids", &[1]);
    forking.forks.set(1_000);
    let refused = forking.place().enable(Controller::Pids);
    assert!(matches!(refused, Err(NoController::Call(_))), "the retries are limited");
}

#[test]
fn nothing_is_moved_if_another_program_is_in_the_folder() {
    let made = Made::new("memory", &[1, 150, 200]);
    let other = Err(NoController::Strangers { pid: 200, name: "bash".into() });
    assert_eq!(made.place().offer(Controller::Memory), other);
    assert_eq!(made.place().enable(Controller::Memory), other);
    assert_eq!(made.text("cgroup.procs"), "1\n150\n200\n");
    assert!(!made.root.path().join(SUPERVISOR).exists());
}

#[test]
fn a_folder_that_systemd_has_not_delegated_is_left_alone() {
    let made = Made::new("memory", &[1]);
    let place = PenFolder { is_managed: true, ..made.place() };
    assert_eq!(place.offer(Controller::Memory), Err(NoController::NotDelegated));
    assert_eq!(place.enable(Controller::Memory), Err(NoController::NotDelegated));
    assert!(made.writes.borrow().is_empty());
    // A controller that systemd has enabled itself can be used.
    fs::write(made.root.path().join("cgroup.subtree_control"), "memory").unwrap();
    assert_eq!(place.enable(Controller::Memory), Ok(()));
}

#[test]
fn a_folder_without_write_permission_is_refused() {
    let made = Made { is_writable: false, ..Made::new("memory", &[1]) };
    let refused = made.place().offer(Controller::Memory);
    assert!(matches!(refused, Err(NoController::NotHandedDown { .. })), "{refused:?}");
}

#[test]
fn the_error_names_the_reason() {
    let made = Made::new("hugetlb\n", &[]);
    let why = |place: &PenFolder<'_>| place.enable(Controller::Memory).unwrap_err();
    assert_eq!(why(&made.place()), NoController::SwitchedOff(Controller::Memory));
    let place = PenFolder { at_top: vec!["memory".into()], ..made.place() };
    assert!(matches!(why(&place), NoController::NotHandedDown { .. }));
    let place = PenFolder { version_one: vec!["cpu".into(), "memory".into()], ..made.place() };
    assert_eq!(why(&place), NoController::InVersionOne);
    assert!(made.writes.borrow().is_empty());
}

#[test]
fn a_unit_is_usable_if_systemd_has_delegated_it() {
    let user = "/c/user.slice/user@7.service";
    let scope = format!("{user}/app.slice/a.scope");
    let pens = format!("{scope}/pens");
    let marks = |marked: &'static [&'static str]| {
        move |folder: &Path| marked.iter().any(|name| folder.ends_with(name))
    };
    let never_asked = |unit: &str| panic!("asked about {unit}");
    let managed = |folder: &str, by_root, marked| {
        is_managed(Path::new(folder), by_root, marks(marked), never_asked)
    };
    for by_root in [true, false] {
        assert!(!managed(&scope, by_root, &["user@7.service", "a.scope"]));
        assert!(!managed(&pens, by_root, &["user@7.service", "a.scope"]), "folders below it too");
        assert!(!managed("/c/by-hand/pens", by_root, &[]));
    }
    let service = "/c/system.slice/x.service";
    assert!(managed(service, true, &[]));
    assert!(managed(&scope, true, &["user@7.service"]), "the user's manager owns it");
    assert!(!managed(service, false, &[]), "write permission is enough");
}

#[test]
fn a_users_manager_is_asked_about_its_units() {
    let mark = |folder: &Path| folder.ends_with("user@7.service");
    let managed = |answer| {
        let ask = |unit: &str| {
            assert_eq!(unit, "a.scope");
            answer
        };
        let folder = "/c/user.slice/user@7.service/app.slice/a.scope/pens";
        is_managed(Path::new(folder), false, mark, ask)
    };
    assert!(managed(Some(false)));
    assert!(!managed(Some(true)));
    assert!(!managed(None), "write permission is enough");
}

#[test]
fn own_processes_are_recognized_by_their_program() {
    let own = rustix::process::getpid().as_raw_pid();
    assert_eq!(owner_of(own), ProcessOwner::Kennel);
    assert!(matches!(owner_of(1), ProcessOwner::Other(_)));
    assert!(matches!(owner_of(0), ProcessOwner::Other(_)));
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    // Until its exec it is a copy of this program.
    while owner_of(pid) == ProcessOwner::Kennel {
        std::thread::yield_now();
    }
    assert_eq!(owner_of(pid), ProcessOwner::Other("sleep".into()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(owner_of(pid), ProcessOwner::Gone);
}

/// Uses any controller at the top of the kernel's hierarchy: the rules are the same for all.
#[test]
fn the_kernel_follows_the_simulated_rules() {
    let Some(mount) = crate::host_support::cgroup_mount() else { return skip("no cgroup v2") };
    let folder = mount.join(format!("kennel-test-{}", std::process::id()));
    if let Err(error) = fs::create_dir(&folder) {
        return skip(&format!("{}: {error}", folder.display()));
    }
    let result = std::panic::catch_unwind(|| try_it(&mount, &folder));
    for path in [folder.join(SUPERVISOR), folder] {
        // A process that was killed may take a moment to leave the cgroup.
        while fs::remove_dir(&path).is_err_and(|error| is(&error, Errno::BUSY)) {
            std::thread::yield_now();
        }
    }
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

fn try_it(mount: &Path, folder: &Path) {
    let handed_down = fs::read_to_string(mount.join("cgroup.subtree_control")).unwrap();
    let Some(controller) =
        Controller::ALL.iter().find(|c| words(&handed_down).contains(&c.name().into()))
    else {
        return skip(&format!("the top hands down {handed_down:?} and nothing of ours"));
    };
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    KernelFiles.write(&folder.join("cgroup.procs"), &pid.to_string()).unwrap();
    let tried = std::panic::catch_unwind(|| {
        let owner_of = |other| if other == pid { ProcessOwner::Kennel } else { ProcessOwner::Gone };
        let place = PenFolder { is_managed: false, owner_of: &owner_of, ..PenFolder::here(folder) };
        place.enable(*controller).unwrap();
        let leaf = folder.join(SUPERVISOR).join("cgroup.procs");
        assert_eq!(fs::read_to_string(leaf).unwrap(), format!("{pid}\n"));
        assert_eq!(place.is_enabled(*controller), Ok(true));
    });
    child.kill().unwrap();
    child.wait().unwrap();
    tried.unwrap();
}

fn skip(why: &str) {
    kennel_testing::skip("enabling a real controller", why);
}
