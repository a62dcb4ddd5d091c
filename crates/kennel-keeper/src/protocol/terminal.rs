//! The settings of a terminal, as numbers that can be sent to another process.

use std::io;

use kennel_types::api::TerminalSettings;
use rustix::fd::BorrowedFd;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex as Code,
    Termios,
};

/// The bits of the control modes that are the speed of a serial line.
const SPEED: u32 = 0o10017;

/// The special characters that are sent, in this order.
const SPECIAL: [Code; 17] = [
    Code::VINTR,
    Code::VQUIT,
    Code::VERASE,
    Code::VKILL,
    Code::VEOF,
    Code::VTIME,
    Code::VMIN,
    Code::VSWTC,
    Code::VSTART,
    Code::VSTOP,
    Code::VSUSP,
    Code::VEOL,
    Code::VREPRINT,
    Code::VDISCARD,
    Code::VWERASE,
    Code::VLNEXT,
    Code::VEOL2,
];

pub fn terminal_settings(termios: &Termios) -> TerminalSettings {
    TerminalSettings {
        modes: [
            termios.input_modes.bits(),
            termios.output_modes.bits(),
            termios.control_modes.bits(),
            termios.local_modes.bits(),
        ],
        characters: SPECIAL.map(|code| termios.special_codes[code]).to_vec(),
    }
}

/// Applies settings to a terminal, all but the speed.
pub(crate) fn apply_settings(
    settings: &TerminalSettings,
    terminal: BorrowedFd<'_>,
) -> io::Result<()> {
    let mut termios = rustix::termios::tcgetattr(terminal)?;
    let [input, output, control, local] = settings.modes;
    termios.input_modes = InputModes::from_bits_retain(input);
    termios.output_modes = OutputModes::from_bits_retain(output);
    let speed = termios.control_modes & ControlModes::from_bits_retain(SPEED);
    termios.control_modes = ControlModes::from_bits_retain(control & !SPEED) | speed;
    termios.local_modes = LocalModes::from_bits_retain(local);
    for (code, character) in SPECIAL.into_iter().zip(&settings.characters) {
        termios.special_codes[code] = *character;
    }
    Ok(rustix::termios::tcsetattr(terminal, OptionalActions::Now, &termios)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    fn settings_are_copied_from_one_terminal_to_another() {
        let open = || kennel_sys::terminal::open(kennel_pen::Size::default()).unwrap();
        let (from, to) = (open(), open());
        let mut termios = rustix::termios::tcgetattr(&from.slave).unwrap();
        termios.make_raw();
        termios.special_codes[Code::VINTR] = 7;
        apply_settings(&terminal_settings(&termios), to.master.as_fd()).unwrap();
        let given = rustix::termios::tcgetattr(&to.slave).unwrap();
        assert_eq!(terminal_settings(&given), terminal_settings(&termios));
    }
}
