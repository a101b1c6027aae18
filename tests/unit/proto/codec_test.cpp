#include "proto/codec.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "proto/bytes.hpp"
#include "proto/method_list.hpp"

using namespace sbx::proto;

namespace {

template <class T>
T good(const std::string& text) {
  auto made = decode<T>(json::parse(text));
  REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().path + " " + made.error().message));
  return *made;
}

template <class T>
std::string fault_path(const std::string& text) {
  auto made = decode<T>(json::parse(text));
  REQUIRE_MESSAGE(!made.has_value(), text);
  return made.error().path;
}

}  // namespace

TEST_CASE("codec: faults name the culprit by JSON pointer") {
  CHECK(fault_path<exec_run_params>(R"({"argv":["a"]})") == "/workspace");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"nonsense":1})") == "/nonsense");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"a/b~c":1})") == "/a~1b~0c");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a",5]})") == "/argv/1");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a\u0000"]})") == "/argv/0");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":[]})") == "/argv");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"command":"b"})") == "/command");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w"})") == "/argv");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"env":{"A=B":"x"}})") == "/env/A=B");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"env":{"A":"x\u0000"}})") == "/env/A");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"env":{"":"x"}})") == "/env/");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"timeout_ms":1.5})") == "/timeout_ms");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"timeout_ms":-1})") == "/timeout_ms");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"timeout_ms":"1"})") == "/timeout_ms");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"timeout_ms":null})") == "/timeout_ms");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"timeout_ms":18446744073709551615})") ==
        "/timeout_ms");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"max_output_bytes":3})") == "/max_output_bytes");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"max_output_bytes":4194305})") ==
        "/max_output_bytes");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"survivors":"maybe"})") == "/survivors");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"stdin":{"data":"a","fd":0}})")
            .starts_with("/stdin/"));
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"stdin":{"data":"%","encoding":"base64"}})") ==
        "/stdin/data");
  CHECK(fault_path<exec_run_params>(R"({"workspace":"w","argv":["a"],"stdout":{"fd":8}})") == "/stdout/fd");
  CHECK(fault_path<exec_run_params>("[]") == "");
  CHECK(fault_path<pty_open_params>(R"({"workspace":"w","argv":["a"],"rows":0})") == "/rows");
  CHECK(fault_path<pty_open_params>(R"({"workspace":"w","argv":["a"],"cols":65536})") == "/cols");
  CHECK(fault_path<fs_list_params>(R"({"workspace":"w","path":"","limit":10001})") == "/limit");
  CHECK(fault_path<fs_read_params>(R"({"workspace":"w"})") == "/path");
  CHECK(fault_path<fs_read_params>(R"({"workspace":"w","path":"a","path_base64":"YQ=="})") == "/path_base64");
  CHECK(fault_path<fs_read_params>(R"({"workspace":"w","path":"a\u0000"})") == "/path");
  CHECK(fault_path<fs_read_params>(R"({"workspace":"w","path_base64":"AA=="})") == "/path_base64");
  CHECK(fault_path<fs_write_params>(R"({"workspace":"w","path":"a","data":"x","mode":"0999"})") == "/mode");
  CHECK(fault_path<workspace_open_params>(R"({"roots":["/a"],"copy_of":"/b"})") == "/copy_of");
  CHECK(fault_path<workspace_open_params>(R"({"roots":["/a"],"network":"lan"})") == "/network");
  CHECK(fault_path<workspace_open_params>(R"({"roots":["/a"],"network":{"allow":["a",1]}})") == "/network/allow/1");
  CHECK(fault_path<workspace_open_params>(R"({"roots":["/a"],"user":"root"})") == "/user");
  CHECK(fault_path<workspace_open_params>(R"({"roots":["/a"],"limits":{"pids":0}})") == "/limits/pids");
  CHECK(fault_path<system_ping::params>(R"({"x":1})") == "/x");
}

TEST_CASE("codec: bytes arrive exactly") {
  CHECK(good<job_write_params>(R"({"job":"j","data":"a\u0000b"})").content.bytes == std::string("a\0b", 3));
  CHECK(good<job_write_params>(R"({"job":"j","data":"/w==","encoding":"base64"})").content.bytes == "\xFF");
  CHECK(good<exec_run_params>(R"({"workspace":"w","argv":[{"base64":"/w=="}]})").argv->at(0).value == "\xFF");
  CHECK(good<fs_read_params>(R"({"workspace":"w","path_base64":"/w=="})").path == "\xFF");
  CHECK(good<fs_edit_params>(R"({"workspace":"w","path":"a","old":"a\u0000","new":""})").old_text->value.size() == 2);
}

