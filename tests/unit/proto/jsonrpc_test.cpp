#include "proto/jsonrpc.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "proto/codec.hpp"

using namespace sbx::proto;

namespace {

bad_message bad(const parsed_frame& parsed) {
  REQUIRE(parsed.messages.size() == 1);
  REQUIRE(std::holds_alternative<bad_message>(parsed.messages[0]));
  return std::get<bad_message>(parsed.messages[0]);
}

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

}  // namespace

TEST_CASE("jsonrpc: ids come back exactly") {
  for (const char* id : {"null", "0", "-9223372036854775808", "9223372036854775807", "9223372036854775808",
                         "18446744073709551615", "\"\"", "\"a\\n\\u0000b\"", "\"7\""}) {
    const auto parsed = parse_frame(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"m"})");
    REQUIRE(std::holds_alternative<call>(parsed.messages[0]));
    const auto& made = std::get<call>(parsed.messages[0]);
    REQUIRE(made.id);
    CHECK(json::parse(make_result(*made.id, "{}"))["id"] == json::parse(id));
    CHECK(json::parse(make_result(*made.id, "{}"))["id"].type_name() == json::parse(id).type_name());
  }
}

TEST_CASE("jsonrpc: refuses ids of other types with id null") {
  for (const char* id : {"1.5", "1.0", "true", "[]", "{}", "18446744073709551616", "1e3"}) {
    const auto wrong = bad(parse_frame(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"m"})"));
    CHECK(wrong.error.kind == error_kind::invalid_request);
    CHECK(wrong.id.is_null());
  }
}

TEST_CASE("jsonrpc: tells parse errors, invalid requests and invalid params apart") {
  CHECK(bad(parse_frame("{\"jsonrpc\"")).error.kind == error_kind::parse_error);
  CHECK(bad(parse_frame("")).error.kind == error_kind::parse_error);
  CHECK(bad(parse_frame("{\"a\":\"\xFF\"}")).error.kind == error_kind::parse_error);
  CHECK(bad(parse_frame("{\"a\":1e999}")).error.kind == error_kind::parse_error);
  CHECK(bad(parse_frame("1")).error.kind == error_kind::invalid_request);
  const auto no_version = parse_frame(R"({"id":7,"method":"m"})");
  CHECK(bad(no_version).error.kind == error_kind::invalid_request);
  CHECK(to_json_text(bad(no_version).id) == "7");
  const auto no_method = parse_frame(R"({"jsonrpc":"2.0","id":"x","method":5})");
  CHECK(to_json_text(bad(no_method).id) == "\"x\"");
  const auto array = parse_frame(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})");
  CHECK(bad(array).error.kind == error_kind::invalid_params);
  CHECK(to_json_text(bad(array).id) == "1");
}

TEST_CASE("jsonrpc: a notification has no id, null is one") {
  const auto note = parse_frame(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}})");
  CHECK_FALSE(std::get<call>(note.messages[0]).id);
  const auto null_id = parse_frame(R"({"jsonrpc":"2.0","id":null,"method":"m"})");
  CHECK(std::get<call>(null_id.messages[0]).id);
}

TEST_CASE("jsonrpc: batches of 1 to 64") {
  CHECK(bad(parse_frame("[]")).error.kind == error_kind::invalid_request);
  const auto mixed = parse_frame(R"([{"jsonrpc":"2.0","id":1,"method":"m"},5,{"jsonrpc":"2.0","method":"n"}])");
  CHECK(mixed.batch);
  REQUIRE(mixed.messages.size() == 3);
  CHECK(std::holds_alternative<call>(mixed.messages[0]));
  CHECK(std::holds_alternative<bad_message>(mixed.messages[1]));
  std::string many = "[1";
  for (int n = 0; n < 63; ++n) many += ",1";
  CHECK(parse_frame(many + "]").messages.size() == 64);
  const auto over = bad(parse_frame(many + ",1]"));
  CHECK(over.id.is_null());
  CHECK_FALSE(parse_frame(many + ",1]").batch);
}

TEST_CASE("jsonrpc: nothing deeper than the cap is built") {
  const std::string head = R"({"jsonrpc":"2.0","id":9,"method":"m","params":{"x":)";
  CHECK(std::holds_alternative<call>(parse_frame(head + nested(62) + "}}").messages[0]));
  const auto deep = parse_frame(head + nested(63) + "}}");
  CHECK(bad(deep).error.kind == error_kind::invalid_request);
  CHECK(to_json_text(bad(deep).id) == "9");
  CHECK(bad(parse_frame(nested(1'000'000))).error.kind == error_kind::invalid_request);
  CHECK(bad(parse_frame(std::string(1'000'000, '['))).error.kind == error_kind::parse_error);
  const auto quoted = parse_frame(head + "\"" + std::string(100, '[') + "\\\"[[[[\\\\\"}}");
  CHECK(std::holds_alternative<call>(quoted.messages[0]));
}

TEST_CASE("jsonrpc: answers to our own requests are told apart") {
  const auto good = parse_frame(R"({"jsonrpc":"2.0","id":4,"result":{"allow":true}})");
  REQUIRE(std::holds_alternative<response>(good.messages[0]));
  CHECK((*std::get<response>(good.messages[0]).result)["allow"] == true);
  const auto failed =
      parse_frame(R"({"jsonrpc":"2.0","id":4,"error":{"code":-32001,"message":"no","data":{"reason":"r"}}})");
  const auto& answer = std::get<response>(failed.messages[0]);
  REQUIRE(answer.error);
  CHECK(answer.error->kind == error_kind::denied);
  CHECK(answer.error->text_member("reason") == "r");
}

TEST_CASE("jsonrpc: errors render as valid JSON whatever bytes they hold") {
  wire_error e(error_kind::spawn_failed, "cannot run \xFF\"x\"");
  e.with("stage", "exec").with("errno", std::string_view("ENOENT\xC3")).with("retryable", true).with("lines", {1, 2});
  const auto object = json::parse(make_error(request_id(std::int64_t{1}), e))["error"];
  CHECK(object["code"] == -32008);
  CHECK(object["data"]["kind"] == "spawn_failed");
  CHECK(object["data"]["lines"] == json::array({1, 2}));
  for (int n = 0; n <= static_cast<int>(error_kind::root_gone); ++n) {
    const auto kind = static_cast<error_kind>(n);
    CHECK(kind_of_code(code_of(kind)) == kind);
  }
}
