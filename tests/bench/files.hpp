// What it costs to read, find and search files through the daemon.
#pragma once

#include "tests/bench/measure.hpp"

namespace sbx::bench {

void measure_files(report& table);

}  // namespace sbx::bench
