//! The supervisor's side: a small single-threaded process that launches one agent into one pen. It
//! ends the pen on request or when its program is gone, and exits only when the pen is empty.
//!
//! ```text
//! Launch -> pen -> process behind its gate -> Born -> Open -> Running -> … -> Exited -> … -> Gone
//!               \___________________________\_ Failed        \____ see `supervise.rs` ____/
//! ```

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use kennel_sys::clone::ResourceLimit;
use kennel_sys::fault::CallError;
use kennel_sys::namespace::NamespaceInit;
use kennel_types::PenKind;
use rustix::event::PollFd;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Resource, Rlimit, Signal};

use super::EXEC;
use super::message::{
    PenLaunch, SupervisorEvent, SupervisorFailure, SupervisorReport, SupervisorRequest,
};
use crate::command::{AgentEnd, AgentEnds, CallerEnds, Command};
use crate::host_support::HostSupport;
use crate::limits::PenLimits;
use crate::pen::{Pen, Woken, poll};
use crate::supervise::{
    PenEvent, SupervisedPen, Supervisor, create_pen, end_failed_launch, with_causes,
};
use crate::wire::{Channel, Delivery, QueuedChannel, Received, WireMessage};

/// How long the program may take for the next step of a launch.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// The supervisor's own environment, which the agent must not inherit.
#[derive(Debug)]
pub(super) struct OwnEnvironment {
    /// Set if this process is the init of a pid namespace created for the pen.
    namespace: Option<NamespaceInit>,
    descriptors: Rlimit,
}

impl OwnEnvironment {
    pub(super) fn set_up(namespace: Option<NamespaceInit>) -> io::Result<Self> {
        // Keep no folder of the user busy.
        rustix::process::chdir("/")?;
        // A supervisor exits when its pen is empty, not because a whole tree or group got a
        // termination signal: it may itself run inside another pen.
        let polite =
            [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];
        kennel_sys::signals::ignore(&polite.map(Signal::as_raw))?;
        // A supervisor that is stopped when the program dies must wake up to end the pen.
        rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
        // Hundreds of busy pens must not keep supervisors from ending them. Only root may do this.
        fs::write("/proc/self/autogroup", "-20").ok();
        let descriptors = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit { current: descriptors.maximum, maximum: descriptors.maximum };
        // More descriptors allow a look at a larger tree, but are not required.
        rustix::process::setrlimit(Resource::Nofile, raised).ok();
        Ok(Self { namespace, descriptors })
    }

    /// Gives the agent the program's limit on descriptors, not the raised one.
    fn restore_limit(&self, command: &mut Command) {
        let nofile = Resource::Nofile as u32;
        if command.limits.iter().all(|limit| limit.resource != nofile) {
            command.limit(ResourceLimit {
                resource: nofile,
                soft: self.descriptors.current.unwrap_or(u64::MAX),
                hard: self.descriptors.maximum.unwrap_or(u64::MAX),
            });
        }
    }
}

/// Launches what the program requests, and supervises it until the pen is empty.
pub(super) fn serve(channel: Channel, own: &OwnEnvironment) -> io::Result<()> {
    let mut caller = SupervisorCaller { channel: QueuedChannel::new(channel), gone: false };
    let Some((mut launch, ends)) = caller.receive_launch()? else { return Ok(()) };
    #[cfg(feature = "faults")]
    if let Some((nth, errno)) = launch.fault {
        kennel_sys::fault::arm(nth, errno);
    }
    own.restore_limit(&mut launch.command);
    match start(&mut caller, &launch, ends, own) {
        Ok(Some(pen)) => {
            let mut pen = SupervisedPen::new(pen, launch.linger, launch.grace);
            let end = pen.run(&mut caller);
            caller.send(&SupervisorReport::Event(SupervisorEvent::Gone(end)));
            caller.wait_for_release()
        }
        Ok(None) => Ok(()), // the program changed its mind, and nothing was run
        Err(failure) => {
            caller.send(&SupervisorReport::Failed(failure));
            Ok(())
        }
    }
}

/// Creates the pen and the process, and opens the gate on request.
fn start(
    caller: &mut SupervisorCaller,
    launch: &PenLaunch,
    ends: AgentEnds,
    own: &OwnEnvironment,
) -> Result<Option<Pen>, SupervisorFailure> {
    let support = match launch.kind {
        PenKind::Subtree | PenKind::Pidns => HostSupport::without_cgroup(),
        PenKind::Auto | PenKind::Cgroup => HostSupport::survey(&launch.name.home),
    };
    let created =
        create_pen(&support, &launch.name, launch.kind, &PenLimits::default(), own.namespace);
    let (mut pen, _no_limits) =
        created.map_err(|error| SupervisorFailure::Pen(with_causes(&error)))?;
    let opened = launch_into(caller, &mut pen, launch, ends);
    if let Ok(true) = opened {
        return Ok(Some(pen));
    }
    // Everything that was started is ended before the failure is reported.
    if end_failed_launch(pen, |event| caller.report(event)) {
        let text = "the pen of a failed launch could not be removed".to_owned();
        return Err(SupervisorFailure::Pen(text));
    }
    opened.map(|_| None)
}

