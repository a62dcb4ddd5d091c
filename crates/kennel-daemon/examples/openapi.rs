//! Prints the description of the API as the code has it.

fn main() {
    print!("{}", kennel_daemon::description());
}
