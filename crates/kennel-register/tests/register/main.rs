//! The register, on real files and real disks.

mod durability;
mod full_disk;
mod power_cut;
mod records;
mod refusals;
mod retention;
mod scene;
