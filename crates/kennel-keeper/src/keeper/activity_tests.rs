//! Launches that exist on paper only: their clock, their CPU and their processes are made up.

use kennel_pen::Generation;
use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
enum Happening {
    Output,
    Input,
    /// A process is born, and gone a moment later.
    Fork,
    /// Half a core is used for so long.
    Work(Duration),
}

/// A launch whose whole life is known in advance.
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

    /// The last sign of life that is known to the moment.
    fn last_sign(&self, now: Duration) -> Duration {
        self.last(now, |what| !matches!(what, Happening::Work(_)))
    }
}

/// When and by which limit it is over, and all looks that were asked for on the way.
struct Course {
    over: Option<(Duration, TimeLimit)>,
    looks: Vec<Duration>,
}

/// Looks when asked to, and at `more` times besides.
fn run(world: &World, limits: ActivityLimits, more: &[Duration], horizon: Duration) -> Course {
    let mut activity = world.activity(limits);
    let mut looks = Vec::new();
    let mut more = more.to_vec();
    more.sort_unstable_by(|a, b| b.cmp(a));
    loop {
        let extra = more.last().copied();
        let asked = activity.due();
        let Some(now) = [asked, extra].into_iter().flatten().min().filter(|at| *at <= horizon)
        else {
            return Course { over: None, looks };
        };
        if extra == Some(now) {
            more.pop();
        }
        if asked == Some(now) {
            looks.push(now);
        }
        match activity.judge(world.seen(now)) {
            TimeVerdict::Over(limit) => return Course { over: Some((now, limit)), looks },
            TimeVerdict::CheckAgain { at } => {
                assert!(at.is_none_or(|at| at > now), "{at:?} is not after {now:?}");
            }
        }
    }
}

fn idle(limit: Duration) -> ActivityLimits {
    ActivityLimits { idle: Some(limit), ..ActivityLimits::default() }
}

#[test]
fn without_a_limit_nobody_ever_looks() {
    let world = World::default();
    let mut activity = world.activity(ActivityLimits::default());
    assert_eq!(activity.due(), None);
    assert!(!activity.needs_activity());
    let verdict = activity.judge(world.seen(MINUTE * 10_000));
    assert_eq!(verdict, TimeVerdict::CheckAgain { at: None });
}

#[test]
fn what_does_nothing_is_idle_when_the_limit_is_over_and_not_before() {
    for limit in [SECOND, MINUTE, MINUTE * 30, MINUTE * 60 * 24] {
        let course = run(&World::default(), idle(limit), &[], limit * 4);
        assert_eq!(course.over, Some((limit, TimeLimit::Idle)));
        assert!(course.looks.len() <= 8, "{:?}", course.looks);
    }
}

#[test]
fn a_tool_that_computes_in_silence_is_busy() {
    let world = World(vec![(SECOND, Happening::Work(MINUTE * 30))]);
    let course = run(&world, idle(MINUTE), &[], MINUTE * 60);
    let (at, limit) = course.over.expect("it rests in the end");
    assert_eq!(limit, TimeLimit::Idle);
    assert!(at >= SECOND + MINUTE * 31, "{at:?}");
    assert!(at <= SECOND + MINUTE * 31 + MINUTE / WINDOWS, "{at:?}");
}

#[test]
fn work_that_gets_no_cpu_is_work_and_a_timer_at_the_wrong_moment_is_not() {
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
        assert_eq!(verdicts.contains(&TimeVerdict::Over(TimeLimit::Idle)), is_over, "{verdicts:?}");
    }
}

#[test]
fn work_that_has_only_just_begun_is_seen() {
    let begins = MINUTE * 10 - Duration::from_millis(500);
    let world = World(vec![(begins, Happening::Work(MINUTE))]);
    let course = run(&world, idle(MINUTE * 10), &[], MINUTE * 15);
    assert_eq!(course.over, None);
}

#[test]
fn what_comes_between_the_verdict_and_the_end_calls_it_off() {
    for late in [Happening::Input, Happening::Output, Happening::Fork] {
        let mut world = World::default();
        let mut activity = world.activity(idle(MINUTE));
        let now = loop {
            let now = activity.due().unwrap();
            if activity.judge(world.seen(now)) == TimeVerdict::Over(TimeLimit::Idle) {
                break now;
            }
        };
        assert_eq!(activity.judge(world.seen(now)), TimeVerdict::Over(TimeLimit::Idle), "still");
        world.0.push((now, late));
        let verdict = activity.judge(world.seen(now));
        assert!(
            matches!(verdict, TimeVerdict::CheckAgain { at: Some(at) } if at > now),
            "{late:?}"
        );
    }
}

