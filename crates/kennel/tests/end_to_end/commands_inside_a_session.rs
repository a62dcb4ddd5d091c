//! S10: commands from inside a session.

use std::fs;

use kennel_testing::{Scene, eventually, everywhere};

use crate::crash_case::Victims;

/// A session whose agent calls `kennel ps` on request, with and without its environment.
fn launch_caller(scene: &Scene) -> String {
    let (kennel, home) = (scene.path("kennel"), scene.kennel_home());
    let (kennel, home) = (kennel.display(), home.display());
    let script = format!(
        "while [ ! -e go ]; do sleep 0.01; done
         {kennel} ps >with.out 2>with.err; echo $? >with.code
         env -i {kennel} --home {home} ps >without.out 2>without.err; echo $? >without.code
         setsid env -i {kennel} --home {home} ps >apart.out 2>apart.err; echo $? >apart.code
         touch done; exec sleep 300"
    );
    scene.launch_command(&["--name", "caller"], &["/bin/sh", "-c", &script])
}

everywhere! {
    fn no_daemon_is_started_inside_a_session(scene: Scene) {
        launch_caller(&scene);
        // Kill both: a yard alone would restart its daemon.
        Victims { daemon: true, keeper: false, yard: true }.kill(&scene, None);
        eventually("both are gone", || (scene.yard(), scene.daemon()) == (None, None));
        fs::write(scene.path("work/go"), "").expect("a file");
        eventually("the agent has called", || scene.path("work/done").exists());
        for how in ["with", "without", "apart"] {
            let read = |end: &str| {
                fs::read_to_string(scene.path(&format!("work/{how}.{end}"))).expect("written")
            };
            assert_eq!(read("code").trim(), "202", "{how}: {}{}", read("out"), read("err"));
            assert!(read("err").contains("inside session"), "{how}: {}", read("err"));
        }
        assert_eq!((scene.yard(), scene.daemon()), (None, None));
        assert_eq!(scene.session("caller")["phase"], "running", "from outside it is");
        scene.call_ok(&["stop", "caller"]);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// If a daemon runs, an agent may use Kennel.
    fn an_agent_may_use_the_daemon(scene: Scene) {
        launch_caller(&scene);
        fs::write(scene.path("work/go"), "").expect("a file");
        eventually("the agent has called", || scene.path("work/done").exists());
        for how in ["with", "without", "apart"] {
            let out = fs::read_to_string(scene.path(&format!("work/{how}.out"))).expect("written");
            assert!(out.contains("caller"), "{how}: {out}");
        }
        scene.call_ok(&["stop", "caller"]);
        scene.stop_daemon();
    }
}
