//! Streams pass through byte for byte.

use std::io::Write;
use std::process::Stdio;

use kennel_testing::{Running, everywhere};

everywhere! {
    fn a_flood_of_output_arrives_whole(scene: Scene) {
        let ended = scene.run(&[], &["flood", "3000000"]);
        assert_eq!(ended.code, 0);
        assert_eq!(ended.stdout.len(), 3_000_000);
        for (number, line) in ended.stdout.lines().enumerate().take(40_000) {
            if line.len() == 63 {
                assert_eq!(line, format!("{number:063}"));
            }
        }
        scene.assert_nothing_left();
    }

    fn input_comes_back_unchanged(scene: Scene) {
        let agent = scene.fake_agent();
        let mut command = scene.run_command(&[], &[&agent, "echo"]);
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        let mut stdin = running.stdin().expect("piped");
        let text = "plain\u{1b}[31m\r\n\ttabs and bells\u{7}\n";
        stdin.write_all(text.as_bytes()).expect("written");
        drop(stdin); // end-of-file reaches the agent
        let ended = running.wait();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, text, ""));
        scene.assert_nothing_left();
    }

    fn a_closed_reader_is_visible_to_the_agent_only(scene: Scene) {
        let agent = scene.fake_agent();
        let mut command = scene.run_command(&[], &[&agent, "flood", "50000000"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        drop(child.stdout.take());
        let status = child.wait().expect("our child");
        // The fake agent reports that it could not write; Kennel returns its exit code.
        assert_eq!(status.code(), Some(74));
        scene.assert_nothing_left();
    }
}