TEST_CASE("codec: defaults, absent and null are told apart") {
  const auto run = good<exec_run_params>(R"({"workspace":"w","command":"x","env":{"A":null,"B":"c"}})");
  CHECK(run.max_output_bytes == one_mib);
  CHECK(run.grace_ms == 2000);
  CHECK_FALSE(run.timeout_ms);
  CHECK_FALSE(run.env.at("A"));
  CHECK(run.env.at("B")->value == "c");
  CHECK(good<workspace_open_params>(R"({"roots":["/a"]})").user.absent());
  CHECK(good<workspace_open_params>(R"({"roots":["/a"],"user":null})").user.is_null());
  CHECK(good<workspace_open_params>(R"({"roots":["/a"],"user":"1:2"})").user.value == "1:2");
  CHECK(good<workspace_open_params>(R"({"roots":["/a"],"network":{"name":"n"}})").network->name == "n");
  CHECK(good<workspace_open_params>(R"({"roots":["/a"],"limits":{"cpus":1.5}})").limits->cpus == 1.5);
}

TEST_CASE("codec: results write null where the contract says null and leave out what is absent") {
  exec_run_result r;
  r.out.emplace();
  r.out->content.bytes = "h\xC3\xA4\n\"\\\x01";
  const auto made = encode(r);
  CHECK(made["exit"].is_null());
  CHECK(made["stderr"].is_null());
  CHECK(made["stdout"]["dropped_at"].is_null());
  CHECK(made["stdout"]["data"] == "h\xC3\xA4\n\"\\\x01");
  CHECK(made["stdout"]["encoding"] == "utf-8");
  CHECK_FALSE(made["stdout"].contains("lossy"));
  CHECK_FALSE(made.contains("job"));
}

TEST_CASE("codec: output bytes pick their encoding, or obey") {
  output_part part;
  part.content.bytes = "a\xFF";
  CHECK(encode(part)["encoding"] == "base64");
  CHECK(encode(part)["data"] == "Yf8=");
  part.content.forced = encoding::utf8;
  CHECK(encode(part)["data"] == "a\xEF\xBF\xBD");
  CHECK(encode(part)["lossy"] == true);
  part.content.bytes = "plain";
  part.content.forced = encoding::base64;
  CHECK(encode(part)["encoding"] == "base64");
}

TEST_CASE("codec: names that are not UTF-8 are told twice, given once") {
  dir_entry entry;
  entry.name = "x\xFF";
  const auto told = encode(entry);
  CHECK(told["name"] == "x\xEF\xBF\xBD");
  CHECK(told["name_base64"] == base64_encode("x\xFF"));
  CHECK(decode<dir_entry>(told)->name == "x\xFF");
  fs_read_params params;
  params.workspace = "w";
  params.path = "x\xFF";
  const auto given = encode(params);
  CHECK_FALSE(given.contains("path"));
  CHECK(decode<fs_read_params>(given)->path == "x\xFF");
}

TEST_CASE("codec: a client skips members that newer results have gained") {
  const auto text = json::parse(R"({"pong":true,"more":1})");
  CHECK_FALSE(decode<ping_result>(text));
  CHECK(decode<ping_result>(text, unknown_members::skip));
}

TEST_CASE("codec: every struct of the contract goes round") {
  int count = 0;
  methods::each([&]<class Method>() {
    const typename Method::result made{};
    const auto back = decode<typename Method::result>(encode(made));
    CHECK_MESSAGE(back.has_value(), Method::name);
    if (back) CHECK_MESSAGE(encode(*back) == encode(made), Method::name);
    ++count;
  });
  CHECK(count == 58);
}

TEST_CASE("codec: configuration texts may hold comments, and faults say where") {
  json made;
  CHECK(parse_config_text("// one\n{\"a\": /* two */ 1}", made));
  CHECK(made["a"] == 1);
  const auto wrong = parse_config_text("{\n  \"a\": oops\n}", made);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("line 2") != std::string::npos);
}

TEST_CASE("codec: strings of any bytes become valid JSON") {
  std::string all;
  for (int n = 0; n < 256; ++n) all += static_cast<char>(n);
  for (std::size_t start = 0; start < all.size(); ++start) {
    std::string out;
    append_json_string(out, std::string_view(all).substr(start));
    CHECK(json::accept(out));
  }
}
