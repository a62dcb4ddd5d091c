//! The resources that have limits.

use rustix::process::Resource;

/// All resources, each at the index that is its number in the kernel.
pub const RESOURCES: [Resource; 16] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

#[cfg(test)]
mod tests {
    use super::RESOURCES;

    #[test]
    fn each_resource_is_at_the_index_of_its_number() {
        for (index, resource) in RESOURCES.iter().enumerate() {
            assert_eq!(*resource as usize, index);
        }
    }
}
