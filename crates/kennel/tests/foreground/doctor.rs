//! The doctor reports the pen that a session then gets.

use kennel_testing::{Pen, Running, everywhere};
use serde_json::Value;

everywhere! {
    fn the_doctor_reports_the_pen_that_a_session_gets(scene: Scene) {
        let ended = Running::start(scene.kennel(&["doctor", "--json"])).wait();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let diagnosis: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(diagnosis["sound"], true);
        let works = |kind: &str| {
            let pens = diagnosis["pens"].as_array().expect("a list of trials");
            pens.iter().any(|trial| trial["kind"] == kind && trial["works"] == true)
        };
        assert!(works("subtree"));
        // Root may make a cgroup anywhere; another user only where one was given to it.
        let has_cgroup = scene.who == kennel_testing::Who::Root || scene.pen == Pen::Cgroup;
        assert_eq!(works("cgroup"), has_cgroup, "{}", ended.stdout);
        assert_eq!(diagnosis["pen"], if has_cgroup { "cgroup" } else { "subtree" });
        scene.assert_nothing_left();

        let agent = scene.fake_agent();
        let run = Running::start(scene.kennel(&["run", "--", &agent, "report"])).wait();
        let report: Value = serde_json::from_str(&run.stdout).expect("a report");
        let in_a_pen = report["cgroup"].as_str().is_some_and(|path| path.contains("/kennel-") && path.rsplit('/').next().is_some_and(|name| name.starts_with("kennel-") && !name.starts_with("kennel-scene-")));
        assert_eq!(in_a_pen, has_cgroup, "{report}");
        scene.assert_nothing_left();
    }
}
