// Workspaces: what may be opened, what is the same, how they start, are shared, copied, lost and closed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

json roots(std::initializer_list<std::string> paths) {
  return {{"roots", paths}, {"backend", backend()}};
}

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("workspace: it is idle until first used, and tells what it is") {
  world w;
  json got = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(got["workspace"] == w.workspace);
  CHECK(got["workspace"].get<std::string>().rfind("ws-", 0) == 0);
  CHECK(got["workspace"].get<std::string>().size() == 35);
  CHECK(got["roots"] == json::array({w.root}));
  CHECK(got["backend"] == backend());
  CHECK(got["isolated"] == isolated());
  CHECK(got["state"] == "idle");
  CHECK(got["network"] == (isolated() ? "none" : "host"));
  w.c.call("workspace.start", {{"workspace", w.workspace}});
  got = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(got["state"] == "running");
  CHECK(got["sandbox"]["generation"] == 1);
  CHECK(got["sandbox"]["pid"].is_number_integer());
  CHECK(got["sandbox"]["started_at"].is_string());
  const json list = w.c.call("workspace.list")["workspaces"];
  REQUIRE(list.size() == 1);
  CHECK(list[0]["workspace"] == w.workspace);
}

TEST_CASE("workspace: twenty first uses at once start one sandbox") {
  world w;
  std::vector<int> ids;
  std::vector<client> clients;
  for (int i = 0; i < 20; ++i) ids.push_back(w.start_sh("readlink /proc/self/ns/pid"));
  std::set<std::string> seen;
  for (const int id : ids) seen.insert(bytes_of(w.c.result(id)["stdout"]));
  CHECK(seen.size() == 1);
  CHECK(w.c.call("workspace.get", {{"workspace", w.workspace}})["sandbox"]["generation"] == 1);
}

TEST_CASE("workspace: opening the same again is the same handle, with something else a conflict") {
  world w;
  CHECK(w.c.call("workspace.open", roots({w.root}))["workspace"] == w.workspace);
  ::symlink(w.root.c_str(), (w.host.directory() + "/roots/link").c_str());
  CHECK(w.c.call("workspace.open", roots({w.host.directory() + "/roots/link"}))["workspace"] == w.workspace);
  client other = w.host.connect();
  CHECK(other.call("workspace.open", roots({w.root}))["workspace"] == w.workspace);

  json different = roots({w.root});
  different["mounts"] = {{{"source", "/usr/share"}, {"target", "/opt/share"}}};
  const std::string kind = w.c.kind("workspace.open", different);
  CHECK((kind == "conflict" || (!isolated() && kind == "unsupported")));
  // env and name belong to the hold: replaced, no conflict.
  json named = roots({w.root});
  named["env"] = {{"HELD", "yes"}};
  named["name"] = "other";
  CHECK(w.c.call("workspace.open", named)["workspace"] == w.workspace);
  CHECK(w.out("echo $HELD") == "yes\n");
  // Two roots in the other order are another workspace.
  const std::string second = w.host.make_root("second"), third = w.host.make_root("third");
  const json a = w.c.call("workspace.open", roots({second, third}));
  CHECK(a["workspace"] != w.workspace);
}

