//! Whatever clients send, the server goes on, and its memory stays bounded.

use crate::client::{Client, PAGE, serve};
use destage_core::SplitMix64;
use destage_nbd::{Serving, Source};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::time::Duration;

/// A conversation that begins well, goes wrong somewhere, and ends.
fn talk(folder: &Path, random: &mut SplitMix64) {
    let mut client = Client::raw(folder);
    let mut bytes: Vec<u8> = Vec::new();
    let mut number = |end: u64| random.next() % end;
    if number(8) > 0 {
        bytes.extend(3_u32.to_be_bytes());
    }
    for _ in 0..number(4) {
        bytes.extend(b"IHAVEOPT");
        let option = [1, 2, 3, 5, 6, 7, 8, 99, u32::MAX][number(9) as usize];
        let length = [0, 4, 6, 10, 16 << 10, (16 << 10) + 1, u32::MAX][number(7) as usize];
        bytes.extend(option.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend((0..length.min(1 << 15)).map(|_| number(3) as u8));
    }
    if number(2) == 0 {
        bytes.extend(b"IHAVEOPT\0\0\0\x01\0\0\0\0");
    }
    for _ in 0..number(6) {
        bytes.extend(if number(6) > 0 { [0x25, 0x60, 0x95, 0x13] } else { [1; 4] });
        bytes.extend((number(4) as u16).to_be_bytes());
        bytes.extend((number(9) as u16).to_be_bytes());
        bytes.extend(number(u64::MAX).to_be_bytes());
        let offset = [0, number(1 << 20), u64::MAX - number(9)][number(3) as usize];
        bytes.extend(offset.to_be_bytes());
        let length = [0, 100, number(1 << 16) as u32, u32::MAX][number(4) as usize];
        bytes.extend(length.to_be_bytes());
        bytes.extend((0..number(3) * 100).map(|byte| byte as u8));
    }
    for _ in 0..number(3) {
        if !bytes.is_empty() {
            let at = number(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << number(8);
        }
    }
    bytes.truncate(number(bytes.len() as u64 + 1) as usize);
    _ = client.0.write_all(&bytes); // the server may have closed it
    if number(3) == 0 {
        _ = client.0.shutdown(Shutdown::Write);
        // Whatever it answers, to the end.
        _ = std::io::copy(&mut client.0, &mut std::io::sink());
    }
}

#[test]
fn three_thousand_malformed_conversations_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), |_| {});
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                let random = &mut SplitMix64::new(thread);
                for _ in 0..800 {
                    talk(folder, random);
                }
            });
        }
    });
    let mut client = Client::ready(folder.path());
    client.put(0, b"still here");
    assert_eq!(client.get(0, 10), b"still here");
    let told = server.snapshot();
    assert_eq!(told.connections.accepted, 3_201);
    let (count, complaint) = server.complaints();
    assert!(count > 500, "{count}");
    assert!(complaint.unwrap().starts_with("connection "));
}

#[test]
fn wrong_beginnings_end_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |settings| settings.server.export = "disk".to_string());
    for flags in [0, 2, 7, 0x8000_0001] {
        assert!(Client::greeted(folder.path(), flags).is_closed(), "client flags {flags:#x}");
    }
    let mut client = Client::greeted(folder.path(), 1);
    client.option(1, b"other").unwrap();
    assert!(client.is_closed(), "a name that is not here");
    let mut client = Client::greeted(folder.path(), 1);
    client.0.write_all(&[0; 16]).unwrap();
    assert!(client.is_closed(), "an option without magic");
    let mut client = Client::greeted(folder.path(), 1);
    client.0.write_all(b"IHAVEOPT\0\0\0\x03\0\x01\0\0").unwrap();
    assert!(client.is_closed(), "64 KiB of an option");
    let mut client = Client::greeted(folder.path(), 1);
    for _ in 0..64 {
        client.option(99, &[]).unwrap();
        client.answer(99).unwrap();
    }
    _ = client.option(99, &[]);
    assert!(client.is_closed(), "the 65th option");
}

