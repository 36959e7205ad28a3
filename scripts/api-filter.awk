# A header as doxygen reads it: its plain comments become documentation.
# Usage: awk -v names=FILE -f api-filter.awk HEADER
#
#   before the include guard       of the file; lines that are indented are mathematics or code, and stay as they are
#   on lines of their own          of the declaration below
#   behind code                    of what stands before
#   a few words after an empty line in a struct     a heading of the members below
# A function directly below another, without a comment, is told together with it; a struct without one names its file.
# NAMES has the public names, each at the end of a line (abi.py --names): where a comment says one, it is a link.
BEGIN { while ((getline name < names) > 0) { sub(/.* /, "", name); public[name] = 1 } }
{ line[NR] = $0 }

function escaped(text) {
  gsub(/[\\@<>&#%]/, "\\\\&", text)
  gsub(/--/, "\\--", text)
  return text
}

# Words with links; between backquotes as code.
function prose(text,   part, count, i, out, word, linked) {
  count = split(text, part, "`")
  for (i = 1; i <= count; i++) {
    linked = ""
    part[i] = escaped(part[i])
    while (match(part[i], /hvi_[a-z0-9_]+|HVI_[A-Z0-9_]+/)) {
      word = substr(part[i], RSTART, RLENGTH)
      linked = linked substr(part[i], 1, RSTART - 1) (word in public ? "@ref " word " \"" word "\"" : word)
      part[i] = substr(part[i], RSTART + RLENGTH)
    }
    part[i] = linked part[i]
    out = out (i == 1 ? "" : (i % 2 == 0 ? "<code>" : "</code>")) part[i]
  }
  return out
}

# Where the first sentence ends: at a full stop outside of code.
function sentence(words,   end, ticks) {
  while (match(substr(words, end + 1), /[^.]\. /)) {
    end += RSTART + 1
    if (split(substr(words, 1, end), ticks, "`") % 2 == 1) return end
  }
  return length(words)
}

# A paragraph. Lists show the first sentence of the first one.
function say(paragraph,   end) {
  if (paragraph == "") return
  if (!said) {
    end = sentence(paragraph)
    print "@brief " prose(substr(paragraph, 1, end)) "\n"
    paragraph = substr(paragraph, end + 2)
    said = 1
  }
  print prose(paragraph) "\n"
}

# The comment that starts in line `at`, from column `from` on, into text[1 .. count]; returns its last line.
function take(at, from,   s, last) {
  count = 0
  s = substr(line[at], from + 2)
  while (1) {
    last = index(s, "*/")
    if (last) s = substr(s, 1, last - 1)
    sub(/[ \t]+$/, "", s)
    text[++count] = s
    if (last) return at
    s = line[++at]
    if (!sub(/^ *\* ?/, "", s) || s ~ /^\//) sub(/^ +/, "", s)
    if (line[at] ~ /^ *\*\/$/) return at
  }
}

# text[1 .. count] between `opening` and the end of a comment: paragraphs, and what is indented as it is.
function tell(opening, indented,   i, inside, paragraph) {
  print opening
  said = 0
  for (i = 1; i <= count; i++) {
    if (i == 1) sub(/^ /, "", text[i])
    if (indented && i > 1 && text[i] ~ /^  +[^ ]/) {
      if (!inside) { say(paragraph); print "@verbatim" }
      paragraph = ""
      inside = 1
      print text[i]
      continue
    }
    if (inside && text[i] == "" && text[i + 1] ~ /^  +[^ ]/) { print ""; continue }
    if (inside) print "@endverbatim"
    inside = 0
    if (text[i] == "") {
      say(paragraph)
      paragraph = ""
    } else {
      sub(/^ +/, "", text[i])
      paragraph = paragraph (paragraph == "" ? "" : " ") text[i]
    }
  }
  if (inside) print "@endverbatim"
  say(paragraph)
  print "*/"
}

function close_heading() {
  if (heading) print "/** @} */"
  heading = 0
}

# Whether the declaration that starts in line `at` has a comment behind it; `declared` is its name.
function has_own(at) {
  declared = ""
  for (; at <= NR; at++) {
    if (declared == "" && match(line[at], /hvi_[a-z0-9_]+\(/)) declared = substr(line[at], RSTART, RLENGTH - 1)
    if (line[at] ~ /;/) return line[at] ~ /;.*\/\*/
  }
}

END {
  file = FILENAME
  sub(/.*\//, "", file)
  for (i = 1; i <= NR; i++) {
    if (line[i] ~ /^ *\/\*/) {
      before = line[i - 1]
      last = take(i, match(line[i], /\/\*/))
      if (!guarded) {
        tell("/** @file", 1)
      } else if (depth == 1 && !enumerated && last == i && (before == "" || before ~ /[{]$/) && text[1] ~ /^ ?[a-z]/) {
        close_heading()
        sub(/^ /, "", text[1])
        print "/** @name " toupper(substr(text[1], 1, 1)) prose(substr(text[1], 2)) "\n@{ */"
        heading = 1
      } else {
        tell("/**", 1)
        told = last + 1
      }
      i = last
      continue
    }
    if (line[i] ~ /^#ifndef/) guarded = 1
    if (line[i] ~ /^HVI_API /) {
      own = has_own(i)
      if (i != told && !own && neighbour != "" && line[i - 1] ~ /;/)
        print "/** Declared together with @ref " neighbour " \"" neighbour "\", which see. */"
      else
        neighbour = declared
    }
    if (i != told && line[i] ~ /^(typedef )?(struct|enum) hvi_[a-z_]+ [{]/)
      print "/** @brief Of " file ", whose overview tells what it is for. */"
    if (line[i] == "") neighbour = ""
    if (line[i] ~ /^#ifdef __cplusplus/) { # for compilers, not for readers
      while (line[i] !~ /^#endif/) i++
      continue
    }
    if (line[i] ~ /enum.*[{]/) enumerated = 1
    depth += gsub(/[{]/, "{", line[i]) - gsub(/[}]/, "}", line[i])
    if (line[i] ~ /^[}]/) { close_heading(); enumerated = 0 }
    from = index(line[i], "/*")
    if (from && line[i] !~ /^#/) {
      print substr(line[i], 1, from - 1)
      last = take(i, from)
      tell("/**<", 0)
      i = last
    } else print line[i]
  }
}
