//! Names of columns, and the role that each means.

/// Words of a name in lower case: `ResponseTime`, `io.lba` and `time_us` have two each.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut previous, mut joins) = (' ', false);
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && previous.is_ascii_lowercase();
        if c.is_ascii_alphabetic() {
            match words.last_mut() {
                Some(word) if joins && !begins => word.push(c.to_ascii_lowercase()),
                _ => words.push(c.to_ascii_lowercase().to_string()),
            }
        }
        joins = c.is_ascii_alphabetic();
        previous = c;
    }
    words
}

/// Roles, each with names that mean it by themselves, and words that mean it at the end of a name.
/// An earlier name is the better one.
const ROLES: [(&str, &[&str], &[&str]); 6] = [
    (
        "response",
        &[
            "response",
            "responsetime",
            "latency",
            "lat",
            "servicetime",
            "service",
            "duration",
            "elapsed",
            "elapsedtime",
            "resptime",
            "rt",
        ],
        &["latency", "lat", "duration", "response", "elapsed"],
    ),
    (
        "time",
        &[
            "arrival",
            "arrivaltime",
            "issuetime",
            "issue",
            "submittime",
            "submissiontime",
            "starttime",
            "requesttime",
            "reqtime",
            "timestamp",
            "ts",
            "time",
            "datetime",
            "date",
            "when",
            "t",
            "eventtime",
            "tracetime",
            "epoch",
            "clock",
        ],
        &["timestamp", "ts", "time"],
    ),
    (
        "op",
        &[
            "op",
            "operation",
            "rwbs",
            "rw",
            "iotype",
            "optype",
            "opcode",
            "iop",
            "ioop",
            "requesttype",
            "reqtype",
            "direction",
            "dir",
            "readwrite",
            "rorw",
            "iswrite",
            "isread",
            "rwflag",
            "accesstype",
            "ops",
            "type",
            "kind",
            "action",
            "cmd",
            "command",
            "access",
            "io",
            "event",
            "name",
            "flags",
        ],
        &["op", "operation", "rwbs", "rw", "opcode", "type"],
    ),
    (
        "length",
        &[
            "length",
            "len",
            "size",
            "bytes",
            "nbytes",
            "numbytes",
            "bytecount",
            "iosize",
            "requestsize",
            "reqsize",
            "transfersize",
            "xfersize",
            "iolen",
            "iolength",
            "datalen",
            "datalength",
            "reqlen",
            "requestlength",
            "transferlength",
            "sectors",
            "nrsector",
            "nrsectors",
            "nsectors",
            "nsector",
            "numsectors",
            "sectorcount",
            "blocks",
            "nblocks",
            "numblocks",
            "nrblocks",
            "blockcount",
            "nlb",
            "count",
            "pages",
            "npages",
            "numpages",
            "pagecount",
            "bs",
            "blocksize",
            "blksize",
        ],
        &["length", "len", "size"],
    ),
    (
        "offset",
        &[
            "offset",
            "byteoffset",
            "off",
            "byteoff",
            "lba",
            "slba",
            "startlba",
            "lbn",
            "sector",
            "startsector",
            "firstsector",
            "sectornumber",
            "address",
            "addr",
            "startaddress",
            "startaddr",
            "logicalblockaddress",
            "logicalblock",
            "logicaladdress",
            "block",
            "blkno",
            "blocknumber",
            "blocknum",
            "blockid",
            "startblock",
            "start",
            "pos",
            "position",
            "page",
            "pageid",
            "pagenumber",
            "pageno",
            "lpn",
            "lpa",
        ],
        &["offset", "off", "lba", "lbn", "sector", "slba", "addr", "address", "lpn"],
    ),
    (
        "device",
        &[
            "device",
            "dev",
            "disk",
            "volume",
            "vol",
            "lun",
            "asu",
            "drive",
            "devicename",
            "deviceid",
            "volumeid",
            "diskid",
            "disknumber",
            "disknum",
            "diskno",
            "devname",
            "bdev",
            "nsid",
            "majorminor",
            "major",
            "file",
            "filename",
            "path",
            "fileid",
            "inode",
        ],
        &["device", "disk", "volume", "lun"],
    ),
];

/// First words of names that mean something else, whatever their last word is.
const OTHERS: &[&str] = &[
    "key",
    "queue",
    "cpu",
    "process",
    "thread",
    "cache",
    "value",
    "ttl",
    "file",
    "io",
    "end",
    "completion",
    "complete",
    "finish",
    "think",
    "wait",
    "idle",
    "host",
    "user",
    "client",
    "device",
];

