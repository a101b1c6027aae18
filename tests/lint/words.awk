# Paths of one machine, over-long files and left-over marks.
function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; status = 1 }
FNR == 1 { if (NR > 1 && lines > 600 && previous ~ /\.[ch]pp$/) printf "%s: %d lines (over 600 wants a reason)\n", previous, lines }
{ previous = FILENAME; lines = FNR }
/(^|[^a-zA-Z0-9_.\/-])\/work\// { fault("a path of one machine: " $0) }
/(^|[^a-zA-Z0-9_\/-])(\.\.\/)?shared\/(API|DESIGN|STYLE)/ { fault("refers to a file outside the tree") }
/(^|[^a-zA-Z])(FIXME|XXX|TODO)([^a-zA-Z]|$)/ { fault("left-over mark") }
/<<<<<<< |>>>>>>> / { fault("merge mark") }
END { if (lines > 600 && previous ~ /\.[ch]pp$/) printf "%s: %d lines (over 600 wants a reason)\n", previous, lines; exit status }
