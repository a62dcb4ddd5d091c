//! A program that is only a supervisor, for programs whose own `main` can't begin with
//! [`kennel_pen::supervisor::run_if_supervisor`].

fn main() {
    kennel_pen::supervisor::run_if_supervisor();
    eprintln!(
        "kennel-supervisor is started by programs that use kennel-pen, with a socket as standard input"
    );
    std::process::exit(64);
}
