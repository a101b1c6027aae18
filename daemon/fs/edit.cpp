#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/etag.hpp"
#include "daemon/fs/file_io.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/literal_search.hpp"
#include "daemon/fs/replace.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t memory_bytes_max = 4 << 20;  // larger contents are worked on in scratch files
constexpr std::int64_t reactor_bytes_max = 64 * 1024;
constexpr std::size_t write_batch_bytes = 256 * 1024;

// One state of the content on its way through the edits: in memory, or in a file without a name.
struct stage {
  std::string memory;
  std::shared_ptr<sys::unique_fd> file;  // when not in memory
  std::int64_t size = 0;

  byte_reader reader() const {
    if (file) {
      return [fd = file](std::int64_t offset, char* buffer, std::size_t bytes) {
        return read_fully(*fd, offset, buffer, bytes);
      };
    }
    return [this](std::int64_t offset, char* buffer, std::size_t bytes) {
      const std::size_t begin = std::min(static_cast<std::size_t>(offset), memory.size());
      const std::size_t got = std::min(bytes, memory.size() - begin);
      std::memcpy(buffer, memory.data() + begin, got);
      return static_cast<std::int64_t>(got);
    };
  }
};

// Gathers small pieces; `flush` at the end.
class batching_writer {
 public:
  explicit batching_writer(sys::fd_ref out) : out_(out) {}
  int put(std::string_view bytes) {
    if (pending_.size() + bytes.size() > write_batch_bytes) {
      if (const int failed = flush(); failed != 0) return failed;
    }
    if (bytes.size() > write_batch_bytes) return write_fully(out_, bytes);
    pending_.append(bytes);
    return 0;
  }
  int flush() {
    const int failed = write_fully(out_, pending_);
    pending_.clear();
    return failed;
  }

 private:
  sys::fd_ref out_;
  std::string pending_;
};

