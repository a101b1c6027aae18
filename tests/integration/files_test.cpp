// Files through the daemon: contained, exact, typed. The backend does not matter to them but for the owner of the
// walls.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

struct files : world {
  using world::world;
  json call(const std::string& method, const std::string& path, json more = json::object()) {
    return c.call(method, named(path, std::move(more)));
  }
  std::string kind(const std::string& method, const std::string& path, json more = json::object()) {
    return c.kind(method, named(path, std::move(more)));
  }
  json named(const std::string& path, json more) {
    more["workspace"] = workspace;
    more["path"] = path;
    return more;
  }
  std::string text(const std::string& path) { return call("fs.read", path)["data"]; }
  void put(const std::string& path, const std::string& bytes) { write_file(root + "/" + path, bytes); }
};

}  // namespace

TEST_SUITE_BEGIN("none");

TEST_CASE("fs.read: ranges, lines, encodings, caps and etag") {
  files w;
  w.put("a", "one\ntwo\r\nthree");
  json got = w.call("fs.read", "a");
  CHECK(got["data"] == "one\ntwo\r\nthree");
  CHECK(got["encoding"] == "utf-8");
  CHECK(got["size"] == 14);
  CHECK(got["offset"] == 0);
  CHECK(got["next_offset"] == 14);
  CHECK(got["eof"] == true);
  CHECK(got["etag"].is_string());
  CHECK(got["mtime"].is_string());
  got = w.call("fs.read", "a", {{"offset", 4}, {"max_bytes", 4}});
  CHECK(got["data"] == "two\r");
  CHECK(got["eof"] == false);
  CHECK(w.call("fs.read", "a", {{"lines", {{"start", 2}, {"count", 1}}}})["data"] == "two\r\n");
  CHECK(w.call("fs.read", "a", {{"lines", {{"start", 3}, {"count", 10}}}})["data"] == "three");
  CHECK(w.call("fs.read", "a", {{"encoding", "base64"}, {"max_bytes", 4}})["data"] == "b25lCg==");
  w.put("bin", std::string("\xff\x00x", 3));
  got = w.call("fs.read", "bin");
  CHECK(got["encoding"] == "base64");
  CHECK(bytes_of(got) == std::string("\xff\x00x", 3));
  w.put("euro", "\xe2\x82\xac\xe2\x82\xac");
  got = w.call("fs.read", "euro", {{"max_bytes", 4}});
  CHECK(got["data"] == "\xe2\x82\xac");
  CHECK(got["next_offset"] == 3);
  CHECK(w.kind("fs.read", "a", {{"max_bytes", 3}}) == "invalid_params");
  CHECK(w.kind("fs.read", "a", {{"max_bytes", (4 << 20) + 1}}) == "invalid_params");
  w.put("empty", "");
  CHECK(w.call("fs.read", "empty")["eof"] == true);
}

