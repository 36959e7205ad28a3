# Functions are at most 45 lines long and take at most 7 parameters. Kernels of numeric loops, whose
# parameters are sizes and arrays, in net, ensemble and num, are excepted from the second.
BEGIN { longest = 45; most = 7 }

FNR == 1 { start = 0; head = "" }

# A definition begins in the first column and ends its head with "{".
/^[a-zA-Z_]/ && !/^(typedef|struct|enum|union|extern|#|\/\*)/ { head = $0; first = FNR }
/^ / && head != "" && !start { head = head " " $0 }
/\{$/ && head ~ /\(/ && head !~ /=/ && !start { start = FNR; parameters = count(head); name = named(head) }
/;$/ && !start { head = "" }

/^\}/ {
  if (start) {
    lines = FNR - start - 1
    if (lines > longest) { printf "%s:%d: %s has %d lines\n", FILENAME, first, name, lines; failed = 1 }
    if (parameters > most && FILENAME !~ /(net|ensemble|num)\/|_step\.c$/) {
      printf "%s:%d: %s has %d parameters\n", FILENAME, first, name, parameters
      failed = 1
    }
  }
  start = 0
  head = ""
}

function named(text) {
  sub(/\(.*/, "", text)
  sub(/.*[ *]/, "", text)
  return text
}

# Commas at the first level of the parameter list.
function count(text,    i, c, depth, commas) {
  text = substr(text, index(text, "("))
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (c == "(") depth++
    else if (c == ")") { if (--depth == 0) break }
    else if (c == "," && depth == 1) commas++
  }
  return commas + 1
}

END { exit failed }
