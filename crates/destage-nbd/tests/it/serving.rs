//! Files, sockets, records, and the end of a server.

use crate::client::{Client, serve, settings};
use destage_nbd::{Address, ServeError, Serving, Settings, Source};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn file(path: &Path, bytes: Option<u64>) -> Source {
    Source::File { path: path.to_owned(), bytes, direct: false }
}

fn error(settings: &Settings) -> ServeError {
    Serving::start(settings).err().expect("it cannot be served")
}

#[test]
fn a_file_has_all_that_was_written_when_the_server_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let mut server = serve(folder.path(), |settings| settings.source = file(&path, Some(1 << 20)));
    assert_eq!(server.export_bytes(), 1 << 20);
    let mut client = Client::ready(folder.path());
    client.put(12_345, &[9; 30_000]);
    let (told, ended) = server.stop();
    ended.unwrap();
    assert!(client.is_closed());
    assert_eq!(told.counters.store.pending_writes, 0);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes[12_345..42_345].iter().all(|byte| *byte == 9));
    assert!(!folder.path().join("socket").exists());
}

#[test]
fn the_socket_is_its_users_alone_and_one_that_is_left_over_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left over");
    let server = serve(folder.path(), |_| {});
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let wrong = error(&settings(folder.path()));
    assert!(matches!(&wrong, ServeError::Io(what) if what.contains("somebody listens")), "{wrong}");
    assert_eq!(Client::ready(folder.path()).get(0, 1), [0], "and the first is still there");
    drop(server);
    std::fs::write(&path, "a file").unwrap();
    let wrong = error(&settings(folder.path()));
    assert!(matches!(&wrong, ServeError::Io(what) if what.contains("no socket")), "{wrong}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
}

#[test]
fn a_free_port_of_localhost_is_found_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::parse("0").unwrap();
    let server = serve(folder.path(), |settings| settings.server.address = address);
    let told = server.uri().strip_prefix("nbd://").unwrap().trim_end_matches('/').to_string();
    let mut socket = std::net::TcpStream::connect(&told).unwrap();
    let mut greeting = [0; 8];
    std::io::Read::read_exact(&mut socket, &mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGIC");
    let here: std::net::SocketAddr = told.parse().unwrap();
    assert!(here.ip().is_loopback() && here.port() > 0);
}

#[test]
fn what_cannot_be_served_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let base = settings(folder.path());
    let with = |source| Settings { source, ..base.clone() };
    let missing = error(&with(file(&path, None)));
    assert!(matches!(&missing, ServeError::Missing(what) if what.contains("--size")), "{missing}");
    assert!(matches!(error(&with(file(folder.path(), None))), ServeError::Io(_)));
    std::fs::write(&path, [1; 10_000]).unwrap();
    let size = error(&with(file(&path, Some(1 << 20))));
    assert!(matches!(&size, ServeError::Usage(what) if what.contains("10000")), "{size}");
    let future = error(&Settings { policy: "min".to_string(), ..base.clone() });
    assert!(matches!(&future, ServeError::Usage(what) if what.contains("future")), "{future}");
    let small = error(&with(Source::Memory { bytes: 4095 }));
    assert!(matches!(&small, ServeError::Usage(what) if what.contains("smaller")), "{small}");
    let record = Settings { record: Some(path.clone()), ..with(file(&path, None)) };
    let record = error(&record);
    assert!(matches!(&record, ServeError::Usage(what) if what.contains("record")), "{record}");
    let _server = serve(folder.path(), |settings| settings.source = file(&path, None));
    let mut second = with(file(&path, None));
    second.server.address = Address::Unix(folder.path().join("other"));
    let used = error(&second);
    assert!(matches!(&used, ServeError::Io(what) if what.contains("in use")), "{used}");
}

#[test]
fn a_pipe_is_no_file_to_serve_and_no_file_is_made_for_less_than_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let base = settings(folder.path());
    let pipe = error(&Settings { source: file(&path, None), ..base.clone() });
    assert!(matches!(&pipe, ServeError::Io(what) if what.contains("pipe")), "{pipe}");
    let record = error(&Settings { record: Some(path), ..base.clone() });
    assert!(matches!(&record, ServeError::Io(_)), "nobody reads it: {record}");
    let path = folder.path().join("small");
    for bytes in [0, 4095] {
        let small = error(&Settings { source: file(&path, Some(bytes)), ..base.clone() });
        assert!(matches!(&small, ServeError::Usage(what) if what.contains("--size")), "{small}");
        assert!(!path.exists());
    }
}

