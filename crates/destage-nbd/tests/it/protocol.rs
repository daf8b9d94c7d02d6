//! Options, flags, commands and errors, one by one.

use crate::client::{BYTES, Client, PAGE, serve};

const ERR_UNSUP: u32 = 0x8000_0001;
const ERR_INVALID: u32 = 0x8000_0003;
const ERR_UNKNOWN: u32 = 0x8000_0006;

fn go(name: &str, kinds: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((kinds.len() as u16).to_be_bytes());
    kinds.iter().for_each(|kind| data.extend(kind.to_be_bytes()));
    data
}

#[test]
fn options_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |settings| settings.server.export = "disk".to_string());
    let mut client = Client::greeted(folder.path(), 3);
    for number in [5, 8, 9, 10, 11, 77] {
        client.option(number, &[]).unwrap();
        assert_eq!(client.answer(number).unwrap(), (ERR_UNSUP, vec![]));
    }
    client.option(3, &[]).unwrap();
    assert_eq!(client.answer(3).unwrap(), (2, b"\0\0\0\x04disk".to_vec()));
    assert_eq!(client.answer(3).unwrap(), (1, vec![]));
    client.option(3, b"x").unwrap();
    assert_eq!(client.answer(3).unwrap().0, ERR_INVALID);
    client.option(6, &go("other", &[])).unwrap();
    assert_eq!(client.answer(6).unwrap().0, ERR_UNKNOWN);
    for malformed in [&b""[..], b"\0\0\0\x09abc", b"\xff\xff\xff\xff", b"\0\0\0\0\0\x01\0"] {
        client.option(7, malformed).unwrap();
        assert_eq!(client.answer(7).unwrap().0, ERR_INVALID);
    }
    client.option(6, &go("disk", &[1, 2])).unwrap();
    let told: Vec<_> = (0..5).map(|_| client.answer(6).unwrap()).collect();
    let flags = 1 | 4 | 8 | 32 | 64 | 256 | 1024_u16;
    let export = [&[0, 0][..], &BYTES.to_be_bytes(), &flags.to_be_bytes()].concat();
    assert_eq!(told[0], (3, export));
    assert_eq!(told[1], (3, b"\0\x01disk".to_vec()));
    assert_eq!(told[2], (3, b"\0\x02a test".to_vec()));
    let sizes = [1, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    assert_eq!(told[3], (3, [&[0, 3][..], &sizes].concat()));
    assert_eq!(told[4], (1, vec![]));
    client.option(7, &go("", &[])).unwrap();
    assert_eq!([0, 1, 2].map(|_| client.answer(7).unwrap().0), [3, 3, 1]);
    assert_eq!(client.get(0, 3), [0; 3], "requests follow GO");
}

#[test]
fn the_old_way_in_has_zeros_behind_it_unless_they_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |_| {});
    let mut client = Client::greeted(folder.path(), 1);
    client.option(1, b"").unwrap();
    assert_eq!(client.read(10 + 124).unwrap()[10..], [0; 124]);
    assert_eq!(client.get(5, 1), [0]);
    let mut client = Client::greeted(folder.path(), 3);
    client.option(2, b"").unwrap();
    assert_eq!(client.answer(2).unwrap(), (1, vec![]));
    assert!(client.is_closed());
}

#[test]
fn commands_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), |_| {});
    let mut client = Client::ready(folder.path());
    client.put(4000, &[7; 5000]);
    assert_eq!(client.get(3999, 5002), [&[0][..], &[7; 5000], &[0]].concat());
    assert_eq!(client.call(3, 0, 99, 99, &[]).0, 0, "a flush has no range");
    assert_eq!(client.call(4, 0, 4096, 4096, &[]).0, 0, "trim");
    assert_eq!(client.get(4096, 4096), [0; 4096]);
    assert_eq!(client.get(4000, 96), [7; 96]);
    assert_eq!(client.call(1, 1, 10, 3, b"abc").0, 0, "FUA");
    assert_eq!(client.call(6, 1, 11, 1, &[]).0, 0, "zeros");
    assert_eq!(client.call(6, 2, 4000, 50, &[]).0, 0, "zeros without a hole");
    assert_eq!(client.get(10, 3), b"a\0c");
    assert_eq!(client.call(5, 0, 0, 1 << 16, &[]).0, 0, "cache");
    let counts = server.snapshot();
    assert_eq!(counts.requests.write, 2);
    assert_eq!(counts.requests.write_zeroes, 2);
    assert_eq!((counts.requests.trim, counts.requests.cache, counts.requests.flush), (1, 1, 1));
    assert_eq!(counts.counters.store.flushes, 3, "one, and two of FUA");
    assert_eq!(counts.counters.trims.trim_requests, 1);
    assert_eq!((counts.requests.errors, counts.bytes_written), (0, 5003));
    assert!(counts.response_ns.p50.is_some());
    client.send(0, 2, 0, 0, 0);
    assert!(client.is_closed(), "DISC has no reply");
}

