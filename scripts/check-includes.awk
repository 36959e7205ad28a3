# The layers of the project and who may include whom. A file may include from its own layer and from
# layers with a smaller number; two layers with the same number do not see each other.

BEGIN {
  split("base num io net gpu model vi surrogate inner outer theory api report study cli", order, " ")
  for (i in order) level[order[i]] = shown[order[i]] = i
  level["ensemble"] = shown["ensemble"] = level["theory"]
  level["evaluate"] = shown["evaluate"] = level["theory"]

  # Packages of problems stand on `vi` alone, and only those above the solver see them.
  level["problems"] = level["surrogate"]
  shown["problems"] = level["outer"]

  # Reinforcement learning stands on networks; models of the solver and it do not see each other.
  level["rl"] = shown["rl"] = level["model"]

  # A module of its own, which nobody includes.
  level["mpi"] = level["num"]
  shown["mpi"] = level["cli"] + 1

  # Public headers, by the layer that implements them.
  public("base", "error export setting version")
  public("num", "activation rng sparse")
  public("io", "tensors")
  public("rl", "collector env policy sac rollout testset")
  public("model", "mlp model")
  public("vi", "check problem")
  public("problems", "builtin game mdp performative plugin value")
  public("surrogate", "surrogate")
  public("inner", "optimizer")
  public("outer", "solver")
  public("theory", "theory")
  public("evaluate", "evaluate")
  public("ensemble", "ensemble")
  public("api", "hvi")
}

function public(layer, names,    list, i) {
  split(names, list, " ")
  for (i in list) header[list[i]] = layer
}

function complain(text) {
  printf "%s:%d: %s\n", FILENAME, FNR, text
  failed = 1
}

# The layer of a path that starts at the root, or "" for one that the tables do not know.
function layer_of(path,    part) {
  split(path, part, "/")
  if (part[1] == "cli") return "cli"
  if (part[1] == "src") return (part[2] in level) ? part[2] : ""
  sub(/\.h$/, "", part[3])
  return (part[3] in header) ? header[part[3]] : ""
}

function target_of(name) {
  if (name ~ /^hvi\//) return layer_of("include/" name)
  return layer_of("src/" name)
}

FNR == 1 {
  own = layer_of(FILENAME)
  if (own == "") complain("not in the table of layers of check-includes.awk")
}

own != "" && /^[ \t]*#[ \t]*include[ \t]*["<]/ {
  quoted = $0 ~ /include[ \t]*"/
  name = $0
  sub(/^[^"<]*["<]/, "", name)
  sub(/[">].*$/, "", name)

  if (!quoted && name !~ /^hvi\//) next # the system's or another library's
  if (name ~ /^\.\.?\//) {
    complain("\"" name "\" is relative; name the layer, as in \"num/dense.h\"")
    next
  }
  if (quoted && name !~ /\//) next # a neighbour in the same folder
  if (quoted && name ~ /^hvi\//) complain("a public header is included as <" name ">")

  target = target_of(name)
  if (target == "")
    complain("\"" name "\" is not in the table of layers of check-includes.awk")
  else if (target != own && shown[target] + 0 >= level[own] + 0)
    complain(own " may not include " target " (" name ")")
}

END { exit failed }
