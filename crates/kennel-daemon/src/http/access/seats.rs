//! Connections over TCP: so many, each known by who got in over it, and each can be cut wherever it is held.
//!
//! Whoever connects and says nothing holds a seat only until it is wanted: of those who have shown no secret the one
//! who came first makes room. So idle strangers keep nobody out who has a token.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::net::Shutdown;
use tokio::net::TcpStream;

use super::roll::EntryId;

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// In all.
    pub(super) most: usize,
    /// Of those who have shown no secret.
    pub(super) strangers: usize,
    /// Of those who came by the same secret: others shall have some too.
    pub(super) each: usize,
}

/// All connections.
#[derive(Debug)]
pub(super) struct Seats {
    room: Room,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    taken: BTreeMap<u64, Taken>,
}

#[derive(Debug)]
struct Taken {
    stream: Weak<TcpStream>,
    /// By which entries somebody got in.
    known_by: Vec<EntryId>,
    cut: bool,
}

impl Taken {
    fn is_stranger(&self) -> bool {
        self.known_by.is_empty() && !self.cut
    }

    /// Ends it for whoever reads or writes, now or later.
    fn cut(&mut self) {
        self.cut = true;
        if let Some(stream) = self.stream.upgrade() {
            // It may have been closed by the other side.
            rustix::net::shutdown(&*stream, Shutdown::Both).ok();
        }
    }
}

/// One connection, as long as anybody holds it.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    seats: Arc<Seats>,
    pub(super) peer: IpAddr,
}

impl Seats {
    pub(super) fn new(room: Room) -> Arc<Self> {
        Arc::new(Self { room, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for this connection; none if all are taken by those who are known.
    pub(super) fn take(
        self: &Arc<Self>,
        stream: &Arc<TcpStream>,
        peer: SocketAddr,
    ) -> Option<Arc<Seat>> {
        let mut table = self.table();
        let strangers = table.taken.values().filter(|taken| taken.is_stranger()).count();
        let all = table.taken.values().filter(|taken| !taken.cut).count();
        if strangers >= self.room.strangers || all >= self.room.most {
            // The numbers grow, so this is the one who came first.
            let first = table.taken.values_mut().find(|taken| taken.is_stranger());
            first?.cut();
        }
        table.next += 1;
        let number = table.next;
        let stream = Arc::downgrade(stream);
        table.taken.insert(number, Taken { stream, known_by: Vec::new(), cut: false });
        drop(table);
        Some(Arc::new(Seat { number, seats: self.clone(), peer: peer.ip().to_canonical() }))
    }

    /// Cuts all connections over which somebody got in by one of these; gives how many.
    pub(super) fn cut(&self, entries: &[EntryId]) -> u64 {
        self.cut_where(entries, |_| true)
    }

    /// The same, but for this one.
    pub(super) fn cut_but(&self, entries: &[EntryId], spared: &Seat) -> u64 {
        self.cut_where(entries, |number| number != spared.number)
    }

    fn cut_where(&self, entries: &[EntryId], is_meant: impl Fn(u64) -> bool) -> u64 {
        let mut table = self.table();
        let known = |taken: &Taken| {
            !taken.cut && taken.known_by.iter().any(|entry| entries.contains(entry))
        };
        let meant =
            table.taken.iter_mut().filter(|(number, taken)| is_meant(**number) && known(taken));
        meant.map(|(_, taken)| taken.cut()).count() as u64
    }
}

impl Seat {
    /// Somebody got in over it. Not if as many have by the same secret as may.
    pub(super) fn known_by(&self, entry: EntryId) -> bool {
        let mut table = self.seats.table();
        let theirs = |taken: &Taken| !taken.cut && taken.known_by.contains(&entry);
        let count = table.taken.values().filter(|taken| theirs(taken)).count();
        let Some(taken) = table.taken.get_mut(&self.number) else { return true };
        if taken.known_by.contains(&entry) {
            return true;
        }
        let room = count < self.seats.room.each;
        if room {
            taken.known_by.push(entry);
        }
        room
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.table().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::http::access::identity::Via;
    use crate::http::access::roll::tests_entry;

    const ROOM: Room = Room { most: 3, strangers: 2, each: 3 };

    fn entry() -> EntryId {
        match tests_entry(kennel_types::api::Scope::Full).via {
            Via::Tcp { id, .. } => id,
            Via::Socket => panic!("not over TCP"),
        }
    }

    /// A connection: our side of it with a seat if there is one, and the other.
    async fn connect(seats: &Arc<Seats>) -> (Option<(Arc<TcpStream>, Arc<Seat>)>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let stream = Arc::new(stream);
        let seat = seats.take(&stream, peer);
        (seat.map(|seat| (stream, seat)), other)
    }

    async fn is_cut(other: &mut TcpStream) -> bool {
        let mut byte = [0];
        let end = other.read(&mut byte);
        let end = tokio::time::timeout(std::time::Duration::from_millis(50), end);
        matches!(end.await, Ok(Ok(0) | Err(_)))
    }

    #[tokio::test]
    async fn the_first_stranger_makes_room_and_those_who_are_known_stay() {
        let seats = Seats::new(ROOM);
        let (first, mut first_other) = connect(&seats).await;
        let (known, mut known_other) = connect(&seats).await;
        known.as_ref().unwrap().1.known_by(entry());
        let (_second, mut second_other) = connect(&seats).await;
        assert!(!is_cut(&mut first_other).await);
        let (third, mut third_other) = connect(&seats).await;
        assert!(is_cut(&mut first_other).await, "it came first");
        assert!(!is_cut(&mut known_other).await && !is_cut(&mut second_other).await);
        third.as_ref().unwrap().1.known_by(entry());
        let (fourth, _) = connect(&seats).await;
        assert!(fourth.is_some() && is_cut(&mut second_other).await);
        fourth.as_ref().unwrap().1.known_by(entry());
        let (fifth, _) = connect(&seats).await;
        assert!(fifth.is_none(), "all are known");
        drop(known);
        assert!(connect(&seats).await.0.is_some(), "one has gone");
        assert!(!is_cut(&mut third_other).await);
        drop((first, third, fourth));
        assert_eq!(seats.table().taken.len(), 1, "all but the second have left the table");
    }

    #[tokio::test]
    async fn one_secret_does_not_get_all_seats() {
        let seats = Seats::new(Room { each: 1, ..ROOM });
        let (one, _) = connect(&seats).await;
        let (two, _) = connect(&seats).await;
        let (one, two) = (one.unwrap(), two.unwrap());
        assert!(one.1.known_by(entry()) && one.1.known_by(entry()), "it is the same");
        assert!(!two.1.known_by(entry()));
        drop(one);
        assert!(two.1.known_by(entry()), "there is room again");
    }

    #[tokio::test]
    async fn who_got_in_by_a_token_is_cut_with_it() {
        let seats = Seats::new(ROOM);
        let (known, mut known_other) = connect(&seats).await;
        let (_stranger, mut stranger_other) = connect(&seats).await;
        known.as_ref().unwrap().1.known_by(entry());
        assert_eq!(seats.cut(&[entry()]), 1);
        assert_eq!(seats.cut(&[entry()]), 0, "once");
        assert!(is_cut(&mut known_other).await && !is_cut(&mut stranger_other).await);
    }
}