#[test]
fn a_request_that_cannot_be_skipped_ends_the_connection_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), |_| {});
    let mut client = Client::ready(folder.path());
    client.send(0, 1, 0, 0, (32 << 20) + 1);
    assert!(client.is_closed(), "a write of more than 32 MiB");
    let mut client = Client::ready(folder.path());
    client.0.write_all(&[9; 28]).unwrap();
    assert!(client.is_closed(), "a request without magic");
    let mut client = Client::ready(folder.path());
    client.send(0, 1, 0, 0, 1000);
    client.0.write_all(&[1; 999]).unwrap();
    client.0.shutdown(Shutdown::Write).unwrap();
    assert!(client.is_closed(), "a write without its last byte");
    assert_eq!(server.snapshot().counters.policy.accesses(), 0);
}

#[test]
fn a_new_connection_displaces_the_oldest_that_has_not_shaken_hands() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), |settings| settings.server.max_connections = 3);
    let mut ready = Client::ready(folder.path());
    assert_eq!(ready.get(0, 1), [0]);
    let mut silent = [0, 1, 2].map(|_| {
        let mut client = Client::raw(folder.path());
        client.read(18).unwrap();
        client
    });
    assert!(silent[0].is_closed());
    let mut others = [0, 1].map(|_| Client::ready(folder.path()));
    assert!(silent[1].is_closed() && silent[2].is_closed());
    for client in others.iter_mut().chain([&mut ready]) {
        assert_eq!(client.get(0, 1), [0]);
    }
    assert_eq!(server.snapshot().connections.most, 3);
}

#[test]
fn clients_that_take_no_replies_hold_no_more_than_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |_| {});
    let mut stuck: Vec<Client> = (0..4).map(|_| Client::ready(folder.path())).collect();
    for client in &mut stuck {
        for cookie in 0..100 {
            client.send(0, 0, cookie, 0, 1 << 19);
        }
    }
    let mut client = Client::ready(folder.path());
    client.put(5, b"here");
    assert_eq!(client.get(5, 4), b"here");
    // And one that takes them has all of them.
    let slow = &mut stuck[0];
    for _ in 0..100 {
        assert_eq!(slow.reply().unwrap().1, 0);
        assert_eq!(slow.read(1 << 19).unwrap().len(), 1 << 19);
    }
}

/// Largest request of the protocol, bytes.
const MOST: u32 = 32 << 20;

fn large(folder: &Path) -> Serving {
    serve(folder, |settings| settings.source = Source::Memory { bytes: 2 * u64::from(MOST) })
}

/// Misses, hits and writes of another client are answered.
fn serves_others(folder: &Path) {
    let mut client = Client::ready(folder);
    for page in 0..200 {
        let at = page * u64::from(PAGE);
        assert_eq!(client.get(at, PAGE).len(), PAGE as usize);
        client.put(at, &[page as u8; 20_000]);
    }
}

#[test]
fn clients_that_take_no_replies_to_the_largest_reads_stop_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let _server = large(folder.path());
    let _deaf: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = Client::ready(folder.path());
            (0..16).for_each(|cookie| client.send(0, 0, cookie, 4096, MOST));
            client
        })
        .collect();
    serves_others(folder.path());
}

#[test]
fn halves_of_the_largest_writes_stop_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let _server = large(folder.path());
    let _silent: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = Client::ready(folder.path());
            client.send(0, 1, 0, u64::from(MOST), MOST);
            client.0.write_all(&[1; 100_000]).unwrap();
            client
        })
        .collect();
    serves_others(folder.path());
}

