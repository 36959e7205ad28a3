  set border 3 lc rgb '#444444'
  set xtics autofreq nomirror enhanced
  set ytics autofreq nomirror
  set cbtics autofreq
  set tics nomirror out scale 0.6 tc rgb '#222222'
  unset mxtics
  unset mytics
  unset mcbtics
  unset offsets
  set grid xtics ytics back lt -1 lc rgb '#E4E4E4' dt solid lw 1
  set style fill transparent solid 0.15 noborder
