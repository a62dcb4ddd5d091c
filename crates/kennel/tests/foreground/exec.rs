//! A program that can't be executed is reported as such, not as exit code 127.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kennel_testing::{Running, Scene, everywhere};

fn refused(scene: &Scene, flags: &[&str], program: &str) -> String {
    let ended = Running::start(scene.run_command(flags, &[program])).wait();
    assert_eq!(ended.code, 204, "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    scene.assert_nothing_left();
    ended.stderr
}

fn file(scene: &Scene, name: &str, text: &str, mode: u32) -> String {
    let path = scene.path(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
    path.to_str().expect("a plain path").to_owned()
}

everywhere! {
    fn every_exec_failure_has_its_own_error_and_leaves_nothing(scene: Scene) {
        let message = refused(&scene, &[], "no-such-program");
        assert!(message.contains("no program \"no-such-program\" in PATH"), "{message}");

        let message = refused(&scene, &[], "/no/such/file");
        assert!(message.contains("/no/such/file: not found") && message.contains("os error 2"), "{message}");

        let plain = file(&scene, "plain", "x", 0o644);
        let message = refused(&scene, &[], &plain);
        assert!(message.contains("plain: not executable") && message.contains("os error 13"), "{message}");

        let message = refused(&scene, &[], "/usr");
        assert!(message.contains("/usr: not executable"), "{message}");

        let script = file(&scene, "script", "#!/no/such/interpreter -x\n", 0o755);
        let message = refused(&scene, &[], &script);
        assert!(message.contains("script: its interpreter /no/such/interpreter can't"), "{message}");

        let text = file(&scene, "text", "just text\n", 0o755);
        let message = refused(&scene, &[], &text);
        assert!(message.contains("text: not a program") && message.contains("os error 8"), "{message}");

        let message = refused(&scene, &["--cwd", "/no/such/folder"], "/bin/true");
        assert!(message.contains("can't start in folder /no/such/folder"), "{message}");
    }

    /// C5: failing runs through the whole program. The resource baseline test covers many more.
    fn fifty_failing_runs_leave_nothing(scene: Scene) {
        for _ in 0..50 {
            refused(&scene, &[], "/no/such/file");
        }
    }
}

/// Bad input is refused with the value and what to do.
#[test]
fn bad_flags_are_refused_with_code_201() {
    let Some(scene) = Scene::new(kennel_testing::Who::Other, kennel_testing::Pen::Subtree) else {
        return;
    };
    for (args, wanted) in [
        (vec!["run"], "COMMAND"),
        (vec!["run", "--grace", "soon", "--", "true"], "invalid duration \"soon\""),
        (vec!["run", "--pen", "box", "--", "true"], "box"),
        (vec!["run", "--name", "a/b", "--", "true"], "expected 1 to 64 letters"),
        (vec!["rum", "--", "true"], "run"),
        (vec!["run", "--no-such-flag", "--", "true"], "--no-such-flag"),
        (vec!["run", "--env", "KENNEL_NOT_SET_ANYWHERE", "--", "true"], "KENNEL_NOT_SET_ANYWHERE"),
        (vec!["run", "--env-file", "/no/such/file", "--", "true"], "/no/such/file"),
    ] {
        let ended = Running::start(scene.kennel(&args)).wait();
        assert_eq!(ended.code, 201, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{args:?}: {}", ended.stderr);
    }
}

/// B6 for foreground runs: a home that can't be written or read.
#[test]
fn an_unusable_home_is_refused_and_left_unchanged() {
    let Some(scene) = Scene::new(kennel_testing::Who::Other, kennel_testing::Pen::Subtree) else {
        return;
    };
    let agent = scene.fake_agent();
    let run = |home: &str| {
        let ended =
            Running::start(scene.kennel(&["--home", home, "run", "--", &agent, "sleep"])).wait();
        assert_eq!(ended.code, 202, "{}", ended.stderr);
        assert!(scene.pids().is_empty(), "nothing was started");
        ended.stderr
    };
    let message = run("/proc/nowhere");
    assert!(message.contains("can't create home /proc/nowhere"), "{message}");

    let home = scene.path("home/broken");
    fs::create_dir(&home).expect("mkdir");
    fs::write(home.join("id"), "garbage\n").expect("written");
    scene.give(&home);
    scene.give(&home.join("id"));
    let message = run(home.to_str().expect("a plain path"));
    assert!(
        message.contains("does not contain a home id") && message.contains("\"garbage\""),
        "{message}"
    );
    assert_eq!(fs::read_to_string(home.join("id")).expect("still there"), "garbage\n");
}
