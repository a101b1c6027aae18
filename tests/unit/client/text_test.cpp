#include "client/text.hpp"

#include <doctest/doctest.h>

#include "client/app.hpp"
#include "client/common_options.hpp"
#include "client/places.hpp"
#include "client/terminal.hpp"
#include "client/work_verbs.hpp"

using namespace sbx::client;

TEST_CASE("text: durations as people write them") {
  CHECK(parse_duration("10") == 10'000);
  CHECK(parse_duration("0.3") == 300);
  CHECK(parse_duration("500ms") == 500);
  CHECK(parse_duration("2m") == 120'000);
  CHECK(parse_duration("1h") == 3'600'000);
  for (const char* wrong : {"", "x", "-1", "1y", "inf", "nan", "1e99", "99999999999999999999d"})
    CHECK_MESSAGE(!parse_duration(wrong), wrong);
  CHECK(format_duration(350) == "350 ms");
  CHECK(format_duration(2100) == "2.1 s");
  CHECK(format_duration(200'000) == "3 min 20 s");
  CHECK(format_duration(90'000'000) == "1 d 1 h");
}

TEST_CASE("text: sizes as people write them") {
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("64k") == 65536);
  CHECK(parse_size("512M") == 512LL << 20);
  CHECK(parse_size("2GiB") == 2LL << 30);
  CHECK(parse_size("10B") == 10);
  for (const char* wrong : {"", "k", "1q", "-5", "1kk"}) CHECK_MESSAGE(!parse_size(wrong), wrong);
  CHECK(format_size(512) == "512 B");
  CHECK(format_size(1536) == "1.5 KiB");
}

TEST_CASE("text: nothing that is printed speaks to the terminal") {
  CHECK(printable("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(printable("tab\tnew\nline") == "tab\\x09new\\x0aline");
  CHECK(printable("\xC2\x9B") == "\\x9b");
  CHECK(printable("\xC3\xA4") == "\xC3\xA4");
  CHECK(printable("\xFF") == "\xEF\xBF\xBD");
}

TEST_CASE("text: words are quoted as a shell needs them") {
  CHECK(shell_quote("plain-word.c") == "plain-word.c");
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("it's") == "'it'\\''s'");
}

TEST_CASE("text: tables line up, and say nothing without rows") {
  table rows({"A", "LONG"});
  CHECK(rows.render(false).empty());
  rows.add({"\xC3\xA4xyz", "1"});
  rows.add({"b", "2"});
  CHECK(rows.render(false) == "A     LONG\n\xC3\xA4xyz  1\nb     2\n");
  CHECK(rows.render(true).starts_with("\033[1mA     LONG\033[0m\n"));
}

TEST_CASE("terminal: ctrl-p ctrl-q leaves, whatever pieces the keys come in") {
  detach_filter filter;
  CHECK(filter.feed("ab\x10") == "ab");
  CHECK(filter.feed("c") ==
        "\x10"
        "c");
  CHECK(filter.feed("\x10\x10") == "\x10");
  CHECK_FALSE(filter.detached());
  CHECK(filter.feed("\x11rest") == "");
  CHECK(filter.detached());
}

TEST_CASE("options: environment, networks and mounts") {
  const auto env = env_of({"A=1", "B=", "C=x=y", "SBX_TEST_NOT_SET"});
  REQUIRE(env);
  CHECK(env->at("A")->value == "1");
  CHECK(env->at("B")->value.empty());
  CHECK(env->at("C")->value == "x=y");
  CHECK_FALSE(env->at("SBX_TEST_NOT_SET"));
  CHECK_FALSE(env_of({"=x"}));
  CHECK(parse_network("host")->mode == sbx::proto::network_choice::form::host);
  CHECK(parse_network("name=net")->name == "net");
  CHECK(parse_network("allow=a,*.b,c:1")->allow.size() == 3);
  CHECK_FALSE(parse_network("lan"));
  CHECK(parse_mount("/usr=/data").target->value == "/data");
  CHECK_FALSE(parse_mount("/usr").target);
}

TEST_CASE("options: how an end becomes an exit code") {
  sbx::proto::exit_info end;
  end.code = 3;
  CHECK(exit_code_of(end) == 3);
  end.outcome = sbx::proto::outcome::timed_out;
  CHECK(exit_code_of(end) == 124);
  end.outcome = sbx::proto::outcome::lost;
  end.code.reset();
  CHECK(exit_code_of(end) == 125);
  CHECK(signal_name("int") == "SIGINT");
  CHECK(signal_name("SIGRTMIN+3") == "SIGRTMIN+3");
}

TEST_CASE("app: the root that contains a directory is the longest, and only at a border") {
  std::vector<sbx::proto::c_bytes> roots = {sbx::proto::c_bytes("/a/b"), sbx::proto::c_bytes("/a/b/c")};
  CHECK(containing_root(roots, "/a/b") == "/a/b");
  CHECK(containing_root(roots, "/a/b/c/d") == "/a/b/c");
  CHECK(containing_root(roots, "/a/bc").empty());
}

TEST_CASE("places: one token file a socket") {
  CHECK(token_file_name("/run/x/s") == "%2Frun%2Fx%2Fs");
  CHECK(token_file_name("/a%2Fb") != token_file_name("/a/b"));
}