// Somewhere on disk, never seen by anybody.
result<std::shared_ptr<sys::unique_fd>> open_scratch(const place& target) {
  sys::unique_fd fd(::openat(target.directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) fd.reset(::open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) fd.reset(::memfd_create("sbx-edit", MFD_CLOEXEC));
  if (!fd) return fail_at(errno, "making room to edit", target.path);
  return std::make_shared<sys::unique_fd>(std::move(fd));
}

class edit_run {
 public:
  edit_run(const place& target, const edit_request& request, const call& how)
      : target_(target), request_(request), how_(how), stopped_([&how] { return how.stop.stopped(); }) {}

  std::int64_t replacements() const { return replacements_; }

  result<stage> run(stage content) {
    for (std::size_t index = 0; index < request_.edits.size(); ++index) {
      auto next = apply(content, index);
      if (!next) return next;
      content = std::move(*next);
    }
    return content;
  }

 private:
  tl::unexpected<error> failed_with(int number) const {
    return number == ECANCELED ? cancelled() : fail_at(number, "editing", request_.path);
  }

  tl::unexpected<error> mismatch(const stage& content, const match_report& report, std::size_t index) const {
    std::vector<std::int64_t> lines;
    if (const int failed = lines_of(content.reader(), report.offsets, lines, stopped_); failed != 0) {
      return failed_with(failed);
    }
    const std::string found = report.count == 0 ? "is not in" : "is more than once in";
    error e(error_kind::edit_mismatch, "the text to replace " + found + " " + printable(request_.path));
    e.details.emplace_back("count", report.count);
    e.details.emplace_back("lines", std::move(lines));
    e.details.emplace_back("edit", static_cast<std::int64_t>(index));
    return fail(std::move(e));
  }

  result<stage> apply(const stage& content, std::size_t index) {
    const replacement& edit = request_.edits[index];
    const auto counting = edit.all ? matches_counted::one_after_another : matches_counted::overlapping;
    const match_report report = count_matches(content.reader(), edit.old_text, counting, stopped_);
    if (report.failed != 0) return failed_with(report.failed);
    if (report.count == 0 || (report.count > 1 && !edit.all)) return mismatch(content, report, index);
    const auto growth =
        static_cast<std::int64_t>(edit.new_text.size()) - static_cast<std::int64_t>(edit.old_text.size());
    if (growth > 0 && report.count > (how_.edit_bytes_max - content.size) / growth) {
      return fail(error(error_kind::too_large, "the file would become too large").with("max", how_.edit_bytes_max));
    }
    replacements_ += report.count;
    return rewritten(content, edit, content.size + growth * report.count);
  }

  result<stage> rewritten(const stage& content, const replacement& edit, std::int64_t size) const {
    stage next;
    next.size = size;
    int failed = 0;
    if (size <= memory_bytes_max) {
      next.memory.reserve(static_cast<std::size_t>(size));
      const auto put = [&](std::string_view bytes) {
        next.memory.append(bytes);
        return 0;
      };
      failed = replace_matches(content.reader(), edit.old_text, edit.new_text, put, stopped_);
    } else {
      auto scratch = open_scratch(target_);
      if (!scratch) return fail(std::move(scratch.error()));
      next.file = std::move(*scratch);
      batching_writer out(*next.file);
      const auto put = [&](std::string_view bytes) { return out.put(bytes); };
      failed = replace_matches(content.reader(), edit.old_text, edit.new_text, put, stopped_);
      if (failed == 0) failed = out.flush();
    }
    if (failed != 0) return failed_with(failed);
    return next;
  }

  const place& target_;
  const edit_request& request_;
  const call& how_;
  const std::function<bool()> stopped_;
  std::int64_t replacements_ = 0;
};

bool same_state(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size && mtime_ns(one) == mtime_ns(other) &&
         one.st_ctim.tv_sec == other.st_ctim.tv_sec && one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

tl::unexpected<error> changed_meanwhile(const edit_request& request) {
  return fail(error_kind::conflict, printable(request.path) + " has changed since");
}

result<stage> load(const std::shared_ptr<sys::unique_fd>& file, const struct stat& status, const edit_request& request,
                   const call& how) {
  stage content;
  const auto too_large = [&] {
    return fail(error(error_kind::too_large, printable(request.path) + " is too large to edit")
                    .with("max", how.edit_bytes_max));
  };
  if (status.st_size > how.edit_bytes_max) return too_large();
  content.size = status.st_size;
  if (status.st_size > memory_bytes_max) {
    content.file = file;
    return content;
  }
  // One byte more than a size of 0 or so tells, to see that there is no more.
  if (const int failed = read_up_to(*file, 0, memory_bytes_max + 1, content.memory); failed != 0) {
    return fail_at(failed, "reading", request.path);
  }
  content.size = static_cast<std::int64_t>(content.memory.size());
  if (content.size > memory_bytes_max) return changed_meanwhile(request);
  return content;
}

result<void> check_edits(const edit_request& request) {
  if (request.edits.empty()) return invalid("/edits", "there is nothing to edit");
  for (const replacement& edit : request.edits) {
    if (edit.old_text.empty()) return invalid("/old", "the text to replace is empty");
  }
  return {};
}

replace_request new_content(const stage& content, const call& how) {
  replace_request wanted;
  wanted.bytes = content.size;
  wanted.write = [&content, &how](sys::fd_ref out) {
    if (!content.file) return write_fully(out, content.memory);
    std::int64_t bytes = 0;
    return copy_content(*content.file, out, how, bytes);
  };
  return wanted;
}

result<edit_reply> edit_held(const place& target, const edit_request& request, const call& how) {
  auto fd = reopen_file(target, O_RDONLY, how);
  if (!fd) return fail(std::move(fd.error()));
  const auto file = std::make_shared<sys::unique_fd>(std::move(*fd));
  struct stat before {
  }, after{};
  if (::fstat(file->get(), &before) != 0) return fail_at(errno, "looking at", request.path);
  if (how.on_reactor && before.st_size > reactor_bytes_max) return needs_pool();
  if (request.if_match && !etag_matches(*request.if_match, *file, before)) return changed_meanwhile(request);
  auto content = load(file, before, request, how);
  if (!content) return fail(std::move(content.error()));
  edit_run run(target, request, how);
  auto edited = run.run(std::move(*content));
  if (!edited) return fail(std::move(edited.error()));
  if (::fstat(file->get(), &after) != 0) return fail_at(errno, "looking at", request.path);
  if (!same_state(before, after)) return changed_meanwhile(request);
  auto status = replace_content(target, new_content(*edited, how), how);
  if (!status) return fail(std::move(status.error()));
  edit_reply reply;
  reply.replacements = run.replacements();
  reply.etag = edited->file ? make_etag(*status, std::nullopt) : make_etag(*status, edited->memory);
  return reply;
}

bool too_much_for_reactor(const edit_request& request) {
  std::size_t bytes = 0;
  for (const replacement& edit : request.edits) bytes += edit.old_text.size() + edit.new_text.size();
  return bytes > static_cast<std::size_t>(reactor_bytes_max) || request.edits.size() > 16;
}

}  // namespace

result<edit_reply> edit_file(const root_set& roots, const edit_request& request, const call& how) {
  if (auto checked = check_edits(request); !checked) return fail(std::move(checked.error()));
  if (how.on_reactor && too_much_for_reactor(request)) return needs_pool();
  auto held = hold_target(roots, request.path, wants::object, how);
  if (!held && request.if_match && held.error().kind == error_kind::not_found) return changed_meanwhile(request);
  if (!held) return fail(std::move(held.error()));
  return edit_held(held->found, request, how);
}

}  // namespace sbx::fs
