// What it costs to keep and to follow the output of jobs.
#pragma once

#include "tests/bench/measure.hpp"

namespace sbx::bench {

void measure_jobs(report& table);

}  // namespace sbx::bench
