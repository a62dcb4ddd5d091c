//! The settings of a terminal, as numbers that can be sent.

use std::io;

use rustix::fd::BorrowedFd;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex as Code,
    Termios,
};

/// What `termios` has, as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSettings {
    /// Input, output, control and local modes.
    pub modes: [u32; 4],
    /// The special characters, in a fixed order of our own.
    pub characters: Vec<u8>,
}

/// The speed of a line, among the control modes: a matter of real lines.
const SPEED: u32 = 0o10017;

/// The special characters.
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

impl From<&Termios> for TerminalSettings {
    fn from(termios: &Termios) -> Self {
        Self {
            modes: [
                termios.input_modes.bits(),
                termios.output_modes.bits(),
                termios.control_modes.bits(),
                termios.local_modes.bits(),
            ],
            characters: SPECIAL.map(|code| termios.special_codes[code]).to_vec(),
        }
    }
}

impl TerminalSettings {
    /// Gives them to a terminal, all but the speed.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn apply_to(&self, terminal: BorrowedFd<'_>) -> io::Result<()> {
        let mut termios = rustix::termios::tcgetattr(terminal)?;
        let [input, output, control, local] = self.modes;
        termios.input_modes = InputModes::from_bits_retain(input);
        termios.output_modes = OutputModes::from_bits_retain(output);
        let speed = termios.control_modes & ControlModes::from_bits_retain(SPEED);
        termios.control_modes = ControlModes::from_bits_retain(control & !SPEED) | speed;
        termios.local_modes = LocalModes::from_bits_retain(local);
        for (code, character) in SPECIAL.into_iter().zip(&self.characters) {
            termios.special_codes[code] = *character;
        }
        Ok(rustix::termios::tcsetattr(terminal, OptionalActions::Now, &termios)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    fn the_settings_of_one_terminal_can_be_given_to_another() {
        let open = || kennel_sys::terminal::open(kennel_pen::Size::default()).unwrap();
        let (from, to) = (open(), open());
        let mut termios = rustix::termios::tcgetattr(&from.slave).unwrap();
        termios.make_raw();
        termios.special_codes[Code::VINTR] = 7;
        TerminalSettings::from(&termios).apply_to(to.master.as_fd()).unwrap();
        let given = rustix::termios::tcgetattr(&to.slave).unwrap();
        assert_eq!(TerminalSettings::from(&given), TerminalSettings::from(&termios));
    }
}
