// One life of a shell: a bash that reads its commands from one private descriptor and tells the end of each on another.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/process/capture.hpp"
#include "daemon/process/process_tree.hpp"

namespace sbx::process {

// Pure: what bash is given to read.
std::string bash_prologue();
// `number` is random for each command: it ends the text, and comes back with its end.
std::string bash_statement(std::string_view line, std::string_view number);

struct bash_report {
  bash_report() = default;
  std::string number, cwd;
  int code = 0;
};
// "NUMBER CODE CWD"; nothing for what no bash_statement makes.
std::optional<bash_report> parse_bash_report(std::string_view message);

// Lives on its process's strand.
class bash : public std::enable_shared_from_this<bash> {
 public:
  // `command` without argv. Errors: as process_tree::start.
  static async::task<result<std::shared_ptr<bash>>> start(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                          process::command command);

  // Gives it a line; the output goes to captures of so many bytes from now on, what came since the last one in front.
  void begin(std::string line, std::size_t output_bytes_max);

  // How the line that began last stands: done, or (the whole shell) ended or lying. `changed` tells.
  const std::optional<bash_report>& report() const { return report_; }
  bool ended() const { return lying_ || process_->finished(); }
  // It said something out of turn; it is killed then.
  bool lied() const { return lying_; }
  async::signal& changed() { return changed_; }

  // What the line has written until now; what comes later belongs to the next.
  captured take_out() { return out_->take(); }
  captured take_err() { return err_->take(); }
  // What the command has written before it told of its end is in the pipes: takes it.
  void drain();

  const std::shared_ptr<process_tree>& process() const { return process_; }

 private:
  bash(std::shared_ptr<process_tree> process, async::strand strand, sys::unique_fd script, sys::unique_fd reports);
  async::task<void> watch_end();
  async::task<void> read_reports();
  async::task<void> feed(std::string text);
  bool take_messages();
  void take(std::string_view message);
  void send(std::string text);

  std::shared_ptr<process_tree> process_;
  async::asio::posix::stream_descriptor script_, reports_;
  std::shared_ptr<capture> out_, err_;
  std::string expected_;  // the number of the line that runs; empty: none does
  std::string unread_;    // of a message that is not whole yet
  std::optional<bash_report> report_;
  bool lying_ = false;
  async::signal changed_;
};

}  // namespace sbx::process
