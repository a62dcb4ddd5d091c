//! doctor
use crate::cli::DoctorArgs; use crate::failure::Failure;
pub(crate) fn take_trial_role() {}
pub(crate) fn doctor(_a: &DoctorArgs) -> Result<u8, Failure> { Ok(0) }
