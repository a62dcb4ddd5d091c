//! Simulated launches: clock, CPU time and processes are made up.

use kennel_pen::Generation;
use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
enum Happening {
    Output,
    Input,
    /// A process starts, and exits a moment later.
    Fork,
    /// Half a core is used for this long.
    Work(Duration),
}

/// A launch whose activity is known in advance.
#[derive(Debug, Clone, Default)]
struct World(Vec<(Duration, Happening)>);

impl World {
    fn last(&self, now: Duration, is_it: impl Fn(Happening) -> bool) -> Duration {
        let before = self.0.iter().filter(|(at, what)| *at <= now && is_it(*what));
        before.map(|(at, _)| *at).max().unwrap_or_default()
    }

    fn cpu(&self, now: Duration) -> Duration {
        let work = self.0.iter().map(|(at, what)| match what {
            Happening::Work(length) => now.saturating_sub(*at).min(*length) / 2,
            _ => Duration::ZERO,
        });
        now / 100 + work.sum::<Duration>()
    }

    fn sample(&self, now: Duration) -> ActivitySample {
        let forks =
            self.0.iter().filter(|(at, what)| *at <= now && matches!(what, Happening::Fork));
        let generation = Generation { faults: forks.count() as u64, ..Generation::default() };
        ActivitySample { cpu: self.cpu(now), generation, works: false }
    }

    fn seen(&self, now: Duration) -> ActivityReading {
        ActivityReading {
            now,
            output: self.last(now, |what| matches!(what, Happening::Output)),
            input: self.last(now, |what| matches!(what, Happening::Input)),
            sample: Some(self.sample(now)),
        }
    }

    fn activity(&self, limits: ActivityLimits) -> ActivityMonitor {
        ActivityMonitor::new(limits, Duration::ZERO, Some(self.sample(Duration::ZERO)))
    }

    /// Returns the last activity whose time is known exactly.
    fn last_sign(&self, now: Duration) -> Duration {
        self.last(now, |what| !matches!(what, Happening::Work(_)))
    }
}

/// When and by which limit the launch ended, and all checks that were due until then.
struct Checks {
    over: Option<(Duration, Cause)>,
    checks: Vec<Duration>,
}

/// Checks when a check is due, and at the times in `more`.
fn run(world: &World, limits: ActivityLimits, more: &[Duration], horizon: Duration) -> Checks {
    let mut activity = world.activity(limits);
    let mut checks = Vec::new();
    let mut more = more.to_vec();
    more.sort_unstable_by(|a, b| b.cmp(a));
    loop {
        let extra = more.last().copied();
        let due = activity.due();
        let Some(now) = [due, extra].into_iter().flatten().min().filter(|at| *at <= horizon) else {
            return Checks { over: None, checks };
        };
        if extra == Some(now) {
            more.pop();
        }
        if due == Some(now) {
            checks.push(now);
        }
        if let Some(limit) = activity.judge(world.seen(now)) {
            return Checks { over: Some((now, limit)), checks };
        }
        assert!(activity.due().is_none_or(|at| at > now), "{:?}, {now:?}", activity.due());
    }
}

fn idle(limit: Duration) -> ActivityLimits {
    ActivityLimits { idle: Some(limit), ..ActivityLimits::default() }
}

#[test]
fn without_a_limit_there_is_no_check() {
    let world = World::default();
    let mut activity = world.activity(ActivityLimits::default());
    assert_eq!(activity.due(), None);
    assert!(!activity.needs_activity());
    assert_eq!(activity.judge(world.seen(MINUTE * 10_000)), None);
    assert_eq!(activity.due(), None);
}

#[test]
fn a_launch_without_activity_is_idle_exactly_when_the_limit_is_over() {
    for limit in [SECOND, MINUTE, MINUTE * 30, MINUTE * 60 * 24] {
        let checks = run(&World::default(), idle(limit), &[], limit * 4);
        assert_eq!(checks.over, Some((limit, Cause::Idle)));
        assert!(checks.checks.len() <= 8, "{:?}", checks.checks);
    }
}

#[test]
fn a_tool_that_computes_in_silence_is_busy() {
    let world = World(vec![(SECOND, Happening::Work(MINUTE * 30))]);
    let checks = run(&world, idle(MINUTE), &[], MINUTE * 60);
    let (at, limit) = checks.over.expect("it rests in the end");
    assert_eq!(limit, Cause::Idle);
    assert!(at >= SECOND + MINUTE * 31, "{at:?}");
    assert!(at <= SECOND + MINUTE * 31 + MINUTE / WINDOWS, "{at:?}");
}