TEST_CASE("workspace: what may not be a root is refused for its own reason") {
  test_daemon d;
  client c = d.connect();
  const std::string root = d.make_root();
  ::mkdir((root + "/inner").c_str(), 0755);
  write_file(root + "/file", "x");
  for (const std::string& path :
       {std::string("/"), std::string("/proc/self"), std::string("/proc"), std::string("/sys/kernel"),
        std::string("/dev"), std::string("/dev/shm"), d.directory() + "/run", d.directory() + "/run/sbxd",
        d.directory(), d.directory() + "/state", std::string("/tmp")}) {
    CAPTURE(path);
    ::mkdir((d.directory() + "/state/sbxd").c_str(), 0755);
    const json error = c.refused("workspace.open", roots({path}));
    CHECK(error["code"] == -32001);
    CHECK(error["data"]["kind"] == "denied");
  }
  CHECK(c.kind("workspace.open", roots({root, root + "/inner"})) == "invalid_params");
  CHECK(c.kind("workspace.open", roots({root, root})) == "invalid_params");
  CHECK(c.kind("workspace.open", {{"roots", json::array()}, {"backend", backend()}}) == "invalid_params");
  CHECK(c.kind("workspace.open", roots({"relative/path"})) == "invalid_params");
  CHECK(c.kind("workspace.open", roots({root + "/missing"})) == "not_found");
  const json error = c.refused("workspace.open", roots({root + "/file"}));
  CHECK(error["data"]["kind"] == "io");
  CHECK(error["data"]["errno"] == "ENOTDIR");
  CHECK(c.kind("workspace.open", {{"roots", {root}}, {"backend", "qemu"}}) == "invalid_params");
  CHECK(c.kind("workspace.open", {{"roots", {root}}, {"backend", backend()}, {"profile", "unknown"}}) != "?");
}

TEST_CASE("workspace: allowed_roots of the configuration bounds what may be opened") {
  daemon_options options;
  options.config = R"({"allowed_roots": ["/tmp/sbx-nowhere-at-all"]})";
  test_daemon d(std::move(options));
  client c = d.connect();
  CHECK(c.kind("workspace.open", roots({d.make_root()})) == "denied");
}

TEST_CASE("workspace: several roots have their own paths inside, and all can be written") {
  test_daemon d;
  client c = d.connect();
  const std::string a = d.make_root("a, b:c"), b = d.make_root("-b 'q\" \\ \xc3\xa9");
  const std::string workspace = c.call("workspace.open", roots({a, b}))["workspace"];
  const json answer =
      c.call("exec.run", {{"workspace", workspace}, {"argv", {"sh", "-c", "pwd; touch here \"$0/there\"", b}}});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(bytes_of(answer["stdout"]) == a + "\n");
  CHECK(exists(a + "/here"));
  CHECK(exists(b + "/there"));
}