TEST_CASE("fs.read: beyond 4 GiB, sparse") {
  files w;
  const sbx::sys::unique_fd fd(::open((w.root + "/big").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const off_t at = (off_t{5} << 30) + 3;
  REQUIRE(::pwrite(fd.get(), "far", 3, at) == 3);
  const json got = w.call("fs.read", "big", {{"offset", at}});
  CHECK(got["data"] == "far");
  CHECK(got["size"] == at + 3);
}

TEST_CASE("fs: what is no regular file is typed, and never waited for") {
  files w;
  REQUIRE(::mkfifo((w.root + "/fifo").c_str(), 0666) == 0);
  ::mkdir((w.root + "/dir").c_str(), 0777);
  for (const char* method : {"fs.read", "fs.write", "fs.edit"}) {
    CAPTURE(method);
    json more = json::object();
    if (method == std::string("fs.write")) more["data"] = "x";
    if (method == std::string("fs.edit")) more["old"] = "a", more["new"] = "b";
    json error = w.c.refused(method, w.named("fifo", more));
    CHECK(error["data"]["kind"] == "not_a_file");
    CHECK(error["data"]["type"] == "fifo");
    CHECK(w.kind(method, "dir", more) == "not_a_file");
  }
  CHECK(w.call("fs.stat", "fifo")["type"] == "fifo");
  CHECK(w.kind("fs.read", "missing") == "not_found");
}

TEST_CASE("fs.write: new files, replaced ones, conditions, and what stays as it was") {
  files w;
  json got = w.call("fs.write", "new/deep/file", {{"data", "x"}});
  CHECK(got["created"] == true);
  CHECK(got["bytes"] == 1);
  CHECK(got["path"] == "new/deep/file");
  struct stat info {};
  REQUIRE(::stat((w.root + "/new/deep/file").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0644);
  CHECK(info.st_uid == daemon_ids().uid);
  CHECK(w.kind("fs.write", "other/deep", {{"data", "x"}, {"parents", false}}) == "not_found");

  w.put("tool", "#!/bin/sh\n");
  ::chmod((w.root + "/tool").c_str(), 0751);
  ::symlink("tool", (w.root + "/link").c_str());
  w.call("fs.write", "link", {{"data", "changed"}});
  REQUIRE(::lstat((w.root + "/link").c_str(), &info) == 0);
  CHECK(S_ISLNK(info.st_mode));
  REQUIRE(::stat((w.root + "/tool").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0751);
  CHECK(read_file(w.root + "/tool") == "changed");

  REQUIRE(::link((w.root + "/tool").c_str(), (w.root + "/hard").c_str()) == 0);
  w.call("fs.write", "hard", {{"data", "both"}});
  CHECK(read_file(w.root + "/tool") == "both");

  const std::string etag =
      w.call("fs.stat", "tool").value("etag", w.call("fs.read", "tool")["etag"].get<std::string>());
  CHECK(w.call("fs.write", "tool", {{"data", "second"}, {"if_match", etag}})["created"] == false);
  CHECK(w.kind("fs.write", "tool", {{"data", "third"}, {"if_match", etag}}) == "conflict");
  CHECK(w.kind("fs.write", "tool", {{"data", "third"}, {"if_absent", true}}) == "conflict");
  w.call("fs.write", "tool", {{"data", "+more"}, {"append", true}});
  CHECK(read_file(w.root + "/tool") == "second+more");
  w.call("fs.write", "mode", {{"data", "x"}, {"mode", "0600"}});
  REQUIRE(::stat((w.root + "/mode").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  w.call("fs.write", "bytes", {{"data", "/wA="}, {"encoding", "base64"}});
  CHECK(read_file(w.root + "/bytes") == std::string("\xff\0", 2));
  // No temporary file is left beside.
  CHECK(run({"find", w.root, "-name", ".*"}).out == "");
}

TEST_CASE("fs.edit: literal, unique, all or nothing; every other byte untouched") {
  files w;
  const std::string before(
      "\xef\xbb\xbf"
      "a.b\r\n\0\xff"
      "a*b\n",
      13);
  w.put("f", before);
  CHECK(w.call("fs.edit", "f", {{"old", "a*b"}, {"new", "$1\\n"}})["replacements"] == 1);
  CHECK(read_file(w.root + "/f") == std::string("\xef\xbb\xbf"
                                                "a.b\r\n\0\xff"
                                                "$1\\n\n",
                                                14));
  w.put("g", "aaa\nx\naa\n");
  json error = w.c.refused("fs.edit", w.named("g", {{"old", "aa"}, {"new", "b"}}));
  CHECK(error["code"] == -32005);
  CHECK(error["data"]["count"] == 3);
  CHECK(error["data"]["lines"] == json::array({1, 1, 3}));
  error = w.c.refused("fs.edit", w.named("g", {{"old", "nothing"}, {"new", "b"}}));
  CHECK(error["data"]["count"] == 0);
  CHECK(w.kind("fs.edit", "g", {{"old", ""}, {"new", "b"}}) == "invalid_params");
  CHECK(w.kind("fs.edit", "g", {{"edits", {{{"old", "x"}, {"new", "y"}}, {{"old", "zzz"}, {"new", "q"}}}}}) ==
        "edit_mismatch");
  CHECK(read_file(w.root + "/g") == "aaa\nx\naa\n");
  CHECK(w.call("fs.edit", "g",
               {{"edits", {{{"old", "x"}, {"new", "y"}}, {{"old", "y"}, {"new", "zz"}}}}})["replacements"] == 2);
  CHECK(read_file(w.root + "/g") == "aaa\nzz\naa\n");
  w.call("fs.edit", "g", {{"old", "z"}, {"new", "w"}, {"replace_all", true}});
  CHECK(read_file(w.root + "/g") == "aaa\nww\naa\n");
}

TEST_CASE("fs: nothing outside the roots is read, made or changed, and the refusal does not tell whether it is there") {
  files w;
  const std::string outside = w.host.directory() + "/roots/root-sibling";
  ::mkdir(outside.c_str(), 0777);
  write_file(outside + "/secret", "secret");
  const auto link = [&](const std::string& target, const std::string& name) {
    REQUIRE(::symlink(target.c_str(), (w.root + "/" + name).c_str()) == 0);
  };
  link(outside, "dir");
  link(outside + "/secret", "file");
  link(outside + "/absent", "dangling");
  link("../root-sibling/secret", "relative");
  link("dir/secret", "chain");
  link("/proc/self/root", "magic");
  link("/proc/self/fd/0", "fd");
  link("loop", "loop");
  for (const std::string path :
       {"dir/secret", "file", "dangling", "relative", "chain", "../root-sibling/secret", "../root-sibling/none",
        "/etc/passwd", "/etc/none", "magic/etc/passwd", "..", "../root", "../root/x", "dir/../../root/x", "fd"}) {
    CAPTURE(path);
    CHECK(w.kind("fs.read", path) == "denied");
    CHECK(w.kind("fs.write", path, {{"data", "x"}}) == "denied");
    CHECK(w.kind("fs.edit", path, {{"old", "s"}, {"new", "x"}}) == "denied");
    CHECK(w.kind("fs.stat", path) == "denied");
    CHECK(w.kind("fs.list", path) == "denied");
  }
  json there = w.c.refused("fs.read", w.named("dir/secret", {})),
       absent = w.c.refused("fs.read", w.named("dir/absent", {}));
  CHECK(there["data"]["kind"] == absent["data"]["kind"]);
  CHECK(w.kind("fs.mkdir", "dir/made") == "denied");
  CHECK(w.kind("fs.mkdir", "dangling", {{"parents", true}}) != "?");
  w.put("mine", "mine");
  CHECK(w.kind("fs.move", "mine", {{"to", "dir/mine"}}) == "denied");
  CHECK(w.kind("fs.copy", "mine", {{"to", "dangling"}, {"overwrite", true}}) != "?");
  CHECK(w.kind("fs.copy", "dir/secret", {{"to", "copy"}}) == "denied");
  CHECK(w.kind("fs.remove", "dir/secret") == "denied");
  CHECK(w.kind("fs.remove", "") != "?");
  CHECK(w.kind("fs.open", "file", {{"flags", "r"}}) == "denied");
  CHECK(w.kind("fs.read", "loop") != "?");
  CHECK(read_file(outside + "/secret") == "secret");
  CHECK(!exists(outside + "/made"));
  CHECK(!exists(outside + "/absent"));
  // What stays inside works, by links too, and removing a link removes the link.
  link(w.root + "/mine", "inside");
  CHECK(w.text("inside") == "mine");
  w.call("fs.remove", "file");
  CHECK(exists(outside + "/secret"));
  CHECK(w.call("fs.stat", "dangling", {{"follow", false}})["type"] == "symlink");
}

TEST_CASE("fs: while a directory is exchanged with a link, nothing outside is touched (slow)") {
  files w;
  const std::string outside = w.host.directory() + "/roots/outside";
  ::mkdir(outside.c_str(), 0777);
  write_file(outside + "/f", "SECRET", 0666);
  ::mkdir((w.root + "/real").c_str(), 0777);
  write_file(w.root + "/real/f", "inside", 0666);
  ::symlink(outside.c_str(), (w.root + "/trap").c_str());
  REQUIRE(::rename((w.root + "/real").c_str(), (w.root + "/d").c_str()) == 0);
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    const std::string d = w.root + "/d", trap = w.root + "/trap";
    while (!stop) ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, trap.c_str(), RENAME_EXCHANGE);
  });
  int good = 0, denied = 0;
  for (int i = 0; i < 4000; ++i) {
    const json read = w.c.reply(w.c.start("fs.read", w.named("d/f", {})));
    if (read.contains("result")) {
      CHECK(read["result"]["data"] == "inside");
      ++good;
    } else {
      denied += read["error"]["data"]["kind"] == "denied";
    }
    const json write = w.c.reply(w.c.start("fs.write", w.named("d/f", {{"data", "inside"}})));
    if (write.contains("error")) denied += write["error"]["data"]["kind"] == "denied";
    w.c.reply(w.c.start("fs.mkdir", w.named("d/made", {})));
    w.c.reply(w.c.start("fs.remove", w.named("d/made", {})));
  }
  stop = true;
  swapper.join();
  CHECK(read_file(outside + "/f") == "SECRET");
  CHECK(std::distance(std::filesystem::directory_iterator(outside), {}) == 1);
  MESSAGE(good << " reads got through, " << denied << " were refused");
  CHECK(good > 0);
}

TEST_CASE("fs.list, fs.glob and fs.grep: sorted, limited, links named and not walked") {
  files w;
  w.call("fs.write", "src/a.cpp", {{"data", "int main() {\n  return 42; // answer\n}\n"}});
  w.call("fs.write", "src/sub/b.hpp", {{"data", "// the Answer\n"}});
  w.call("fs.write", "src/.hidden.cpp", {{"data", "answer\n"}});
  w.call("fs.write", "bin", {{"data", std::string("answer\0", 7)}});
  w.call("fs.write", "-dash\nnew:line", {{"data", ""}});
  ::symlink("/etc", (w.root + "/src/etc").c_str());
  ::symlink("..", (w.root + "/src/up").c_str());
  const json list = w.call("fs.list", "src")["entries"];
  CHECK(list.size() == 5);
  CHECK(w.call("fs.list", "", {{"limit", 1}})["next_cursor"].is_string());
  const auto glob = [&](const std::string& pattern, json more = json::object()) {
    more["workspace"] = w.workspace;
    more["pattern"] = pattern;
    return w.c.call("fs.glob", more)["paths"];
  };
  CHECK(glob("**/*.cpp") == json::array({"src/a.cpp"}));
  CHECK(glob("**/*.cpp", {{"hidden", true}}) == json::array({"src/.hidden.cpp", "src/a.cpp"}));
  CHECK(glob("**/*.{cpp,hpp}") == json::array({"src/a.cpp", "src/sub/b.hpp"}));
  CHECK(glob("src/etc/*").empty());
  CHECK(glob("src/[e-u]*") == json::array({"src/etc", "src/sub", "src/up"}));
  CHECK(glob("-*") == json::array({"-dash\nnew:line"}));
  const auto grep = [&](const std::string& pattern, json more = json::object()) {
    more["workspace"] = w.workspace;
    more["pattern"] = pattern;
    return w.c.call("fs.grep", more);
  };
  json found = grep("answer");
  REQUIRE(found["matches"].size() == 1);
  CHECK(found["matches"][0]["path"] == "src/a.cpp");
  CHECK(found["matches"][0]["line"] == 2);
  CHECK(found["matches"][0]["column"] == 17);
  CHECK(found["matches"][0]["text"] == "  return 42; // answer");
  CHECK(found["skipped_binary"] == 1);
  CHECK(grep("ANSWER", {{"ignore_case", true}, {"glob", "**/*.hpp"}})["matches"].size() == 1);
  found = grep("return", {{"context", 1}});
  CHECK(found["matches"][0]["before"] == json::array({"int main() {"}));
  CHECK(found["matches"][0]["after"] == json::array({"}"}));
  CHECK(w.c.kind("fs.grep", {{"workspace", w.workspace}, {"pattern", "("}}) == "invalid_params");
  w.call("fs.write", ".gitignore", {{"data", "sub/\n"}});
  CHECK(grep("the Answer", {{"ignored", false}})["matches"].empty());
  CHECK(grep("the Answer")["matches"].size() == 1);
  const json bomb = w.c.reply(w.c.start("fs.glob", {{"workspace", w.workspace},
                                                    {"pattern",
                                                     "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"
                                                     "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}}));
  CHECK((bomb.contains("result") || bomb["error"]["data"]["kind"] == "limit"));
}

TEST_CASE("fs.mkdir, remove, move and copy: conflicts, trees and a root itself") {
  files w;
  w.call("fs.mkdir", "d");
  CHECK(w.kind("fs.mkdir", "d") == "conflict");
  w.call("fs.mkdir", "d", {{"parents", true}});
  w.call("fs.mkdir", "d/e/f", {{"parents", true}});
  w.put("d/e/f/file", "x");
  const json error = w.c.refused("fs.remove", w.named("d", {}));
  CHECK(error["data"]["kind"] == "io");
  CHECK(error["data"]["errno"] == "ENOTEMPTY");
  w.put("there", "y");
  CHECK(w.kind("fs.move", "there", {{"to", "d/e/f/file"}}) == "conflict");
  CHECK(w.kind("fs.copy", "there", {{"to", "d/e/f/file"}}) == "conflict");
  w.call("fs.copy", "there", {{"to", "d/e/f/file"}, {"overwrite", true}});
  CHECK(read_file(w.root + "/d/e/f/file") == "y");
  w.call("fs.move", "there", {{"to", "moved"}});
  CHECK(!exists(w.root + "/there"));
  CHECK(w.text("moved") == "y");
  w.call("fs.remove", "d", {{"recursive", true}});
  CHECK(!exists(w.root + "/d"));
  CHECK(w.kind("fs.remove", w.root, {{"recursive", true}}) == "denied");
  CHECK(w.kind("fs.remove", "absent") == "not_found");
}

TEST_CASE("fs.open: the open file itself crosses, with the rights asked for") {
  files w;
  w.put("f", "content");
  json got = w.call("fs.open", "f", {{"flags", "r"}});
  CHECK(got["fd"] == 0);
  REQUIRE(w.c.received.size() == 1);
  char block[16] = {};
  CHECK(::pread(w.c.received[0].get(), block, sizeof block, 0) == 7);
  CHECK(::write(w.c.received[0].get(), "x", 1) == -1);
  w.c.received.clear();
  CHECK(w.kind("fs.open", "g", {{"flags", "w"}}) == "not_found");
  w.call("fs.open", "g", {{"flags", "w"}, {"create", true}});
  REQUIRE(w.c.received.size() == 1);
  CHECK(::write(w.c.received[0].get(), "written", 7) == 7);
  CHECK(w.text("g") == "written");
}

TEST_CASE("fs.watch: changes are told, moves as both, and the end by unwatch") {
  files w;
  const std::string watch = w.call("fs.watch", "", {{"recursive", true}})["watch"];
  CHECK(watch.rfind("wat-", 0) == 0);
  const auto told = [&](const std::string& path, const std::string& event) {
    w.c.notification("fs.changed", [&](const json& p) {
      if (p["watch"] != watch) return false;
      for (const json& e : p["events"]) {
        if (e["path"] == path && e["event"] == event) return true;
      }
      return false;
    });
  };
  w.put("new", "x");
  told("new", "created");
  REQUIRE(::rename((w.root + "/new").c_str(), (w.root + "/old").c_str()) == 0);
  told("new", "removed");
  ::mkdir((w.root + "/dir").c_str(), 0755);
  told("dir", "created");
  std::this_thread::sleep_for(100ms);
  w.put("dir/deep", "x");
  told("dir/deep", "created");
  w.c.call("fs.unwatch", {{"watch", watch}});
  CHECK(w.c.kind("fs.unwatch", {{"watch", watch}}) == "no_such_handle");
}

TEST_CASE("policy: deny and read_only globs of the profile hold after links") {
  daemon_options options;
  options.config =
      R"({"profiles": {"default": {"fs": {"deny": ["**/.env", "secrets/**"], "read_only": ["vendor/**"]}}}})";
  files w(std::move(options));
  ::mkdir((w.root + "/secrets").c_str(), 0755);
  ::mkdir((w.root + "/vendor").c_str(), 0755);
  w.put("secrets/key", "k"), w.put(".env", "e"), w.put("vendor/lib", "l");
  ::symlink("secrets/key", (w.root + "/alias").c_str());
  for (const char* path : {"secrets/key", ".env", "alias"}) {
    CAPTURE(path);
    CHECK(w.kind("fs.read", path) == "denied");
    CHECK(w.kind("fs.write", path, {{"data", "x"}}) == "denied");
  }
  CHECK(w.text("vendor/lib") == "l");
  CHECK(w.kind("fs.write", "vendor/lib", {{"data", "x"}}) == "denied");
  CHECK(w.kind("fs.remove", "vendor/lib") == "denied");
  CHECK(w.kind("fs.move", "vendor", {{"to", "elsewhere"}}) == "denied");
}

TEST_CASE("policy: an authorizer may veto and nothing else; silence and absence deny") {
  files w;
  const std::string session = w.c.call("session.get")["session"];
  w.put("f", "x");
  client judge = w.host.connect();
  const std::string authorizer = judge.call(
      "policy.register", {{"methods", {"fs.*", "exec.run"}}, {"session", session}, {"timeout_ms", 500}})["authorizer"];
  CHECK(authorizer.rfind("aut-", 0) == 0);
  const auto judged = [&](const std::string& method, json params, bool allow) {
    params["workspace"] = w.workspace;
    const int id = w.c.start(method, params);
    const json question = judge.next();
    CHECK(question["method"] == "policy.authorize");
    CHECK(question["params"]["method"] == method);
    CHECK(question["params"]["session"] == session);
    judge.send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"allow", allow}, {"reason", "because"}}}});
    return std::make_pair(w.c.reply(id), question["params"]);
  };
  auto [allowed, asked] = judged("fs.read", {{"path", "f"}}, true);
  CHECK(allowed["result"]["data"] == "x");
  CHECK(asked["path"] == w.root + "/f");
  auto [vetoed, ignored] = judged("exec.run", {{"argv", {"true"}}}, false);
  CHECK(vetoed["error"]["data"]["kind"] == "denied");
  CHECK(vetoed["error"]["data"]["reason"] == "because");
  CHECK(w.kind("fs.read", "f") == "denied");  // no answer in time
  judge.close();
  CHECK(eventually([&] { return w.kind("fs.read", "f") == "denied"; }));
  client again = w.host.connect();
  again.call("policy.unregister", {{"authorizer", authorizer}});
  CHECK(w.text("f") == "x");
  CHECK(again.kind("policy.register", {{"methods", {"*"}}, {"all_sessions", true}, {"timeout_ms", 500}}) == "denied");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("every");

TEST_CASE("fs: files written by fs are seen by commands with the right owner and mode, and the other way round") {
  files w;
  w.call("fs.write", "made", {{"data", "by fs"}, {"mode", "0640"}});
  CHECK(w.out("cat made; stat -c ' %a %u %g' made") ==
        "by fs 640 " + std::to_string(daemon_ids().uid) + " " + std::to_string(daemon_ids().gid) + "\n");
  w.sh("echo by exec >other; chmod 600 other; ln -s other link; echo >>made");
  CHECK(w.text("link") == "by exec\n");
  CHECK(w.call("fs.stat", "other")["mode"] == "0600");
  w.call("fs.edit", "other", {{"old", "exec"}, {"new", "edit"}});
  CHECK(w.out("cat other") == "by edit\n");
}

TEST_CASE("fs: every returned path can be given back, in several roots") {
  test_daemon d;
  client c = d.connect();
  const std::string a = d.make_root("a"), b = d.make_root("b");
  const std::string workspace = c.call("workspace.open", {{"roots", {a, b}}, {"backend", backend()}})["workspace"];
  write_file(a + "/one", "needle 1\n");
  write_file(b + "/two", "needle 2\n");
  const json paths = c.call("fs.glob", {{"workspace", workspace}, {"pattern", "*"}})["paths"];
  CHECK(paths == json::array({b + "/two", "one"}));
  for (const json& path : paths) {
    CHECK(c.call("fs.read", {{"workspace", workspace}, {"path", path}})["data"].get<std::string>().substr(0, 6) ==
          "needle");
  }
  const json found = c.call("fs.grep", {{"workspace", workspace}, {"pattern", "needle"}});
  for (const json& match : found["matches"]) {
    CHECK(c.call("fs.stat", {{"workspace", workspace}, {"path", match["path"]}})["type"] == "file");
  }
}

TEST_SUITE_END();