/// Returns whether the gate was opened. An error means that nothing runs.
fn launch_into(
    caller: &mut SupervisorCaller,
    pen: &mut Pen,
    launch: &PenLaunch,
    ends: AgentEnds,
) -> Result<bool, SupervisorFailure> {
    let call = |name| move |error| SupervisorFailure::Launch(CallError::new(name, error).into());
    let oom_score = crate::oom::OomScore::raised();
    let cgroup = pen.cgroup_path().map(ToOwned::to_owned);
    let gated = pen
        .launch_with(&launch.command, ends, CallerEnds::default())
        .map_err(SupervisorFailure::Launch)?;
    let born = SupervisorEvent::Born { identity: gated.identity().clone(), cgroup };
    let born = SupervisorReport::Event(born).encode();
    let delivery = caller.channel.channel().send(&born, &[]);
    if delivery.map_err(call("sendmsg"))? != Delivery::Sent {
        return Ok(false);
    }
    // Anything but the request to open calls the launch off: a closed socket, a kill, a timeout.
    let request = caller.next_request(Instant::now() + STEP_TIMEOUT).map_err(call("recvmsg"))?;
    if !matches!(request, Some((SupervisorRequest::Open, _))) {
        return Ok(false);
    }
    gated.open(Instant::now() + EXEC).map_err(SupervisorFailure::Launch)?;
    drop(oom_score);
    caller.send(&SupervisorReport::Event(SupervisorEvent::Running));
    Ok(true)
}

/// The program that started this supervisor. It may read slowly, or be gone.
struct SupervisorCaller {
    channel: QueuedChannel,
    gone: bool,
}

impl SupervisorCaller {
    fn send(&mut self, report: &SupervisorReport) {
        self.channel.send(report.encode(), None);
    }

    /// Returns the next request, or `None` if the program is gone or too slow.
    fn next_request(
        &mut self,
        deadline: Instant,
    ) -> io::Result<Option<(SupervisorRequest, Vec<OwnedFd>)>> {
        loop {
            self.channel.flush();
            match self.channel.channel().receive()? {
                Received::End => return Ok(None),
                Received::Message(bytes, descriptors) => {
                    let request = SupervisorRequest::decode(&bytes)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                    return Ok(Some((request, descriptors)));
                }
                Received::Nothing => {
                    let flags = self.channel.poll_flags();
                    let ready = &mut [PollFd::new(&self.channel, flags)];
                    if poll(ready, Some(deadline))? == Woken::Deadline {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn receive_launch(&mut self) -> io::Result<Option<(PenLaunch, AgentEnds)>> {
        let malformed = || {
            io::Error::new(io::ErrorKind::InvalidData, "the first message is not a valid launch")
        };
        let Some((request, descriptors)) = self.next_request(Instant::now() + STEP_TIMEOUT)? else {
            return Ok(None);
        };
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(malformed);
        if request != SupervisorRequest::Launch {
            return Err(malformed());
        }
        let launch = PenLaunch::from_memfd(next()?)?;
        if launch.command.argv.is_empty() {
            return Err(malformed());
        }
        let streams = [next()?, next()?, next()?].map(AgentEnd::Opened);
        let ends = AgentEnds { streams, terminal: launch.terminal };
        Ok(Some((launch, ends)))
    }

    fn answer(&mut self, pen: &mut SupervisedPen, request: SupervisorRequest) -> io::Result<()> {
        let report = match request {
            SupervisorRequest::Stop(grace) => {
                pen.request_stop(grace);
                SupervisorReport::Event(SupervisorEvent::Ending)
            }
            SupervisorRequest::Kill => {
                pen.request_kill();
                SupervisorReport::Event(SupervisorEvent::Ending)
            }
            SupervisorRequest::Signal(number) => match Signal::from_named_raw(number) {
                Some(signal) => return pen.pen.signal(signal),
                None => trouble(format!("invalid signal {number}")),
            },
            SupervisorRequest::Processes => SupervisorReport::Processes(pen.processes()?),
            SupervisorRequest::Usage => SupervisorReport::Usage(pen.pen.usage()?),
            SupervisorRequest::Launch | SupervisorRequest::Open | SupervisorRequest::Release => {
                trouble(format!("unexpected request {request:?}"))
            }
        };
        self.send(&report);
        Ok(())
    }

    /// Gives the program time to read the last report.
    fn wait_for_release(mut self) -> io::Result<()> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        while !self.gone {
            match self.next_request(deadline)? {
                Some((SupervisorRequest::Release, _)) | None => break,
                Some(_) => {}
            }
        }
        Ok(())
    }
}

fn trouble(text: String) -> SupervisorReport {
    SupervisorReport::Event(SupervisorEvent::Pen(PenEvent::Trouble(text)))
}

impl Supervisor for SupervisorCaller {
    fn serve(&mut self, pen: &mut SupervisedPen, empty: bool) -> io::Result<()> {
        self.channel.flush();
        while !self.gone {
            match self.channel.channel().receive()? {
                Received::Nothing => break,
                Received::End => self.gone = true,
                Received::Message(bytes, _) => match SupervisorRequest::decode(&bytes) {
                    Ok(request) => self.answer(pen, request)?,
                    Err(error) => self.send(&trouble(error.to_string())),
                },
            }
        }
        if self.gone && !empty {
            pen.kill();
        }
        Ok(())
    }

    fn poll_fds<'a>(&'a self, _pen: &SupervisedPen, fds: &mut Vec<PollFd<'a>>) -> Option<Instant> {
        if !self.gone {
            let flags = self.channel.poll_flags();
            fds.push(PollFd::from_borrowed_fd(self.channel.as_fd(), flags));
        }
        None
    }

    fn report(&mut self, event: PenEvent) {
        self.send(&SupervisorReport::Event(SupervisorEvent::Pen(event)));
    }
}
