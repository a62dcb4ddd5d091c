//! The build script with a fake npm: when it runs, what it includes, and how it fails.

#[path = "../build/bounded.rs"]
mod bounded;
#[path = "../build/inputs.rs"]
mod inputs;
#[path = "../build/npm.rs"]
mod npm;
#[path = "../build/table.rs"]
mod table;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use npm::{BuiltDashboard, DashboardBuilder, INSTALLED, NpmBuildError, STAMP};

/// The build script ends all children of this process, so tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder `web`, and a folder with fake Node and npm.
struct Scene {
    folder: tempfile::TempDir,
    limit: Duration,
    _alone: MutexGuard<'static, ()>,
}

/// Records its arguments, and builds a dashboard from `src`.
const NPM: &str = r#"#!/bin/sh
echo "$*" >> ../calls
case "$1" in
ci) mkdir -p node_modules ;;
run) rm -rf dist; mkdir -p dist/assets; cp src/* dist/assets/; cp index.html dist/ ;;
esac
"#;

impl Scene {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let scene = Self { folder, limit: Duration::from_secs(60), _alone: alone };
        for (path, text) in [
            ("web/package.json", "{}"),
            ("web/package-lock.json", "{\"a\":1}"),
            ("web/index.html", "<p>the page</p>"),
            ("web/src/app-1a2b.js", "app()"),
        ] {
            scene.write(path, text);
        }
        scene.program("node", "#!/bin/sh\necho v20.1.0\n");
        scene.program("npm", NPM);
        scene
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
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

    fn build(&self) -> Result<BuiltDashboard, NpmBuildError> {
        let mut path = OsString::from(self.path("bin"));
        path.push(":/usr/bin:/bin");
        self.build_with(path)
    }

    fn build_with(&self, path: OsString) -> Result<BuiltDashboard, NpmBuildError> {
        let web = self.web();
        let mut builder = DashboardBuilder::new(&web, self.folder.path());
        builder.path = Some(path);
        builder.limit = self.limit;
        builder.build()
    }

    /// Returns how npm was called since the last call of this function.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        fs::write(self.path("calls"), "").unwrap();
        let lines = calls.lines().filter(|line| *line != "--version");
        lines.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    }
}

#[test]
fn runs_npm_only_if_the_inputs_changed() {
    let scene = Scene::new();
    let built = scene.build().unwrap();
    assert!(built.dist.join("index.html").exists() && built.dist.join(STAMP).exists());
    drop(built);
    assert_eq!(scene.calls(), ["ci --include=dev", "run build"]);
    drop(scene.build().unwrap());
    assert_eq!(scene.calls(), [""; 0], "nothing has changed");
    scene.write("web/node_modules/x.js", "1");
    scene.write("web/README.md", "1");
    scene.write("web/tsconfig.tsbuildinfo", "1");
    drop(scene.build().unwrap());
    assert_eq!(scene.calls(), [""; 0], "these are not inputs");
    for input in ["src/app-1a2b.js", "src/new/b.ts", "public/x.svg", "vite.config.ts", "index.html"]
    {
        scene.write(&format!("web/{input}"), "other");
        if input.starts_with("src/new") {
            scene.program("npm", &NPM.replace("cp src/*", "cp -r src/*"));
        }
        drop(scene.build().unwrap());
        assert_eq!(scene.calls(), ["run build"], "{input}");
    }
    scene.write("web/package-lock.json", "{\"a\":2}");
    drop(scene.build().unwrap());
    assert_eq!(scene.calls(), ["ci --include=dev", "run build"]);
    fs::remove_file(scene.path("web/src/new/b.ts")).unwrap();
    drop(scene.build().unwrap());
    assert_eq!(scene.calls(), ["run build"], "one is removed");
}

#[test]
fn a_failed_build_is_not_up_to_date() {
    let scene = Scene::new();
    drop(scene.build().unwrap());
    scene.calls();
    scene.write("web/src/app-1a2b.js", "other()");
    scene.program("npm", "#!/bin/sh\n[ $1 = run ] || exit 0\necho boom >&2\nexit 3\n");
    let error = scene.build().unwrap_err().to_string();
    assert_eq!(error, "`npm run build`: it failed (exit status: 3); its last output: boom");
    assert!(!scene.path("web/dist").join(STAMP).exists());
    scene.program("npm", "#!/bin/sh\nrm -rf dist\n");
    assert!(matches!(scene.build().unwrap_err(), NpmBuildError::NoPage));
    scene.program("npm", NPM);
    drop(scene.build().unwrap());
    assert_eq!(scene.calls(), ["run build"]);
    // Packages that failed to install are installed again.
    scene.write("web/package-lock.json", "{\"a\":2}");
    scene.program("npm", "#!/bin/sh\n[ $1 = --version ]\n");
    assert!(scene.build().unwrap_err().to_string().starts_with("`npm ci "));
    assert_ne!(fs::read(scene.web().join(INSTALLED)).unwrap(), b"{\"a\":2}");
}

#[test]
fn reports_a_missing_or_old_node() {
    let scene = Scene::new();
    let missing = scene.build_with(scene.path("nothing").into()).unwrap_err();
    assert!(matches!(missing, NpmBuildError::Missing { program: "node", .. }), "{missing}");
    scene.program("node", "#!/bin/sh\necho v18.20.0\n");
    let old = scene.build().unwrap_err().to_string();
    assert_eq!(old, "Node 20 or newer is required, found \"v18.20.0\"");
    fs::remove_file(scene.path("web/package.json")).unwrap();
    assert!(matches!(scene.build().unwrap_err(), NpmBuildError::NoFolder));
}

#[test]
fn a_build_that_takes_too_long_is_ended_with_its_descendants() {
    let mut scene = Scene::new();
    scene.limit = Duration::from_millis(500);
    let npm =
        "#!/bin/sh\n[ $1 = ci ] || exit 0\nsetsid sleep 1000 & echo $! > ../pid\nsleep 1000\n";
    scene.program("npm", npm);
    let start = Instant::now();
    let error = scene.build().unwrap_err();
    assert!(error.to_string().contains("it took longer than"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
    let pid = fs::read_to_string(scene.path("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "its descendant is gone");
}

#[test]
fn waits_for_another_build() {
    let scene = Scene::new();
    let held = scene.build().unwrap();
    scene.calls();
    scene.write("web/src/app-1a2b.js", "other()");
    std::thread::scope(|scope| {
        let other = scope.spawn(|| scene.build().map(drop));
        // One build holds the lock, another waits for it.
        let deadline = Instant::now() + Duration::from_secs(60);
        while open_lock_files() < 2 {
            assert!(Instant::now() < deadline && !other.is_finished());
            std::thread::yield_now();
        }
        assert_eq!(scene.calls(), [""; 0], "the other build waits");
        drop(held);
        other.join().unwrap().unwrap();
    });
    assert_eq!(scene.calls(), ["run build"]);
}

/// Returns how many descriptors of the lock file are open, including those of waiting builds.
fn open_lock_files() -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = open.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    open.filter(|file| file.ends_with(".build-lock")).count()
}

#[test]
fn an_up_to_date_dashboard_needs_neither_npm_nor_a_writable_folder() {
    let scene = Scene::new();
    drop(scene.build().unwrap());
    fs::remove_dir_all(scene.path("bin")).unwrap();
    // Not even root can open a folder as a file.
    fs::remove_file(scene.path("web/.build-lock")).unwrap();
    fs::create_dir(scene.path("web/.build-lock")).unwrap();
    drop(scene.build().unwrap());
    scene.write("web/src/app-1a2b.js", "other()");
    let error = scene.build().unwrap_err();
    assert!(matches!(error, NpmBuildError::Files { action: "write", .. }), "{error}");
}

#[test]
fn includes_files_with_their_hashes_and_compressed_content() {
    let scene = Scene::new();
    scene.write("dist/index.html", "<p>the page</p>");
    scene.write("dist/assets/app-1.js", &"again(); ".repeat(1000));
    scene.write("dist/assets/app-1.js.map", "{}");
    scene.write("dist/.made-from", "x");
    fs::create_dir(scene.path("out")).unwrap();
    for _ in 0..2 {
        table::write(&scene.path("dist"), &scene.path("out")).unwrap();
    }
    let table = fs::read_to_string(scene.path("out/table.rs")).unwrap();
    let paths: Vec<_> = table.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(
        paths,
        ["/assets/app-1.js", "/index.html"],
        "sorted, without hidden files and maps: {table}"
    );
    assert!(table.contains("MISSING_REASON: Option<&str> = None"));
    let gzip = fs::read(scene.path("out/page/0.gz")).unwrap();
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, "again(); ".repeat(1000));
    assert!(!scene.path("out/page/1.gz").exists(), "compression would not help");
    table::write_none(&scene.path("out"), "no \"Node\"\nhere").unwrap();
    let table = fs::read_to_string(scene.path("out/table.rs")).unwrap();
    assert!(
        table.starts_with(r#"const MISSING_REASON: Option<&str> = Some("no \"Node\"\nhere");"#)
    );
}
