//! quick
use kennel_pen::*;
use std::time::*;
fn main() {
    let ground = Ground::survey();
    eprintln!("{:?}", ground.cgroup().map(|b| b.path().to_owned()));
    let home = HomeId::random().unwrap();
    for kind in [Kind::Subtree, Kind::Auto] {
        let mut times = vec![];
        for _ in 0..1000 {
            let t = Instant::now();
            let mut pen = Pen::create(&ground, PenName::random(home.clone()).unwrap(), kind).unwrap();
            let d = Instant::now() + Duration::from_secs(5);
            let mut c = Command::new("/bin/true"); c.streams(Streams::Each{stdin: Stream::Inherit, stdout: Stream::Inherit, stderr: Stream::Inherit});
            pen.launch(c).unwrap().open(d).unwrap();
            let s = pen.wait_agent(d).unwrap().unwrap();
            assert_eq!(s, Status::Code(0));
            pen.remove().unwrap();
            times.push(t.elapsed());
        }
        times.sort();
        eprintln!("{kind:?} median {:?}", times[500]);
    }
    let mut times = vec![];
    for _ in 0..1000 { let t = Instant::now(); std::process::Command::new("/bin/true").status().unwrap(); times.push(t.elapsed()); }
    times.sort();
    eprintln!("std median {:?}", times[500]);
}
