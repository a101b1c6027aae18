#include "tests/bench/jobs.hpp"

#include <unistd.h>

#include <cstdlib>

#include "tests/support/harness/daemon.hpp"

namespace sbx::bench {

using test::json;

namespace {

std::string start(test::world& w, const std::string& command, json more = json::object()) {
  more["workspace"] = w.workspace;
  more["command"] = command;
  return w.c.call("job.start", std::move(more))["job"];
}

void logging(report& table, test::world& w) {
  const std::string produce = "head -c 2000000000 /dev/zero";
  const auto ours = [&] {
    const std::string job = start(w, produce);
    w.c.call("job.wait", {{"job", job}}, {}, test::milliseconds(60000));
    w.c.call("job.collect", {{"job", job}, {"max_bytes", 1 << 20}});
  };
  const auto shell = [&] {
    if (test::run({"bash", "-c", produce + " | cat >/dev/null"}).status != 0) std::abort();
  };
  const auto found = take_turns(5, 0, {ours, shell});
  table.add({"2 GB into a job's log / cmd | cat (throughput)", us(found[0].p50), us(found[1].p50),
             found[1].p50 / found[0].p50, 0.8, " x", true});
}

void following(report& table, test::world& w, const std::string& what, const std::string& produce) {
  const std::string job = start(w, "sleep 0.1; " + produce);
  w.c.call("job.follow", {{"job", job}});
  std::int64_t bytes = 0, lost = 0;
  double first = 0;
  while (true) {
    const json message = w.c.next(test::milliseconds(60000));
    if (first == 0) first = now_us();
    const std::string method = message.value("method", "");
    if (method == "job.closed") break;
    if (method != "job.output") continue;
    const json& params = message["params"];
    bytes += static_cast<std::int64_t>(test::bytes_of(params).size());
    lost += params["lost_bytes"].get<std::int64_t>();
  }
  const double seconds = (now_us() - first) / 1e6;
  table.note("job.follow of " + what + " over the socket",
             std::to_string(static_cast<int>(static_cast<double>(bytes) / 1e6 / seconds)) + " MB/s (" +
                 std::to_string(lost / 1000000) + " MB skipped)");
}

void memory(report& table) {
  test::daemon_options options;
  options.config = R"({"limits": {"max_jobs": 400}})";
  test::world w(std::move(options), {{"backend", "bwrap"}});
  const auto run_some = [&](int count) {
    for (int i = 0; i < count; ++i) start(w, "exec sleep 600");
  };
  run_some(20);
  ::usleep(200000);
  const auto before = test::resident_kb(w.host.pid());
  run_some(200);
  ::usleep(200000);
  const double each = static_cast<double>(test::resident_kb(w.host.pid()) - before) / 200;
  table.add({"a running job, memory in the daemon", std::to_string(each).substr(0, 4) + " kB", "", each, 16, " kB"});
}

}  // namespace

void measure_jobs(report& table) {
  test::world w({}, {{"backend", "bwrap"}});
  logging(table, w);
  following(table, w, "text", "yes 'a line of text that is followed' | head -c 300000000");
  following(table, w, "bytes", "head -c 300000000 /dev/urandom");
  memory(table);
}

}  // namespace sbx::bench
