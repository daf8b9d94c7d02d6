use super::*;

fn drafted(text: &str) -> Option<String> {
    let sample = Sample { bytes: text.as_bytes(), whole: true, size: None, name: "my io.csv" };
    draft(&sample, &ReaderOptions::default())
}

/// The flags of the command that a draft prints.
fn command(text: &str) -> String {
    let found = drafted(text).unwrap_or_default();
    let at = found.find("'my io.csv' ").unwrap_or_else(|| panic!("no command: {found}"));
    found[at + 12..].lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_header_says_which_column_is_what() {
    let text = "when_ms;vol;rw;lba;bytes\n0,5;a;R;2048;4096\n1,25;a;W;16;8192\n2,0;b;R;8;512\n";
    assert_eq!(
        drafted(text).unwrap(),
        "it may be a table; with the flags below its first requests are\n    \
         0.000000 s  read  byte 1048576, 4096 bytes\n    \
         0.000750 s  write  byte 8192, 8192 bytes\n    \
         0.001500 s  read  byte 4096, 512 bytes\n  \
         if that is right: destage trace info 'my io.csv' --format csv --columns \
         time=when_ms,op=rw,offset=lba,length=bytes,device=vol --time-unit ms --offset-unit \
         sector --length-unit byte --op-read R --op-write W\n  \
         else change them (`destage trace formats csv`), or name another format with --format \
         NAME"
    );
}

#[test]
fn without_a_header_values_decide_and_the_unit_of_the_time_is_asked() {
    let text = "0.10 read 1048576 4096\n0.35 write 8192 8192\n0.40 read 0 512\n";
    assert_eq!(
        command(text),
        "--format csv --columns time=0,op=1,offset=2,length=3 --time-unit UNIT --offset-unit byte \
         --length-unit byte --op-read read --op-write write"
    );
    let found = drafted(text).unwrap();
    assert!(
        found.contains("the unit of column 0 is not in the file: --time-unit s, ms"),
        "{found}"
    );
    assert!(found.contains("the columns have no names"), "{found}");
}

#[test]
fn a_column_named_operation_stays_one_whatever_its_values() {
    let text = "time_us,op,lba,bytes\n1,28,8,4096\n2,2a,16,512\n3,28,8,512\n";
    assert!(command(text).ends_with("--op-read 28 --op-write 2a"), "SCSI");
    let text = "time_us,rwbs,sector,nr_sector\n1,WFSM,8,8\n2,RA,16,8\n3,FF,0,0\n4,DS,8,8\n";
    assert_eq!(
        command(text),
        "--format csv --columns time=time_us,op=rwbs,offset=sector,length=nr_sector --time-unit us \
         --offset-unit sector --length-unit sector --op-read RA --op-write WFSM --op-trim DS \
         --op-flush FF"
    );
    let text = "time_us,operation,lba,bytes\n1,REQ_OP_READ,8,4096\n2,zap,16,512\n3,zap,8,512\n";
    let found = drafted(text).unwrap();
    assert!(found.contains("op=operation") && found.contains("--op-read REQ_OP_READ"), "{found}");
    assert!(found.contains("operation has the values zap, whose meaning"), "{found}");
    let text = "time_us,rw,lba,bytes\n1,0,8,4096\n2,1,16,512\n3,1,8,512\n";
    assert!(drafted(text).unwrap().contains("does not say which of them reads"));
    let text = "time_us,is_write,lba,bytes\n1,0,8,4096\n2,1,16,512\n3,1,8,512\n";
    assert!(command(text).ends_with("--op-read 0 --op-write 1"));
}

#[test]
fn columns_of_something_else_get_no_role() {
    let text = "timestamp,pid,command,sector,operation,size,latency_ms,tid,nr_sectors,cpu_id,ppid\n\
                2024-01-15 10:30:45.123456,12,python3,2048,write,8192,1.234,12,16,0,12\n\
                2024-01-15 10:30:45.234567,12,python3,4096,read,4096,0.567,12,8,1,12\n";
    assert_eq!(
        command(text),
        "--format csv --columns \
         time=timestamp,op=operation,offset=sector,length=size,response=latency_ms --time-unit \
         date --offset-unit sector --length-unit byte --response-unit ms --op-read read --op-write \
         write"
    );
    let text = "header.sid,header.timestamp,io.lba,io.len,io.ioClass,device.id,device.name,\
                io.operation,io.flush,file.id,io.latency,io.qd,io.error\n\
                1,10012000,2048,8,1,1,nvme0n1,Write,false,0,100000,1,false\n\
                2,10312000,81920,32,1,1,nvme0n1,Read,false,0,80000,1,false\n";
    assert_eq!(
        command(text),
        "--format csv --columns \
         time=header.timestamp,op=io.operation,offset=io.lba,length=io.len,device=device.name \
         --time-unit UNIT --offset-unit sector --length-unit sector --op-read Read --op-write Write"
    );
}

#[test]
fn several_columns_name_a_device() {
    let text = ",Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                0,128166372003061629,usr,0,Read,7014609920,24576,41286\n\
                1,128166372016382155,usr,1,Write,1317441536,8192,1963\n";
    assert_eq!(
        command(text),
        "--format csv --columns \
         time=Timestamp,op=Type,offset=Offset,length=Size,device=Hostname+DiskNumber,\
         response=ResponseTime --time-unit filetime --offset-unit byte --length-unit byte \
         --response-unit filetime --op-read Read --op-write Write"
    );
}

#[test]
fn objects_are_called_objects() {
    for text in [
        "key,op,size,op_count,key_size\n1668,SET,82,1,40\n1668,GET,0,1,40\n17,GET,0,3,63\n",
        "1,abc,12,get\n2,def,13,set\n3,abc,12,get\n",
    ] {
        let found = drafted(text).unwrap();
        assert!(found.starts_with("it is a key-value trace"), "{found}");
        assert!(!found.contains("--columns"), "{found}");
    }
}

#[test]
fn what_is_no_table_of_requests_has_no_draft() {
    for text in ["one\ntwo\nthree\n", "a,b\nx,y\nz,w\n", "{\n \"runs\": [\n  1,\n  2\n ]\n}\n", ""]
    {
        assert_eq!(drafted(text), None, "{text}");
    }
}

#[test]
fn a_value_that_does_not_fit_its_named_column_is_shown() {
    let rows = |bad: &str, at: usize| {
        let row = ["1", "4096", "512", "R"].map(str::to_owned);
        let mut wrong = row.clone();
        wrong[at] = bad.to_owned();
        let good = row.join(",");
        format!("time_s,offset,length,op\n{good}\n\n{}\n{good}\n", wrong.join(","))
    };
    for (bad, at, said) in [
        ("-4096", 1, "column offset: line 4 has \"-4096\", expected a whole number"),
        ("1.5", 1, "column offset: line 4 has \"1.5\", expected a whole number"),
        ("4KiB", 2, "column length: line 4 has \"4KiB\", expected a whole number"),
        ("NaN", 0, "column time_s (time): line 4 has \"NaN\", expected a decimal number"),
        ("-3", 0, "column time_s (time): line 4 has \"-3\", expected a decimal number"),
    ] {
        let found = drafted(&rows(bad, at)).unwrap();
        assert!(found.starts_with("it may be a table, with values that do not fit"), "{found}");
        assert!(found.contains(said), "{found}");
        assert!(!found.contains("0.000000 s") && !found.contains("no column is named"), "{found}");
        let columns = "time=time_s,op=op,offset=offset,length=length";
        assert!(command(&rows(bad, at)).contains(columns), "{found}");
    }
}

#[test]
fn a_line_that_the_preview_leaves_out_is_named() {
    let text = "offset,length,op\n4096,512,R\n8192,512,W\n8192,512\n4096,512,R\n";
    let found = drafted(text).unwrap();
    assert!(found.contains("left out here: my io.csv:4: expected 3 fields, got 2"), "{found}");
    let text = "time,offset,length,op\n1538323200,4096,512,R\n1538323200500,8192,512,W\n\
                1538323202,4096,512,R\n";
    let found = drafted(text).unwrap();
    assert!(found.contains("left out here: my io.csv:3:1: time: \"1538323200500\""), "{found}");
    let text = "ts,offset,length,op\n1,4096,512,R\n2,8192\n3,4096,512,R\n";
    let found = drafted(text).unwrap();
    assert!(found.contains("line 3 is left out: expected 4 fields, got 2"), "{found}");
}

#[test]
fn a_name_of_two_columns_is_said() {
    let text = "offset,offset,length,op\n4096,0,512,R\n8192,0,512,W\n";
    let found = drafted(text).unwrap();
    assert!(found.contains("2 columns are named offset: column 0 is taken"), "{found}");
}