TEST_CASE("workspace: a closed one is gone for its session, and its processes with the last hold") {
  world w;
  client other = w.host.connect();
  other.call("workspace.open", roots({w.root}));
  const std::string mark = "sbx-mark-" + random_word();
  w.sh("bash -c 'exec -a " + mark + " sleep 600' >/dev/null 2>&1 & sleep 0.1");
  await_marked(mark, 1);
  const json first = w.c.call("workspace.close", {{"workspace", w.workspace}});
  CHECK(first["ended"] == false);
  CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}}) == "no_such_handle");
  CHECK(other.call("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}})["exit"]["code"] == 0);
  const json second = other.call("workspace.close", {{"workspace", w.workspace}});
  CHECK(second["ended"] == true);
  CHECK(none_alive(mark));
  CHECK(other.kind("workspace.get", {{"workspace", w.workspace}}) == "no_such_handle");
}

TEST_CASE("workspace: a copy has the tree's bytes, links and modes, and is removed on close unless kept") {
  test_daemon d;
  client c = d.connect();
  const std::string source = d.make_root("source");
  ::mkdir((source + "/sub").c_str(), 0750);
  write_file(source + "/sub/tool", std::string(3 << 20, 'q'), 0755);
  ::symlink("sub/tool", (source + "/link").c_str());
  ::symlink("/etc/passwd", (source + "/outside").c_str());
  REQUIRE(::link((source + "/sub/tool").c_str(), (source + "/hard").c_str()) == 0);
  REQUIRE(::mkfifo((source + "/fifo").c_str(), 0600) == 0);
  if (running_as_root()) run({"chown", "-hR", std::to_string(daemon_ids().uid), source});

  const json opened = c.call("workspace.open", {{"copy_of", source}, {"backend", backend()}});
  const std::string copy = opened["roots"][0];
  CHECK(copy.rfind(d.directory() + "/state/sbxd/copies/", 0) == 0);
  CHECK(run({"diff", "-r", "--no-dereference", "--exclude=fifo", source, copy}).out == "");
  struct stat info {};
  REQUIRE(::stat((copy + "/sub/tool").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0755);
  CHECK(info.st_nlink == 2);
  char target[64] = {};
  CHECK(::readlink((copy + "/outside").c_str(), target, sizeof target - 1) > 0);
  CHECK(std::string(target) == "/etc/passwd");
  CHECK(c.call("workspace.open", {{"copy_of", source}, {"backend", backend()}})["workspace"] != opened["workspace"]);
  c.call("exec.run", {{"workspace", opened["workspace"]}, {"command", "echo changed >sub/tool"}});
  CHECK(read_file(source + "/sub/tool").size() == 3 << 20);
  CHECK(c.call("workspace.close", {{"workspace", opened["workspace"]}})["removed"] == true);
  CHECK(!exists(copy));

  const json kept = c.call("workspace.open", {{"copy_of", source}, {"backend", backend()}, {"keep", true}});
  CHECK(c.call("workspace.close", {{"workspace", kept["workspace"]}})["removed"] == false);
  CHECK(exists(kept["roots"][0].get<std::string>() + "/hard"));
  CHECK(c.call("workspace.open", roots({kept["roots"][0].get<std::string>()}))["roots"] == kept["roots"]);
}

TEST_CASE("workspace: a root that was removed or replaced is root_gone; opening it again is a new workspace") {
  world w;
  w.sh("true");
  REQUIRE(::rename(w.root.c_str(), (w.root + "-moved").c_str()) == 0);
  const json error = w.c.refused("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}});
  CHECK(error["code"] == -32015);
  CHECK(error["data"]["kind"] == "root_gone");
  CHECK(error["data"]["root"] == w.root);
  CHECK(error["data"]["remedy"].is_string());
  w.host.make_root();
  CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}}) == "root_gone");
  const json again = w.c.call("workspace.open", roots({w.root}));
  CHECK(again["workspace"] != w.workspace);
  CHECK(w.c.call("exec.run", {{"workspace", again["workspace"]}, {"argv", {"true"}}})["exit"]["code"] == 0);
}

TEST_CASE("workspace: its processes are told, with argv for this session's own") {
  world w;
  client other = w.host.connect();
  other.call("workspace.open", roots({w.root}));
  const int id = w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"sleep", "600"}}});
  json found;
  REQUIRE(eventually([&] {
    const json seen = w.c.call("workspace.processes", {{"workspace", w.workspace}});
    for (const json& process : seen["processes"]) {
      if (process.contains("argv") && process["argv"] == json::array({"sleep", "600"})) found = process;
    }
    return !found.is_null();
  }));
  CHECK(found["pid"].get<int>() > 1);
  CHECK(found["ppid"].is_number_integer());
  CHECK(found["state"].get<std::string>().size() == 1);
  CHECK(found["rss_bytes"].get<std::int64_t>() > 0);
  CHECK(found["cpu_ms"].is_number_integer());
  bool seen = false;
  const json others = other.call("workspace.processes", {{"workspace", w.workspace}});
  for (const json& process : others["processes"]) {
    if (process["pid"] != found["pid"]) continue;
    seen = true;
    CHECK(!process.contains("argv"));
  }
  CHECK(seen);
  w.c.notify("$/cancelRequest", {{"id", id}});
  w.c.error(id);
}

