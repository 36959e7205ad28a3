set encoding utf8
set datafile separator comma
set datafile columnheaders
set clip two
set palette defined (0 '#440154', 1 '#472C7A', 2 '#3B518B', 3 '#2C718E', 4 '#21908D', 5 '#27AD81', 6 '#5CC863', 7 '#AADC32', 8 '#FDE725')
# the edges e of a map's cells: the one below x, and the one above
edge(e,x,up) = word(e, up + sum [i=1:words(e)] (x >= word(e,i))) + 0
do for [format in formats] {
  # a point is 4/3 pixels
  if (format eq 'png') {
    set terminal pngcairo size 2*wide,2*high enhanced font 'DejaVu Sans,10.5' fontscale 2 linewidth 2 pointscale 2 dashlength 1.2 background '#FFFFFF'
  } else {
    set terminal svg size wide,high enhanced font 'DejaVu Sans,14' dashlength 1.2 background '#FFFFFF'
  }
  set output stem.'.'.format
  set multiplot
  unset key
