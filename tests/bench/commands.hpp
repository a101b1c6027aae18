// What it costs to run commands: latency, concurrency, bulk output, memory.
#pragma once

#include "tests/bench/measure.hpp"

namespace sbx::bench {

void measure_latency(report& table);   // the three ways to run /bin/true, only
void measure_commands(report& table);  // all of it

}  // namespace sbx::bench
