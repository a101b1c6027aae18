// Timing of two things beside each other, and the table they are told in. What is compared is always measured in the
// same run, taking turns, so that a busy machine strikes both.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sbx::bench {

struct quantiles {
  double p50 = 0, p90 = 0;
};

double now_us();
double time_us(const std::function<void()>& work);
quantiles quantiles_of(std::vector<double> samples);

// Runs each work `rounds` times in turns, waiting `pause_us` before each; one result for each work.
std::vector<quantiles> take_turns(int rounds, int pause_us, const std::vector<std::function<void()>>& works);

// One line of the table. `value` and `target` are in the same unit; lower is better unless `at_least`.
struct line {
  std::string name, measured, beside;
  double value = 0, target = 0;
  std::string unit;
  bool at_least = false;
};

class report {
 public:
  void add(line entry);
  void note(const std::string& name, const std::string& measured);  // no target: to be read
  // True when nothing misses its target by more than the factor allowed for a noisy machine.
  bool within(double factor) const;

 private:
  std::vector<line> lines_;
};

std::string us(double value);  // "0.61 ms" or "12 us"

}  // namespace sbx::bench
