//! Precedence, mistakes, and the table held against the flags.
