#include "daemon/api/config.hpp"

#include <doctest/doctest.h>

#include "daemon/workspace/open_request.hpp"

using namespace sbx;

TEST_CASE("config: nothing said is the built-in default, bwrap without network") {
  const auto parsed = api::parse_config("{}");
  REQUIRE(parsed);
  const auto settings = api::make_settings(*parsed);
  REQUIRE(settings);
  CHECK(settings->max_jobs == 8);
  CHECK(settings->max_ptys == 8);
  CHECK(!settings->allowed_roots);
  CHECK(!settings->policy_all_sessions);
  REQUIRE(settings->profiles.count("default") == 1);
  CHECK(settings->profiles.at("default").backend == sandbox::backend_kind::bwrap);
  CHECK(!settings->profiles.at("default").network);
}

TEST_CASE("config: unknown keys are refused with their pointer, comments are not") {
  for (const auto& [text, pointer] :
       {std::pair("{\"nope\": 1}", "/nope"), std::pair("{\"limits\": {\"x\": 1}}", "/limits/x"),
        std::pair("{\"profiles\": {\"a\": {\"backend\": \"zz\"}}}", "/profiles/a/backend")}) {
    const auto parsed = api::parse_config(text);
    REQUIRE(!parsed);
    CHECK(parsed.error().path == pointer);
  }
  CHECK(api::parse_config("// hello\n{/* x */ \"limits\": {\"max_jobs\": 3}}")->limits.max_jobs == 3);
}

TEST_CASE("config: a profile's parts arrive where they are used") {
  const auto parsed =
      api::parse_config(R"({"profiles": {"p": {"backend": "podman", "image": "alpine", "network": {"name": "n"},
    "env": {"A": "1", "B": null}, "ro_binds": ["/opt/x"], "mounts": [{"source": "/srv", "writable": true}],
    "limits": {"pids": 9}, "shell": ["zsh", "-c"], "user": "5:6", "fs": {"deny": ["**/.env"]}, "run_args": ["--x"]}}})");
  REQUIRE(parsed);
  const auto settings = api::make_settings(*parsed);
  REQUIRE(settings);
  const auto& p = settings->profiles.at("p");
  CHECK(p.backend == sandbox::backend_kind::podman);
  CHECK(p.network->name == "n");
  CHECK(p.env.at("A") == "1");
  CHECK(!p.env.at("B"));
  REQUIRE(p.mounts.size() == 2);
  CHECK(p.mounts[0].optional);
  CHECK(p.mounts[1].writable);
  CHECK(*p.limits.pids == 9);
  CHECK(p.user.uid == 5);
  CHECK(p.user.gid == 6);
  CHECK(p.fs_deny.size() == 1);
}

TEST_CASE("config: a network that cannot be is told when its profile is used, not before") {
  const auto parsed = api::parse_config(R"({"profiles": {"p": {"network": {"allow": ["a.b"]}}}})");
  REQUIRE(parsed);
  const auto settings = api::make_settings(*parsed);
  REQUIRE(settings);
  workspace::open_request request;
  request.profile = "p";
  const auto walls = workspace::effective_walls(request, *settings);
  REQUIRE(!walls);
  CHECK(walls.error().kind == error_kind::unsupported);
  request.network.emplace();
  CHECK(workspace::effective_walls(request, *settings).has_value());
}

TEST_CASE("config: relative roots and malformed globs are faults of the whole") {
  for (const char* text : {R"({"allowed_roots": ["x"]})", R"({"profiles": {"p": {"ro_binds": ["x"]}}})",
                           R"({"profiles": {"p": {"mounts": [{"source": "x"}]}}})"}) {
    const auto parsed = api::parse_config(text);
    REQUIRE(parsed);
    CHECK(!api::make_settings(*parsed));
  }
}

TEST_CASE("config: what is printed can be read again") {
  const auto parsed = api::parse_config(R"({"allowed_roots": ["/a"], "profiles": {"p": {"backend": "none"}}})");
  REQUIRE(parsed);
  const auto again = api::parse_config(api::print_config(*parsed));
  REQUIRE(again);
  CHECK(api::print_config(*again) == api::print_config(*parsed));
}