#[test]
fn work_without_cpu_is_activity_and_a_timer_at_the_wrong_moment_is_not() {
    let world = World::default();
    for (works_at, is_over) in [(|_| true, false), (|look: u32| look.is_multiple_of(2), true)]
        as [(fn(u32) -> bool, bool); 2]
    {
        let mut activity = world.activity(idle(MINUTE));
        let verdicts = (0..20).map(|look| {
            let mut seen = world.seen(activity.due().unwrap());
            seen.sample.as_mut().unwrap().works = works_at(look);
            activity.judge(seen)
        });
        let verdicts = verdicts.collect::<Vec<_>>();
        assert_eq!(verdicts.contains(&Some(Cause::Idle)), is_over, "{verdicts:?}");
    }
}

#[test]
fn work_that_has_just_begun_is_noticed() {
    let begins = MINUTE * 10 - Duration::from_millis(500);
    let world = World(vec![(begins, Happening::Work(MINUTE))]);
    let checks = run(&world, idle(MINUTE * 10), &[], MINUTE * 15);
    assert_eq!(checks.over, None);
}

#[test]
fn activity_between_the_verdict_and_the_end_prevents_the_end() {
    for late in [Happening::Input, Happening::Output, Happening::Fork] {
        let mut world = World::default();
        let mut activity = world.activity(idle(MINUTE));
        let now = loop {
            let now = activity.due().unwrap();
            if activity.judge(world.seen(now)) == Some(Cause::Idle) {
                break now;
            }
        };
        assert_eq!(activity.judge(world.seen(now)), Some(Cause::Idle), "still");
        world.0.push((now, late));
        assert_eq!(activity.judge(world.seen(now)), None, "{late:?}");
        assert!(activity.due().is_some_and(|at| at > now), "{late:?}");
    }
}

#[test]
fn a_launch_that_cannot_be_sampled_is_not_idle() {
    let world = World::default();
    let mut activity = world.activity(idle(MINUTE));
    let mut now = Duration::ZERO;
    while now < MINUTE * 10 {
        now = activity.due().unwrap();
        let verdict = activity.judge(ActivityReading { sample: None, ..world.seen(now) });
        assert_eq!(verdict, None);
    }
    let seen_again = now;
    while activity.judge(world.seen(now)).is_none() {
        now = activity.due().unwrap();
    }
    assert!(now >= seen_again + MINUTE);
}

#[test]
fn silence_and_timeout_are_exact() {
    let world = World(vec![(SECOND * 5, Happening::Output), (SECOND * 50, Happening::Input)]);
    let silence = ActivityLimits { silence: Some(MINUTE), ..ActivityLimits::default() };
    let checks = run(&world, silence, &[], MINUTE * 10);
    assert_eq!(checks.over, Some((SECOND * 65, Cause::Silent)));
    assert_eq!(checks.checks, [MINUTE, SECOND * 65], "no more checks than needed");
    let timeout = ActivityLimits { timeout: Some(MINUTE), ..ActivityLimits::default() };
    let checks = run(&world, timeout, &[], MINUTE * 10);
    assert_eq!(checks.over, Some((MINUTE, Cause::TimedOut)));
    assert_eq!(checks.checks, [MINUTE]);
}

/// A clock whose awake time stands still while the machine sleeps.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    wall: Duration,
    asleep: Duration,
}

impl Clock {
    fn awake(self) -> Duration {
        self.wall - self.asleep
    }
}

#[test]
fn time_asleep_does_not_count() {
    let limits =
        ActivityLimits { timeout: Some(MINUTE * 2), idle: Some(MINUTE), silence: Some(MINUTE) };
    let world = World::default();
    let mut activity = world.activity(limits);
    let mut clock = Clock::default();
    let mut slept = false;
    loop {
        let due = activity.due().unwrap();
        clock.wall += due - clock.awake();
        if !slept && clock.awake() >= MINUTE / 2 {
            slept = true;
            clock.wall += MINUTE * 600;
            clock.asleep += MINUTE * 600;
        }
        if activity.judge(world.seen(clock.awake())).is_some() {
            break;
        }
    }
    assert_eq!(clock.awake(), MINUTE);
    assert_eq!(clock.wall, MINUTE * 601);
}

