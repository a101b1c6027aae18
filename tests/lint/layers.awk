# Who may include whom. Each folder names what it may use; whatever else it includes from this tree is a fault, and so
# are the libraries that a layer must not know.
BEGIN {
  may["proto"] = "proto"
  may["sys"] = "sys"
  may["init"] = "init sys"
  may["async"] = "async sys"
  may["rpc"] = "rpc async sys proto"
  may["sandbox"] = "sandbox async sys"
  may["process"] = "process sandbox async sys"
  may["fs"] = "fs async sys"
  may["workspace"] = "workspace process fs sandbox async sys"
  may["api"] = "api workspace process fs sandbox rpc async sys proto"
  may["app"] = "app api workspace process fs sandbox rpc async sys proto"
  may["client"] = "client proto sys"
  json = " proto rpc api app client "
  asio = " async rpc sandbox process fs workspace api app "
  status = 0
}

function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; status = 1 }

function folder(path,  part) {
  split(path, part, "/")
  return part[1] == "daemon" ? part[2] : part[1]
}

FNR == 1 { layer = folder(FILENAME); if (!(layer in may)) fault("folder " layer " is not in the table") }

/^[ \t]*#[ \t]*include[ \t]*"/ {
  split($0, quoted, "\"")
  other = folder(quoted[2])
  if (quoted[2] !~ /\//) fault("include from the root: " quoted[2])
  else if (index(" " may[layer] " ", " " other " ") == 0) fault(layer " may not include " quoted[2])
}

/^[ \t]*#[ \t]*include[ \t]*</ {
  if (/<nlohmann\// && index(json, " " layer " ") == 0) fault(layer " may not know JSON")
  if (/<nlohmann\/json\.hpp>/ && FILENAME ~ /\.hpp$/) fault("json.hpp belongs in .cpp files; json_fwd.hpp here")
  if (/<boost\// && index(asio, " " layer " ") == 0) fault(layer " may not know asio")
  if (/<(spdlog|fmt)\// && layer != "app") fault(layer " may not log")
}

/(^|[^a-z_])detached([^a-z_]|$)/ && !/^[ \t]*\/\// && FILENAME !~ /task_group\.[ch]pp$/ && layer != "init" {
  if (/asio|co_spawn/) fault("every coroutine is owned by a task_group: no asio::detached")
}

END { exit status }