#[test]
fn requests_larger_than_the_memory_of_a_connection_are_carried_out_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = large(folder.path());
    let mut client = Client::ready(folder.path());
    let (at, length) = (12_345, 9_000_001);
    let data: Vec<u8> = (0..length).map(|n| (n * 7 % 251) as u8).collect();
    assert_eq!(client.call(1, 1, at, length, &data).0, 0, "written and flushed");
    assert_eq!(server.snapshot().counters.store.pending_writes, 0);
    assert!(client.get(at, length) == data);
    assert_eq!(client.get(at + 8_000_000, 3)[..], data[8_000_000..8_000_003]);
    // Errors are found before any data, and a write's data are taken in.
    let beyond = 2 * u64::from(MOST) - 100;
    assert_eq!(client.call(0, 0, beyond, length, &[]).0, 22);
    assert_eq!(client.call(1, 0, beyond, length, &data).0, 28);
    assert_eq!(client.get(0, 1), [0]);
    let told = server.stop().0;
    assert_eq!((told.requests.read, told.requests.write), (3, 1));
    assert_eq!((told.bytes_read, told.bytes_written), (9_000_005, 9_000_001));
    let partial = told.counters.store.partial_fetches;
    assert_eq!(partial, 2, "only the two ends are parts of pages");
}

#[test]
fn a_read_that_fails_after_its_first_piece_ends_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let server = serve(folder.path(), |settings| {
        settings.source = Source::File { path: path.clone(), bytes: Some(16 << 20), direct: false };
    });
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(6 << 20).unwrap();
    let mut client = Client::ready(folder.path());
    assert_eq!(client.call(0, 0, 5 << 20, 2 << 20, &[]).0, 5, "EIO, before any data");
    client.send(0, 0, 1, 0, 12 << 20);
    assert_eq!(client.reply().unwrap(), (1, 0));
    client.read(6 << 20).unwrap();
    assert!(client.is_closed());
    let told = server.snapshot();
    assert_eq!(told.requests.errors, 2);
    let complaint = server.complaints().1.unwrap();
    assert!(complaint.contains("a read failed at offset 6291456"), "{complaint}");
}

/// A server with so many connections, where those that ask for nothing soon make room.
fn crowded(folder: &Path, most: usize) -> Serving {
    serve(folder, |settings| {
        settings.source = Source::Memory { bytes: 2 * u64::from(MOST) };
        settings.server.max_connections = most;
        settings.server.idle = Duration::from_millis(50);
    })
}

#[test]
fn clients_that_asked_once_make_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = crowded(folder.path(), 3);
    let mut clients = [0; 5].map(|_| {
        let mut client = Client::ready(folder.path());
        assert_eq!(client.get(0, 1), [0]);
        client
    });
    // The server takes notice of a reply's end after its client: which ones were idle longest is
    // for the test of `displaced`.
    let ended = (1..5_u64).filter(|number| {
        let socket = &mut clients[*number as usize - 1].0;
        socket.set_nonblocking(true).unwrap();
        !socket.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    });
    let ended: Vec<u64> = ended.collect();
    assert_eq!(ended.len(), 2, "{ended:?}");
    assert_eq!(clients[4].get(0, 1), [0], "the last one is served");
    let told = server.snapshot().connections;
    assert_eq!((told.accepted, told.refused, told.most), (5, 2, 3));
    let complaint = server.complaints().1.unwrap();
    let all = "all 3 connections are in use (--max-connections)";
    let said = |number: &u64| complaint == format!("{all}: connection {number}, unused, was ended");
    assert!(ended.iter().any(said), "{complaint}");
}

#[test]
fn a_client_waits_for_room_and_is_refused_where_all_others_have_requests_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let server = crowded(folder.path(), 2);
    let mut busy = [0, 1].map(|_| {
        let mut client = Client::ready(folder.path());
        // The server sends the data; the client takes none of them yet.
        client.send(0, 0, 7, 4096, MOST);
        assert_eq!(client.reply().unwrap(), (7, 0));
        client
    });
    assert!(Client::raw(folder.path()).is_closed());
    assert_eq!(server.snapshot().connections.refused, 1);
    let complaint = server.complaints().1.unwrap();
    let said = "all 2 connections are in use (--max-connections): a client was refused";
    assert_eq!(complaint, said);
    for client in &mut busy {
        assert_eq!(client.read(MOST as usize).unwrap().len(), MOST as usize);
    }
}
