//! A program that can only be a holder, for callers whose own `main` can't begin with
//! [`kennel_pen::holder::take_role`].

fn main() {
    kennel_pen::holder::take_role();
    eprintln!(
        "kennel-holder is started by programs that use kennel-pen, with a socket as standard input"
    );
    std::process::exit(64);
}