/// Words behind a name that say its unit.
const UNITS: &[&str] = &[
    "s",
    "sec",
    "secs",
    "seconds",
    "ms",
    "msec",
    "milliseconds",
    "us",
    "usec",
    "microseconds",
    "ns",
    "nsec",
    "nanoseconds",
    "byte",
    "bytes",
    "b",
    "sector",
    "sectors",
    "block",
    "blocks",
    "page",
    "pages",
    "utc",
];

/// The role that a name means, and how well: less is better. `None` for other columns.
pub(super) fn role_of(words: &[String]) -> Option<(&'static str, usize)> {
    let core = match words {
        [front @ .., last] if !front.is_empty() && UNITS.contains(&last.as_str()) => front,
        all => all,
    };
    let whole = |words: &[String]| {
        let name = words.concat();
        ROLES.iter().find_map(|(role, names, _)| {
            names.iter().position(|known| *known == name).map(|at| (*role, at))
        })
    };
    if let Some(found) = whole(words).or_else(|| whole(core)) {
        return Some(found);
    }
    // `io.lba`, `header.timestamp`, `file_offset`: by the last word, unless the first says that it
    // is of something else. What is in front of an address or a time is its owner.
    let (first, last) = (core.first()?, core.last()?);
    let (role, _, _) = ROLES.iter().find(|(_, _, ends)| ends.contains(&last.as_str()))?;
    let owned = match *role {
        "offset" => true,
        "length" => matches!(first.as_str(), "io" | "request" | "req" | "data" | "transfer"),
        "time" => !OTHERS.contains(&first.as_str()) || first == "io",
        "op" | "response" => {
            !OTHERS.contains(&first.as_str()) || first == "io" || first == "device"
        }
        _ => core.len() == 2,
    };
    owned.then_some((*role, 100))
}

/// The part of a device's name that a column is, if it is one: host, device or the number beneath
/// it, in that order.
pub(super) fn device_part(words: &[String]) -> Option<usize> {
    let name = words.concat();
    let parts: [&[&str]; 4] = [
        &["host", "hostname", "server", "machine", "node", "vm", "vmid"],
        &[
            "device",
            "dev",
            "disk",
            "volume",
            "vol",
            "lun",
            "asu",
            "drive",
            "devicename",
            "deviceid",
            "volumeid",
            "diskid",
            "disknumber",
            "disknum",
            "diskno",
            "devname",
            "bdev",
            "majorminor",
            "major",
        ],
        &["minor"],
        &["nsid", "namespace", "namespaceid"],
    ];
    parts.iter().position(|names| names.contains(&name.as_str()))
}

/// Names of operations that say so however their values look; others need values that are known.
pub(super) fn is_surely_op(words: &[String]) -> bool {
    const SURE: &[&str] = &[
        "op",
        "operation",
        "rwbs",
        "rw",
        "iotype",
        "optype",
        "opcode",
        "iop",
        "ioop",
        "requesttype",
        "reqtype",
        "readwrite",
        "rorw",
        "iswrite",
        "isread",
        "rwflag",
        "ops",
    ];
    SURE.contains(&words.concat().as_str())
        || words
            .last()
            .is_some_and(|last| ["op", "operation", "rwbs", "opcode"].contains(&last.as_str()))
}

/// Names of objects of a cache or a store, which are no addresses.
pub(super) fn is_object(words: &[String]) -> bool {
    const KEYS: &[&str] = &[
        "key",
        "cachekey",
        "anonymizedkey",
        "objectid",
        "objid",
        "object",
        "obj",
        "keyhash",
        "hashedkey",
        "itemid",
        "url",
        "contentid",
        "blobid",
        "photoid",
        "videoid",
        "uri",
    ];
    KEYS.contains(&words.concat().as_str())
}

/// The unit that a name ends with, of a time.
pub(super) fn time_unit_of(words: &[String]) -> Option<&'static str> {
    match words.last()?.as_str() {
        _ if words.len() < 2 => None,
        "s" | "sec" | "secs" | "seconds" => Some("s"),
        "ms" | "msec" | "msecs" | "milliseconds" => Some("ms"),
        "us" | "usec" | "usecs" | "microseconds" => Some("us"),
        "ns" | "nsec" | "nsecs" | "nanoseconds" => Some("ns"),
        _ => None,
    }
}