TEST_CASE("sessions: handles belong to one session; every wrong handle gets the same answer") {
  world w;
  client stranger = w.host.connect();
  json real = stranger.refused("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}});
  json invented =
      stranger.refused("exec.run", {{"workspace", "ws-0123456789abcdef0123456789abcdef"}, {"argv", {"true"}}});
  CHECK(real["code"] == -32003);
  real["data"].erase("handle"), invented["data"].erase("handle");
  CHECK(real == invented);
  CHECK(stranger.call("workspace.list")["workspaces"].empty());
  CHECK(stranger.kind("session.attach", {{"session", "ses-0123456789abcdef0123456789abcdef"}}) == "no_such_handle");
  CHECK(stranger.kind("workspace.get", {{"workspace", "nonsense"}}) != "?");
}

TEST_CASE("sessions: opened, attached, used from elsewhere, and ended with all they hold") {
  world w;
  const std::string session = w.c.call("session.open", {{"name", "work"}})["session"];
  CHECK(session.rfind("ses-", 0) == 0);
  client other = w.host.connect();
  other.call("session.attach", {{"session", session}});
  const std::string workspace = other.call("workspace.open", roots({w.root}))["workspace"];
  // Naming the session works without attaching.
  CHECK(w.c.call("workspace.list", {{"session", session}})["workspaces"].size() == 1);
  const json got = w.c.call("session.get", {{"session", session}});
  CHECK(got["session"] == session);
  CHECK(got["name"] == "work");
  other.close();
  client third = w.host.connect();
  third.call("session.attach", {{"session", session}});
  CHECK(third.call("exec.run", {{"workspace", workspace}, {"argv", {"true"}}})["exit"]["code"] == 0);
  const json ended = w.c.call("session.close", {{"session", session}});
  CHECK(ended["ended"].is_array());
  CHECK(w.c.kind("session.get", {{"session", session}}) == "no_such_handle");
  CHECK(third.kind("exec.run", {{"workspace", workspace}, {"argv", {"true"}}}) == "no_such_handle");
}

TEST_CASE("sessions: one nobody is attached to ends after its time, and a private one with its connection") {
  world w;
  const std::string session = w.c.call("session.open", {{"detach_ttl_ms", 300}})["session"];
  client other = w.host.connect();
  other.call("session.attach", {{"session", session}});
  CHECK(eventually([&] { return w.c.call("system.stats")["sessions"].get<int>() >= 1; }));
  other.close();
  std::this_thread::sleep_for(1500ms);
  CHECK(w.c.kind("session.get", {{"session", session}}) == "no_such_handle");

  client third = w.host.connect();
  const std::string root = w.host.make_root("third");
  const std::string workspace = third.call("workspace.open", roots({root}))["workspace"];
  const std::string mark = "sbx-mark-" + random_word();
  third.call("exec.run", {{"workspace", workspace},
                          {"command", "bash -c 'exec -a " + mark + " sleep 600' >/dev/null 2>&1 & sleep 0.1"}});
  await_marked(mark, 1);
  third.close();
  CHECK(eventually([&] { return none_alive(mark); }));
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("none");

TEST_CASE("none: says that it isolates nothing, is never chosen by itself, and refuses what it can not do") {
  world w;
  const json got = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(got["isolated"] == false);
  CHECK(w.c.call("workspace.open", {{"roots", {w.host.make_root("default")}}})["backend"] == "bwrap");
  json params = {{"roots", {w.host.make_root("limited")}}, {"backend", "none"}, {"limits", {{"tmp_bytes", 1000000}}}};
  CHECK(w.c.kind("workspace.open", params) == "unsupported");
  params["limits"] = json::object();
  params["network"] = "none";
  CHECK(w.c.kind("workspace.open", params) == "unsupported");
}

TEST_CASE("none: any descriptor may be handed over") {
  world w;
  write_file(w.root + "/file", "in a file");
  const sbx::sys::unique_fd fd(::open((w.root + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  const json answer =
      w.c.call("exec.run", {{"workspace", w.workspace}, {"argv", {"cat"}}, {"stdin", {{"fd", 0}}}}, {fd.get()});
  CHECK(answer["stdout"]["data"] == "in a file");
}

TEST_SUITE_END();
