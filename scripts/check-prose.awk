# Prints "LINE: N words: ..." for every sentence of a Markdown page that has over 25 words.
#
# A paragraph, an item of a list, a heading and a cell of a table end a sentence; so does a full stop, a question
# mark or an exclamation mark before a space. Blocks of code and indented lines do not count. A link is its text.

function sentence(text, line,    words, n, i, count) {
  n = split(text, words, /[ \t]+/)
  count = 0
  for (i = 1; i <= n; i++) if (words[i] ~ /[A-Za-z0-9]/ || words[i] ~ /[^ -~]/) count++
  if (count > 25) printf "%d: %d words: %s\n", line, count, substr(text, 1, 90)
}

function flush(    text, parts, n, i) {
  text = paragraph
  paragraph = ""
  if (text == "") return
  while (match(text, /\]\([^)]*\)/)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
  gsub(/[.!?][)"*_]*[ \t]+/, "&\001", text)
  n = split(text, parts, /\001/)
  for (i = 1; i <= n; i++) sentence(parts[i], start)
}

/^ *```/ { flush(); fenced = !fenced; next }
fenced { next }
/^    / && paragraph == "" { next }
/^[ \t]*$/ { flush(); next }
/^ *\|/ {
  flush()
  cells = split($0, cell, "|")
  for (c = 1; c <= cells; c++) { paragraph = cell[c]; start = FNR; flush() }
  next
}
/^#/ { flush(); next }
/^ *([-*+]|[0-9]+\.) / { flush() }
{
  if (paragraph == "") start = FNR
  line = $0
  sub(/^[ \t]+/, "", line)
  paragraph = paragraph == "" ? line : paragraph " " line
}
END { flush() }
