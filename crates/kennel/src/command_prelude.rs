//! What most commands use. They import this module as a whole.

pub(crate) use std::time::{Duration, Instant};

pub(crate) use anyhow::Context;
pub(crate) use clap::{Args, Subcommand, ValueEnum};
pub(crate) use kennel_types::SessionView;
pub(crate) use rustix::event::{PollFd, PollFlags};
pub(crate) use rustix::termios::isatty;

pub(crate) use crate::command_error::{CommandError, print_message, print_note, start_line};
pub(crate) use crate::connect::{
    DaemonClient, DaemonRetry, RequestError, Sent, StartDaemon, Timeout, escape, session_path,
};
pub(crate) use crate::exit_code;
pub(crate) use crate::foreground::Signals;
pub(crate) use crate::home::HomeDir;
pub(crate) use crate::poll::{poll, readable};
pub(crate) use crate::print::{self, ColorMode, TextStyle, counted, print, sanitize};
pub(crate) use crate::quantity::{parse_session, parse_time};
pub(crate) use crate::table::{Cell, Column, TextTable};
