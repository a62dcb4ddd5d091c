//! The checksum of a record.
//!
//! It detects incomplete records, remains of older ones, and output that looks like a record. It is
//! not a signature. Sixteen bytes cost one multiplication, and four chains run in parallel, so a
//! checksum costs much less than the copy into the page cache.

/// The keys of one segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seal([u64; 4]);

impl Seal {
    pub(super) fn new(nonce: u64, sequence: u64) -> Self {
        let mut state = nonce ^ sequence.wrapping_mul(0xA24B_AED4_963E_E407);
        Self(std::array::from_fn(|_| {
            // splitmix64: adjacent sequences get different keys.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }))
    }

    /// Returns the checksum of a header and its data.
    #[inline]
    pub(super) fn sum(&self, head: &[u8], data: &[u8]) -> u64 {
        let [a, b, c, d] = self.0;
        let head = self.absorb([b, c, d, a], head);
        let all = self.absorb([head ^ a, head ^ b, head ^ c, head ^ d], data);
        fold(all ^ a, (data.len() as u64) ^ c)
    }

    #[inline]
    fn absorb(&self, mut chains: [u64; 4], bytes: &[u8]) -> u64 {
        let (blocks, rest) = bytes.as_chunks::<64>();
        let [mut first, mut second, mut third, mut fourth] = chains;
        for block in blocks {
            let (parts, _) = block.as_chunks::<16>();
            first = self.link(first, 0, &parts[0]);
            second = self.link(second, 1, &parts[1]);
            third = self.link(third, 2, &parts[2]);
            fourth = self.link(fourth, 3, &parts[3]);
        }
        chains = [first, second, third, fourth];
        let (parts, rest) = rest.as_chunks::<16>();
        for (lane, part) in parts.iter().enumerate() {
            chains[lane] = self.link(chains[lane], lane, part);
        }
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            chains[3] = self.link(chains[3], 3, &last);
        }
        fold(chains[0] ^ self.0[3], chains[1]) ^ fold(chains[2] ^ self.0[1], chains[3])
    }

    #[inline]
    fn link(&self, chain: u64, lane: usize, part: &[u8; 16]) -> u64 {
        let (words, _) = part.as_chunks::<8>();
        fold(u64::from_le_bytes(words[0]) ^ self.0[lane], u64::from_le_bytes(words[1]) ^ chain)
    }
}

/// Both halves of the product, so that every bit of either factor counts.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::Seal;

    /// Every bit of header, data, length, nonce and sequence changes the checksum.
    #[test]
    fn every_flipped_bit_is_detected() {
        let seal = Seal::new(7, 3);
        for length in [0, 1, 15, 16, 17, 63, 64, 65, 200] {
            let head = [5_u8; 24];
            let mut data = vec![0_u8; length];
            let sum = seal.sum(&head, &data);
            for bit in 0..24 * 8 {
                let mut other = head;
                other[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(sum, seal.sum(&other, &data), "bit {bit} of the head, {length} bytes");
            }
            for bit in 0..length * 8 {
                data[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(sum, seal.sum(&head, &data), "bit {bit} of {length} bytes");
                data[bit / 8] ^= 1 << (bit % 8);
            }
            data.push(0);
            assert_ne!(sum, seal.sum(&head, &data), "one more zero after {length}");
            data.pop();
            assert_ne!(sum, Seal::new(7, 4).sum(&head, &data));
            assert_ne!(sum, Seal::new(8, 3).sum(&head, &data));
        }
    }

    /// The checksum is part of the format: journals of older keepers must stay readable.
    #[test]
    fn the_checksum_is_unchanged() {
        let data: Vec<u8> = (0..=255).collect();
        assert_eq!(Seal::new(1, 2).sum(&data[..24], &data), 995_392_489_613_720_998);
    }
}
