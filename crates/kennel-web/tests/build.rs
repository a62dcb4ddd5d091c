//! The build script, with an npm of our own: when it is run, what is packed, and what comes of its failures.

#[path = "../build/bounded.rs"]
mod bounded;
#[path = "../build/inputs.rs"]
mod inputs;
#[path = "../build/make.rs"]
mod make;
#[path = "../build/table.rs"]
mod table;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use make::{INSTALLED, Made, MakeError, Maker, STAMP};

/// Whoever runs npm ends all children of this process then.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder `web`, and a folder of programs that stand in for Node and npm.
struct Stage {
    place: tempfile::TempDir,
    limit: Duration,
    _alone: MutexGuard<'static, ()>,
}

/// Notes what it is asked for, and makes a page of what is in `src`.
const NPM: &str = r#"#!/bin/sh
echo "$*" >> ../asked
case "$1" in
ci) mkdir -p node_modules ;;
run) rm -rf dist; mkdir -p dist/assets; cp src/* dist/assets/; cp index.html dist/ ;;
esac
"#;

impl Stage {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = tempfile::tempdir().unwrap();
        let stage = Self { place, limit: Duration::from_secs(60), _alone: alone };
        for (path, text) in [
            ("web/package.json", "{}"),
            ("web/package-lock.json", "{\"a\":1}"),
            ("web/index.html", "<p>the page</p>"),
            ("web/src/app-1a2b.js", "app()"),
        ] {
            stage.write(path, text);
        }
        stage.program("node", "#!/bin/sh\necho v20.1.0\n");
        stage.program("npm", NPM);
        stage
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.place.path().join(inside)
    }

    fn web(&self) -> PathBuf {
        self.path("web")
    }

    fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), text);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&format!("bin/{name}")), executable).unwrap();
    }

    fn make(&self) -> Result<Made, MakeError> {
        let mut path = OsString::from(self.path("bin"));
        path.push(":/usr/bin:/bin");
        self.make_with(path)
    }

    fn make_with(&self, path: OsString) -> Result<Made, MakeError> {
        let web = self.web();
        let mut maker = Maker::new(&web, self.place.path());
        maker.path = Some(path);
        maker.limit = self.limit;
        maker.page()
    }

    /// What npm was asked for since this was asked last.
    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.path("asked")).unwrap_or_default();
        fs::write(self.path("asked"), "").unwrap();
        let lines = asked.lines().filter(|line| *line != "--version");
        lines.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    }
}

#[test]
fn npm_is_run_for_other_inputs_only() {
    let stage = Stage::new();
    let made = stage.make().unwrap();
    assert!(made.dist.join("index.html").exists() && made.dist.join(STAMP).exists());
    drop(made);
    assert_eq!(stage.asked(), ["ci --include=dev", "run build"]);
    drop(stage.make().unwrap());
    assert_eq!(stage.asked(), [""; 0], "nothing has changed");
    stage.write("web/node_modules/x.js", "1");
    stage.write("web/README.md", "1");
    stage.write("web/tsconfig.tsbuildinfo", "1");
    drop(stage.make().unwrap());
    assert_eq!(stage.asked(), [""; 0], "the page is not made from these");
    for input in ["src/app-1a2b.js", "src/new/b.ts", "public/x.svg", "vite.config.ts", "index.html"]
    {
        stage.write(&format!("web/{input}"), "other");
        if input.starts_with("src/new") {
            stage.program("npm", &NPM.replace("cp src/*", "cp -r src/*"));
        }
        drop(stage.make().unwrap());
        assert_eq!(stage.asked(), ["run build"], "{input}");
    }
    stage.write("web/package-lock.json", "{\"a\":2}");
    drop(stage.make().unwrap());
    assert_eq!(stage.asked(), ["ci --include=dev", "run build"]);
    fs::remove_file(stage.path("web/src/new/b.ts")).unwrap();
    drop(stage.make().unwrap());
    assert_eq!(stage.asked(), ["run build"], "one is gone");
}

#[test]
fn what_failed_is_not_taken_for_made() {
    let stage = Stage::new();
    drop(stage.make().unwrap());
    stage.asked();
    stage.write("web/src/app-1a2b.js", "other()");
    stage.program("npm", "#!/bin/sh\n[ $1 = run ] || exit 0\necho boom >&2\nexit 3\n");
    let error = stage.make().unwrap_err().to_string();
    assert_eq!(error, "`npm run build`: it failed (exit status: 3); it said at last: boom");
    assert!(!stage.path("web/dist").join(STAMP).exists());
    stage.program("npm", "#!/bin/sh\nrm -rf dist\n");
    assert!(matches!(stage.make().unwrap_err(), MakeError::NoPage));
    stage.program("npm", NPM);
    drop(stage.make().unwrap());
    assert_eq!(stage.asked(), ["run build"]);
    // Packages that did not come are asked for again.
    stage.write("web/package-lock.json", "{\"a\":2}");
    stage.program("npm", "#!/bin/sh\n[ $1 = --version ]\n");
    assert!(stage.make().unwrap_err().to_string().starts_with("`npm ci "));
    assert_ne!(fs::read(stage.web().join(INSTALLED)).unwrap(), b"{\"a\":2}");
}

#[test]
fn without_node_it_says_so() {
    let stage = Stage::new();
    let nowhere = stage.make_with(stage.path("nothing").into()).unwrap_err();
    assert!(matches!(nowhere, MakeError::Missing { program: "node", .. }), "{nowhere}");
    stage.program("node", "#!/bin/sh\necho v18.20.0\n");
    let old = stage.make().unwrap_err().to_string();
    assert_eq!(old, "Node 20 or newer is needed, and this is \"v18.20.0\"");
    fs::remove_file(stage.path("web/package.json")).unwrap();
    assert!(matches!(stage.make().unwrap_err(), MakeError::NoFolder));
}

#[test]
fn what_takes_too_long_is_ended_with_all_below_it() {
    let mut stage = Stage::new();
    stage.limit = Duration::from_millis(500);
    let npm =
        "#!/bin/sh\n[ $1 = ci ] || exit 0\nsetsid sleep 1000 & echo $! > ../pid\nsleep 1000\n";
    stage.program("npm", npm);
    let start = Instant::now();
    let error = stage.make().unwrap_err();
    assert!(error.to_string().contains("it took longer than"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
    let pid = fs::read_to_string(stage.path("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the one below it is gone");
}

#[test]
fn whoever_makes_it_is_waited_for() {
    let stage = Stage::new();
    let held = stage.make().unwrap();
    stage.asked();
    stage.write("web/src/app-1a2b.js", "other()");
    std::thread::scope(|scope| {
        let other = scope.spawn(|| stage.make().map(drop));
        // One holds it, and another has come for it.
        let deadline = Instant::now() + Duration::from_secs(60);
        while at_the_lock() < 2 {
            assert!(Instant::now() < deadline && !other.is_finished());
            std::thread::yield_now();
        }
        assert_eq!(stage.asked(), [""; 0], "whoever holds it is left alone");
        drop(held);
        other.join().unwrap().unwrap();
    });
    assert_eq!(stage.asked(), ["run build"]);
}

/// How many have the lock's file open, whether they hold it or want to.
fn at_the_lock() -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = open.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    open.filter(|file| file.ends_with(".build-lock")).count()
}

#[test]
fn a_page_that_is_there_needs_neither_npm_nor_a_tree_that_can_be_written() {
    let stage = Stage::new();
    drop(stage.make().unwrap());
    fs::remove_dir_all(stage.path("bin")).unwrap();
    // A folder in its place can't be opened as a file, whoever we are.
    fs::remove_file(stage.path("web/.build-lock")).unwrap();
    fs::create_dir(stage.path("web/.build-lock")).unwrap();
    drop(stage.make().unwrap());
    stage.write("web/src/app-1a2b.js", "other()");
    let error = stage.make().unwrap_err();
    assert!(matches!(error, MakeError::Files { what: "written", .. }), "{error}");
}

#[test]
fn files_are_packed_with_what_a_browser_is_told_of_them() {
    let stage = Stage::new();
    stage.write("dist/index.html", "<p>the page</p>");
    stage.write("dist/assets/app-1.js", &"again(); ".repeat(1000));
    stage.write("dist/assets/app-1.js.map", "{}");
    stage.write("dist/.made-from", "x");
    fs::create_dir(stage.path("out")).unwrap();
    for _ in 0..2 {
        table::write(&stage.path("dist"), &stage.path("out")).unwrap();
    }
    let table = fs::read_to_string(stage.path("out/table.rs")).unwrap();
    let paths: Vec<_> = table.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(paths, ["/assets/app-1.js", "/index.html"], "sorted, without others: {table}");
    assert!(table.contains("WHY_NOT: Option<&str> = None"));
    let gzip = fs::read(stage.path("out/page/0.gz")).unwrap();
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, "again(); ".repeat(1000));
    assert!(!stage.path("out/page/1.gz").exists(), "it would gain nothing");
    table::write_none(&stage.path("out"), "no \"Node\"\nhere").unwrap();
    let table = fs::read_to_string(stage.path("out/table.rs")).unwrap();
    assert!(table.starts_with(r#"const WHY_NOT: Option<&str> = Some("no \"Node\"\nhere");"#));
}