#[test]
fn a_record_is_emptied_by_the_server_that_writes_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, record) = (folder.path().join("disk"), folder.path().join("record"));
    std::fs::write(&disk, vec![7; 1 << 20]).unwrap();
    std::fs::hard_link(&disk, &record).unwrap();
    let with = |socket: &str| {
        let mut settings = settings(folder.path());
        settings.server.address = Address::Unix(folder.path().join(socket));
        settings.record = Some(record.clone());
        settings
    };
    let linked = error(&Settings { source: file(&disk, None), ..with("socket") });
    assert!(matches!(&linked, ServeError::Usage(what) if what.contains("served")), "{linked}");
    assert!(std::fs::read(&disk).unwrap() == vec![7; 1 << 20]);

    std::fs::remove_file(&record).unwrap();
    std::fs::write(&record, "of a week\n").unwrap();
    let other = serve(folder.path(), |_| {});
    assert!(matches!(error(&with("socket")), ServeError::Io(_)), "the address is in use");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "of a week\n");
    drop(other);

    let mut first = serve(folder.path(), |settings| settings.record = Some(record.clone()));
    let second = error(&with("second"));
    assert!(matches!(&second, ServeError::Io(what) if what.contains("in use")), "{second}");
    Client::ready(folder.path()).put(0, &[1]);
    first.stop().1.unwrap();
    assert_eq!(std::fs::read_to_string(&record).unwrap().lines().count(), 3, "with the last flush");
    Serving::start(&with("second")).unwrap();
}

#[test]
fn a_record_that_cannot_be_written_is_told_of_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = serve(folder.path(), |settings| settings.record = Some("/dev/full".into()));
    Client::ready(folder.path()).put(0, &[1]);
    let told = loop {
        if let Some(told) = server.complaints().1 {
            break told;
        }
        std::thread::sleep(std::time::Duration::from_millis(20)); // within a second
    };
    assert!(told.starts_with("record: "), "{told}");
    let failed = server.stop().1.unwrap_err();
    assert!(matches!(&failed, ServeError::Io(what) if what.starts_with("record: ")), "{failed}");
}

#[test]
fn a_server_removes_its_own_socket_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let first = serve(folder.path(), |_| {});
    std::fs::remove_file(&path).unwrap();
    let second = serve(folder.path(), |_| {});
    drop(first);
    assert_eq!(Client::ready(folder.path()).get(0, 1), [0]);
    drop(second);
    assert!(!path.exists());
}

#[test]
fn files_that_others_make_meanwhile_have_the_modes_that_they_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let is_over = &std::sync::atomic::AtomicBool::new(false);
    let load = || is_over.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        let binds = scope.spawn(|| {
            (0..300).for_each(|_| drop(serve(folder.path(), |_| {})));
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut modes = std::collections::BTreeSet::new();
        for number in 0.. {
            let path = folder.path().join(format!("{}", number % 50));
            _ = std::fs::remove_file(&path);
            let made = std::fs::File::create(&path).unwrap();
            modes.insert(made.metadata().unwrap().permissions().mode());
            if load() {
                break;
            }
        }
        assert_eq!(modes.len(), 1, "{modes:?}");
        binds.join().unwrap();
    });
}

#[test]
fn a_file_that_lost_its_name_while_it_was_served_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let mut server = serve(folder.path(), |settings| settings.source = file(&path, Some(1 << 20)));
    assert_eq!(server.lost_file(), None);
    std::fs::rename(&path, folder.path().join("away")).unwrap();
    assert!(server.lost_file().unwrap().contains("was removed"));
    std::fs::write(&path, "another").unwrap();
    server.stop().1.unwrap();
    assert!(server.lost_file().unwrap().contains("another file"));
}

#[test]
fn requests_are_recorded_and_a_name_with_gz_packs_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["record.csv", "record.csv.gz"] {
        let path = folder.path().join(name);
        let mut server = serve(folder.path(), |settings| {
            settings.record = Some(path.clone());
            settings.options.name = "disk, one".to_string();
        });
        let mut client = Client::ready(folder.path());
        client.put(100, &[1; 50]);
        client.get(4096, 10);
        client.call(4, 0, 4096, 8192, &[]);
        while std::fs::read(&path).unwrap().len() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(50)); // within a second
        }
        client.call(3, 0, 0, 0, &[]);
        server.stop().1.unwrap();
        let mut text = String::new();
        let bytes = std::fs::read(&path).unwrap();
        if name.ends_with("gz") {
            let mut packed = flate2::read::MultiGzDecoder::new(&bytes[..]);
            std::io::Read::read_to_string(&mut packed, &mut text).unwrap();
        } else {
            text = String::from_utf8(bytes).unwrap();
        }
        let lines: Vec<_> = text.lines().map(|line| line.split_once(',').unwrap().1).collect();
        assert_eq!(
            lines,
            [
                "device,op,offset_bytes,length_bytes,response_ns",
                "\"disk, one\",write,100,50,",
                "\"disk, one\",read,4096,10,",
                "\"disk, one\",trim,4096,8192,",
                "\"disk, one\",flush,0,0,",
                "\"disk, one\",flush,0,0,",
            ]
        );
    }
}

#[test]
fn a_stop_answers_what_is_under_way_and_ends_silent_connections() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = serve(folder.path(), |_| {});
    let mut idle = Client::ready(folder.path());
    let mut silent = Client::raw(folder.path());
    silent.read(18).unwrap();
    let mut busy = Client::ready(folder.path());
    for cookie in 0..50 {
        busy.send(0, 5, cookie, 0, 4096);
    }
    server.stop().1.unwrap();
    assert!(idle.is_closed() && silent.is_closed());
    let mut replies = 0;
    while let Ok((_, error)) = busy.reply() {
        assert!(error == 0 || error == 108, "{error}");
        replies += 1;
    }
    assert!(replies <= 50);
    let (told, ended) = server.stop();
    ended.unwrap();
    assert_eq!(told.open_connections, 0);
}
