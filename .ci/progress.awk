# What cargo says while it builds, as a line every thirty crates; all of it where it fails. The last
# line is "status N", and awk ends with N.
/^status [0-9]+$/ { status = $2; next }
/^ *Compiling / {
    if (++crates % 30 == 0) { printf "  %d crates are compiled or under way, now %s\n", crates, $2; fflush() }
    next
}
{ said = said $0 "\n" }
END {
    if (status) printf "%s", said > "/dev/stderr"
    exit status
}
