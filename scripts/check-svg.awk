# Texts of a picture that gnuplot drew as SVG: prints those that lie on each other or leave the canvas, and fails.
# Widths are those of DejaVu Sans, in thousandths of the font's size, from blank to tilde; other letters count 640.
# A letter is as high as 0.76 of its size above the line and 0.1 below. Prints what it looked at: awk -v verbose=1.
BEGIN {
  split("317 400 459 837 636 950 779 274 390 390 500 837 317 360 317 336 636 636 636 636 636 636 636 636 636 636 " \
        "336 336 837 837 837 530 1000 684 686 698 770 631 575 774 751 294 294 655 557 862 748 787 603 787 694 634 " \
        "610 731 684 988 685 610 685 390 336 390 837 500 500 612 634 549 634 615 352 634 633 277 277 579 277 974 " \
        "633 611 634 634 411 520 392 633 591 817 591 591 524 636 336 636 837", widths, " ")
  for (i = 32; i < 127; i++) width[sprintf("%c", i)] = widths[i - 31]
}
function attribute(text, name) {
  return match(text, name "=\"[^\"]*\"") ? substr(text, RSTART + length(name) + 2, RLENGTH - length(name) - 3) : ""
}
# of plain text without tags, at a font size
function measure(text, size, k, c, sum) {
  gsub(/&lt;|&gt;/, "<", text); gsub(/&amp;/, "\\&", text)
  for (k = 1; k <= length(text); k++) {
    c = substr(text, k, 1)
    if (c in width) sum += width[c]
    else if (c !~ /[\200-\277]/) sum += 640
  }
  return sum * size / 1000
}
/ width="[0-9]/ && !canvas_width { canvas_width = attribute($0, "width") + 0; canvas_height = attribute($0, "height") + 0 }
/<g transform="translate\(/ {
  group = substr($0, index($0, "<g transform"))
  split(attribute(group, "transform"), at, /[(,)]/)
  turned = group ~ /rotate\(-90/
}
/<text>/ {
  size = attribute(group, "font-size") + 0
  wide = 0; words = ""
  if (!sub(/<text><tspan/, "<tspan")) sub(/<text>/, "<tspan>") # plain text has no spans
  count = split($0, span, "<tspan")
  for (s = 2; s <= count; s++) {
    own = attribute(span[s], "font-size")
    word = span[s]; sub(/^[^>]*>/, "", word); sub(/<.*/, "", word)
    wide += measure(word, own ? own : size)
    words = words word
  }
  if (words ~ /^ *$/) next
  anchor = attribute(group, "text-anchor")
  from = anchor == "middle" ? -wide / 2 : anchor == "end" ? -wide : 0
  n++
  name[n] = words
  if (turned) {
    left[n] = at[2] - 0.76 * size; right[n] = at[2] + 0.1 * size
    top[n] = at[3] - from - wide; bottom[n] = at[3] - from
  } else {
    left[n] = at[2] + from; right[n] = left[n] + wide
    top[n] = at[3] - 0.76 * size; bottom[n] = at[3] + 0.1 * size
  }
  if (verbose) printf "%8.1f %8.1f %8.1f %8.1f  %s\n", left[n], top[n], right[n], bottom[n], words
  if (left[n] < 0 || top[n] < 0 || right[n] > canvas_width || bottom[n] > canvas_height) {
    printf "%s: '%s' leaves the canvas\n", FILENAME, words
    bad++
  }
}
END {
  if (!n || !canvas_width) { print FILENAME ": no texts"; exit 1 }
  for (i = 1; i <= n; i++)
    for (j = 1; j < i; j++)
      if (left[i] < right[j] && left[j] < right[i] && top[i] < bottom[j] && top[j] < bottom[i]) {
        printf "%s: '%s' lies on '%s'\n", FILENAME, name[i], name[j]
        bad++
      }
  exit bad > 0
}
