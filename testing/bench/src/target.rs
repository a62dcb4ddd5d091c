//! Targets, and whether they were met.

/// A target with its measured figure.
pub(crate) struct Target {
    what: String,
    figure: String,
    met: bool,
}

impl Target {
    /// A ratio that should not exceed `limit`.
    pub(crate) fn ratio(what: &str, figure: f64, limit: f64) -> Self {
        Self {
            what: format!("{what} <= {limit:.2} x"),
            figure: format!("{figure:.3} x"),
            met: figure <= limit,
        }
    }

    /// A ratio that should reach `limit`.
    pub(crate) fn at_least(what: &str, figure: f64, limit: f64) -> Self {
        Self {
            what: format!("{what} >= {limit:.2} x"),
            figure: format!("{figure:.3} x"),
            met: figure >= limit,
        }
    }

    /// A figure with a unit that should not exceed `limit`.
    pub(crate) fn at_most(what: &str, figure: f64, limit: f64, unit: &str) -> Self {
        Self {
            what: format!("{what} <= {limit} {unit}"),
            figure: format!("{} {unit}", rounded(figure)),
            met: figure <= limit,
        }
    }

    /// A condition that holds or not.
    pub(crate) fn holds(what: impl Into<String>, figure: impl Into<String>, met: bool) -> Self {
        Self { what: what.into(), figure: figure.into(), met }
    }
}

/// Formats a number, without decimals if it is large.
fn rounded(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

/// Prints all of them.
pub(crate) fn print(targets: &[Target]) {
    println!("targets");
    for target in targets {
        let verdict = if target.met { "met" } else { "NOT met" };
        println!("  {:<66}{:>26}   {verdict}", target.what, target.figure);
    }
}