#[test]
fn what_is_wrong_with_a_request_is_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |_| {});
    let mut client = Client::ready(folder.path());
    let big = (32 << 20) + 1;
    for (what, command, flags, at, length, error) in [
        ("an unknown command", 9, 0, 0, 8, 22),
        ("an unknown flag", 0, 4, 0, 8, 22),
        ("a flag of another command", 0, 1, 0, 8, 22),
        ("nothing to read", 0, 0, 0, 0, 22),
        ("nothing to trim", 4, 0, 0, 0, 22),
        ("too much to read", 0, 0, 0, big, 22),
        ("too much to cache", 5, 0, 0, big, 22),
        ("a read beyond the end", 0, 0, BYTES - 1, 2, 22),
        ("a trim beyond the end", 4, 0, BYTES, 1, 22),
        ("zeros beyond the end", 6, 0, BYTES - 1, 2, 28),
        ("an overflow", 6, 0, u64::MAX, 2, 28),
    ] {
        assert_eq!(client.call(command, flags, at, length, &[]).0, error, "{what}");
    }
    assert_eq!(client.call(1, 0, BYTES - 1, 2, b"xy").0, 28, "its data were taken in");
    assert_eq!(client.call(1, 0, 0, 0, b"").0, 22);
    assert_eq!(client.get(BYTES - 1, 1), [0], "and the connection goes on");
}

#[test]
fn a_read_only_export_refuses_changes() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |settings| settings.server.read_only = true);
    let mut client = Client::greeted(folder.path(), 3);
    client.option(1, b"").unwrap();
    let flags = client.read(10).unwrap()[8..].to_vec();
    assert_eq!(flags, (1 | 2 | 4 | 8 | 256 | 1024_u16).to_be_bytes());
    let changes = [(1, &b"x"[..]), (4, b""), (6, b"")];
    assert_eq!(changes.map(|(command, data)| client.call(command, 0, 0, 1, data).0), [1; 3]);
    assert_eq!(client.get(0, 1), [0]);
}

#[test]
fn sixteen_requests_of_a_connection_are_under_way_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |_| {});
    let mut client = Client::ready(folder.path());
    for cookie in 0..200 {
        client.send(0, 5, cookie, cookie * 4096, 4096);
    }
    let mut seen: Vec<u64> = (0..200).map(|_| client.reply().unwrap().0).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..200), "each has one reply");
}

#[test]
fn one_flush_covers_what_was_answered_on_every_connection() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), |_| {});
    let mut clients = [0, 1, 2, 3].map(|_| Client::ready(folder.path()));
    for (at, client) in clients.iter_mut().enumerate() {
        client.put(at as u64 * 8192, &[at as u8 + 1; 100]);
    }
    assert_eq!(clients[0].call(3, 0, 0, 0, &[]).0, 0);
    assert_eq!(server.snapshot().counters.store.pending_writes, 0);
    assert_eq!(clients[1].get(3 * 8192, 1), [4], "and every connection sees the same bytes");
}

#[test]
fn requests_that_came_together_are_each_answered_once() {
    let folder = tempfile::tempdir().unwrap();
    let _server = serve(folder.path(), |_| {});
    let mut client = Client::ready(folder.path());
    let page = |n: u64| vec![n as u8 + 1; PAGE as usize];
    let at = |n: u64| n * u64::from(PAGE);
    (0..200).for_each(|n| client.put(at(n), &page(n))); // more than the cache has frames
    let mut sent = Vec::new();
    let mut add = |command: u16, cookie: u64, at: u64, length: u32, data: &[u8]| {
        sent.extend(0x2560_9513_u32.to_be_bytes());
        [0, command].iter().for_each(|number| sent.extend(number.to_be_bytes()));
        [cookie, at].iter().for_each(|number| sent.extend(number.to_be_bytes()));
        sent.extend(length.to_be_bytes());
        sent.extend(data);
    };
    for n in 0..100 {
        add(0, 1000 + n, at(n), PAGE, &[]); // not in memory
        add(0, 2000 + n, at(199 - n), PAGE, &[]); // mostly in memory
        add(1, 3000 + n, at(200 + n % 40), PAGE, &page(n));
        add(0, 4000 + n, BYTES, PAGE, &[]); // beyond the export
        add(3, 5000 + n, 0, 0, &[]);
    }
    add(2, 0, 0, 0, &[]);
    let mut socket = client.0.try_clone().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut socket, &sent).unwrap());
    let mut answered = std::collections::BTreeSet::new();
    for _ in 0..500 {
        let (cookie, error) = client.reply().unwrap();
        assert_eq!(error, if cookie / 1000 == 4 { 22 } else { 0 }, "{cookie}");
        let data = match cookie / 1000 {
            1 => Some(page(cookie - 1000)),
            2 => Some(page(199 - (cookie - 2000))),
            _ => None,
        };
        if let Some(data) = data {
            assert!(client.read(PAGE as usize).unwrap() == data, "{cookie}");
        }
        assert!(answered.insert(cookie), "{cookie} was answered before");
    }
    writer.join().unwrap();
    assert!(client.is_closed());
}
