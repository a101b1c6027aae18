#include "tests/bench/measure.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sbx::bench {

double now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double time_us(const std::function<void()>& work) {
  const double start = now_us();
  work();
  return now_us() - start;
}

quantiles quantiles_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[samples.size() * 9 / 10]};
}

std::vector<quantiles> take_turns(int rounds, int pause_us, const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> samples(works.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (pause_us > 0) ::usleep(static_cast<useconds_t>(pause_us));
      samples[i].push_back(time_us(works[i]));
    }
  }
  std::vector<quantiles> found;
  for (auto& of_one : samples) found.push_back(quantiles_of(std::move(of_one)));
  return found;
}

std::string us(double value) {
  char text[32];
  if (value < 100) {
    std::snprintf(text, sizeof text, "%.0f us", value);
  } else if (value < 1e6) {
    std::snprintf(text, sizeof text, "%.2f ms", value / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", value / 1e6);
  }
  return text;
}

namespace {

bool meets(const line& entry, double factor) {
  return entry.at_least ? entry.value * factor >= entry.target : entry.value <= entry.target * factor;
}

}  // namespace

void report::add(line entry) {
  if (lines_.empty()) {
    std::printf("%-46s %12s %12s %10s %12s\n", "", "sbx", "beside", "", "target");
  }
  char value[32], target[32];
  const char* format = entry.value < 10 ? "%.2f%s" : "%.1f%s";
  std::snprintf(value, sizeof value, format, entry.value, entry.unit.c_str());
  std::snprintf(target, sizeof target, "%s %.4g%s", entry.at_least ? ">=" : "<=", entry.target, entry.unit.c_str());
  std::printf("%-46s %12s %12s %10s %12s  %s\n", entry.name.c_str(), entry.measured.c_str(), entry.beside.c_str(),
              value, target, meets(entry, 1) ? "ok" : "MISSED");
  std::fflush(stdout);
  lines_.push_back(std::move(entry));
}

void report::note(const std::string& name, const std::string& measured) {
  std::printf("%-46s %12s\n", name.c_str(), measured.c_str());
  std::fflush(stdout);
}

bool report::within(double factor) const {
  bool good = true;
  for (const line& entry : lines_) {
    if (meets(entry, factor)) continue;
    std::printf("far from its target: %s\n", entry.name.c_str());
    good = false;
  }
  return good;
}

}  // namespace sbx::bench