#[test]
fn what_can_not_be_seen_is_not_idle() {
    let world = World::default();
    let mut activity = world.activity(idle(MINUTE));
    let mut now = Duration::ZERO;
    while now < MINUTE * 10 {
        now = activity.due().unwrap();
        let verdict = activity.judge(ActivityReading { sample: None, ..world.seen(now) });
        assert!(matches!(verdict, TimeVerdict::CheckAgain { .. }));
    }
    let seen_again = now;
    while let TimeVerdict::CheckAgain { at } = activity.judge(world.seen(now)) {
        now = at.unwrap();
    }
    assert!(now >= seen_again + MINUTE);
}

#[test]
fn silence_and_timeout_are_exact() {
    let world = World(vec![(SECOND * 5, Happening::Output), (SECOND * 50, Happening::Input)]);
    let silence = ActivityLimits { silence: Some(MINUTE), ..ActivityLimits::default() };
    let course = run(&world, silence, &[], MINUTE * 10);
    assert_eq!(course.over, Some((SECOND * 65, TimeLimit::Silence)));
    assert_eq!(course.looks, [MINUTE, SECOND * 65], "no more looks than needed");
    let timeout = ActivityLimits { timeout: Some(MINUTE), ..ActivityLimits::default() };
    let course = run(&world, timeout, &[], MINUTE * 10);
    assert_eq!(course.over, Some((MINUTE, TimeLimit::Timeout)));
    assert_eq!(course.looks, [MINUTE]);
}

/// A clock as the machine's: what we are told stands still while the machine sleeps.
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
        if activity.judge(world.seen(clock.awake()))
            != (TimeVerdict::CheckAgain { at: activity.due() })
        {
            break;
        }
    }
    assert_eq!(clock.awake(), MINUTE);
    assert_eq!(clock.wall, MINUTE * 601);
}

#[test]
fn a_clock_that_jumps_ends_nobody_for_being_quiet() {
    let world = World::default();
    for limits in
        [idle(MINUTE), ActivityLimits { silence: Some(MINUTE), ..ActivityLimits::default() }]
    {
        let mut activity = world.activity(limits);
        let mut now = MINUTE * 600;
        let mut looks = 0;
        while let TimeVerdict::CheckAgain { at } = activity.judge(world.seen(now)) {
            now = at.unwrap();
            looks += 1;
        }
        assert!(looks > 0 && now >= MINUTE * 601, "{now:?}");
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
    /// Whatever happens and whenever it is looked at: nothing ends early, and in the end all do.
    #[test]
    fn never_early_and_never_never(
        happenings in proptest::collection::vec(happening(), 0..20),
        more in proptest::collection::vec(moments(400_000), 0..50),
        timeout in limit(),
        idle in limit(),
        silence in limit(),
    ) {
        let world = World(happenings);
        let limits = ActivityLimits { timeout, idle, silence };
        let horizon = MINUTE * 30;
        let course = run(&world, limits, &more, horizon);
        prop_assert_eq!(course.over.is_none(), limits == ActivityLimits::default());
        let Some((at, over)) = course.over else { return Ok(()) };
        let output = world.last(at, |what| matches!(what, Happening::Output));
        match over {
            TimeLimit::Timeout => prop_assert!(Some(at) >= timeout),
            TimeLimit::Silence => prop_assert!(at >= output + silence.unwrap()),
            TimeLimit::Idle => {
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
        }
        // And not much later than that, by any of the limits.
        if let Some(timeout) = timeout {
            prop_assert!(at <= timeout);
        }
        if let Some(silence) = silence {
            // The looks come on time, so the first gap that is long enough ends it.
            let gaps = world.0.iter().filter(|(_, what)| matches!(what, Happening::Output));
            let mut outputs = gaps.map(|(at, _)| *at).filter(|o| *o < at).collect::<Vec<_>>();
            outputs.push(Duration::ZERO);
            outputs.sort_unstable();
            for pair in outputs.windows(2) {
                prop_assert!(pair[1] - pair[0] <= silence, "a gap was not seen");
            }
            prop_assert!(at <= output + silence);
        }
    }

    /// Looks besides those that were asked for change nothing for one who does nothing.
    #[test]
    fn looks_too_many_do_not_matter(
        more in proptest::collection::vec(moments(120_000), 0..200),
        limit in (1_000_u64..120_000).prop_map(Duration::from_millis),
    ) {
        let course = run(&World::default(), idle(limit), &more, MINUTE * 10);
        prop_assert_eq!(course.over, Some((limit, TimeLimit::Idle)));
    }

    /// However busy it is, there are few looks: none of them sooner than a window after the last.
    #[test]
    fn looks_are_few(
        happenings in proptest::collection::vec(happening(), 0..20),
        limit in (1_000_u64..600_000).prop_map(Duration::from_millis),
    ) {
        let course = run(&World(happenings), idle(limit), &[], MINUTE * 60);
        let (at, _) = course.over.expect("it rests in the end");
        let limits_long = at.as_secs_f64() / limit.as_secs_f64();
        prop_assert!(course.looks.len() as f64 <= 8.0 * limits_long.ceil(), "{:?}", course.looks);
    }
}