#[test]
fn a_clock_that_jumps_ends_no_launch_for_being_idle_or_silent() {
    let world = World::default();
    for limits in
        [idle(MINUTE), ActivityLimits { silence: Some(MINUTE), ..ActivityLimits::default() }]
    {
        let mut activity = world.activity(limits);
        let mut now = MINUTE * 600;
        let mut checks = 0;
        while activity.judge(world.seen(now)).is_none() {
            now = activity.due().unwrap();
            checks += 1;
        }
        assert!(checks > 0 && now >= MINUTE * 601, "{now:?}");
    }
}

fn moments(most: u64) -> impl Strategy<Value = Duration> {
    (0..most).prop_map(Duration::from_millis)
}

fn happening() -> impl Strategy<Value = (Duration, Happening)> {
    let what = prop_oneof![
        Just(Happening::Output),
        Just(Happening::Input),
        Just(Happening::Fork),
        (0_u64..60_000).prop_map(|ms| Happening::Work(Duration::from_millis(ms))),
    ];
    (moments(300_000), what)
}

fn limit() -> impl Strategy<Value = Option<Duration>> {
    proptest::option::of((1_000_u64..120_000).prop_map(Duration::from_millis))
}

proptest! {
    /// Whatever happens and whenever it is checked: no launch ends early, and every one ends.
    #[test]
    fn every_launch_ends_and_none_ends_early(
        happenings in proptest::collection::vec(happening(), 0..20),
        more in proptest::collection::vec(moments(400_000), 0..50),
        timeout in limit(),
        idle in limit(),
        silence in limit(),
    ) {
        let world = World(happenings);
        let limits = ActivityLimits { timeout, idle, silence };
        let horizon = MINUTE * 30;
        let checks = run(&world, limits, &more, horizon);
        prop_assert_eq!(checks.over.is_none(), limits == ActivityLimits::default());
        let Some((at, over)) = checks.over else { return Ok(()) };
        let output = world.last(at, |what| matches!(what, Happening::Output));
        match over {
            Cause::TimedOut => prop_assert!(Some(at) >= timeout),
            Cause::Silent => prop_assert!(at >= output + silence.unwrap()),
            Cause::Idle => {
                let limit = idle.unwrap();
                prop_assert!(at >= world.last_sign(at) + limit, "{:?} at {at:?}", world.last_sign(at));
                let used = world.cpu(at) - world.cpu(at.saturating_sub(limit));
                // The first of its windows may have begun a little earlier.
                let most = (limit + limit / WINDOWS) / 100 * REST_PERCENT + NOISE * (WINDOWS + 2);
                prop_assert!(used <= most, "{used:?} of {most:?}");
                let close = CLOSE.min(limit / WINDOWS);
                let used = world.cpu(at) - world.cpu(at.saturating_sub(close));
                prop_assert!(used <= at_rest(close), "{used:?} just now");
            }
            other => panic!("{other:?} is not a time limit"),
        }
        // It ends not much later than by any of the limits.
        if let Some(timeout) = timeout {
            prop_assert!(at <= timeout);
        }
        if let Some(silence) = silence {
            // The checks are on time, so the first gap that is long enough ends it.
            let gaps = world.0.iter().filter(|(_, what)| matches!(what, Happening::Output));
            let mut outputs = gaps.map(|(at, _)| *at).filter(|o| *o < at).collect::<Vec<_>>();
            outputs.push(Duration::ZERO);
            outputs.sort_unstable();
            for pair in outputs.windows(2) {
                prop_assert!(pair[1] - pair[0] <= silence, "a gap was not noticed");
            }
            prop_assert!(at <= output + silence);
        }
    }

    /// Additional checks change nothing for a launch without activity.
    #[test]
    fn additional_checks_do_not_matter(
        more in proptest::collection::vec(moments(120_000), 0..200),
        limit in (1_000_u64..120_000).prop_map(Duration::from_millis),
    ) {
        let checks = run(&World::default(), idle(limit), &more, MINUTE * 10);
        prop_assert_eq!(checks.over, Some((limit, Cause::Idle)));
    }

    /// However busy a launch is, there is at least one window between two checks.
    #[test]
    fn checks_are_few(
        happenings in proptest::collection::vec(happening(), 0..20),
        limit in (1_000_u64..600_000).prop_map(Duration::from_millis),
    ) {
        let checks = run(&World(happenings), idle(limit), &[], MINUTE * 60);
        let (at, _) = checks.over.expect("it rests in the end");
        let limits_long = at.as_secs_f64() / limit.as_secs_f64();
        prop_assert!(checks.checks.len() as f64 <= 8.0 * limits_long.ceil(), "{:?}", checks.checks);
    }
}
