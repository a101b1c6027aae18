#include "daemon/api/authorizers.hpp"

#include <fnmatch.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/async/run.hpp"
#include "daemon/workspace/handle_id.hpp"
#include "proto/codec.hpp"

namespace sbx::api {

namespace {

constexpr std::size_t entries_max = 1024;

// Never asked about, whatever the globs say.
bool exempt(std::string_view method) {
  for (const std::string_view family : {"system.", "rpc.", "session.", "policy.", "$/"})
    if (method.starts_with(family)) return true;
  return false;
}

bool names(const std::vector<std::string>& globs, const std::string& method) {
  for (const auto& glob : globs)
    if (::fnmatch(glob.c_str(), method.c_str(), 0) == 0) return true;
  return false;
}

error vetoed(std::string reason) {
  return error(error_kind::denied, "An authorizer did not allow it.").with("reason", std::move(reason));
}

constexpr const char* malformed = "the authorizer did not answer in the agreed form";

// Looks at `allow` and `reason` alone: whatever else is there is ignored.
result<void> read_verdict(const proto::json& answer) {
  if (!answer.is_object()) return fail(vetoed(malformed));
  const auto allow = answer.find("allow");
  if (allow == answer.end() || !allow->is_boolean()) return fail(vetoed(malformed));
  if (allow->get<bool>()) return {};
  const auto reason = answer.find("reason");
  if (reason == answer.end() || !reason->is_string()) return fail(vetoed("the authorizer gave no reason"));
  return fail(vetoed(reason->get<std::string>().substr(0, 1000)));
}

}  // namespace

result<std::string> authorizers::add(entry made, const std::optional<std::string>& again) {
  forget_ended();
  if (again) {
    const auto known = entries_.find(*again);
    if (known == entries_.end()) return fail(workspace::no_such_handle(*again));
    made.id = *again;
    if (made.session.expired() && !made.all_sessions) {
      made.session = known->second->session;
      made.all_sessions = known->second->all_sessions;
    }
    known->second = std::make_shared<const entry>(std::move(made));
    return *again;
  }
  if (entries_.size() >= entries_max)
    return fail(error(error_kind::limit, "There are too many authorizers.")
                    .with("limit", std::string("authorizers"))
                    .with("max", static_cast<std::int64_t>(entries_max)));
  made.id = workspace::make_handle("aut-");
  std::string id = made.id;
  entries_.emplace(id, std::make_shared<const entry>(std::move(made)));
  return id;
}

result<void> authorizers::remove(const std::string& id) {
  forget_ended();
  if (entries_.erase(id) == 0) return fail(workspace::no_such_handle(id));
  return {};
}

authorizers::list authorizers::matching(std::string_view method, const std::shared_ptr<workspace::session>& session,
                                        std::uint64_t connection) {
  list out;
  if (entries_.empty() || exempt(method)) return out;
  forget_ended();
  const std::string name(method);
  for (const auto& [id, known] : entries_) {
    if (known->connection->number() == connection) continue;
    if (!known->all_sessions && known->session.lock() != session) continue;
    if (names(known->methods, name)) out.push_back(known);
  }
  return out;
}

void authorizers::forget_ended() {
  std::erase_if(entries_, [](const auto& item) {
    if (item.second->all_sessions) return false;
    const auto session = item.second->session.lock();
    return !session || session->ending;
  });
}

async::task<result<void>> ask(authorizers::list who, proto::policy_authorize_params what) {
  const std::string text = proto::encode_text(what);
  for (const auto& authorizer : who) {
    auto asking = authorizer->connection->request(std::string(proto::policy_authorize::name), text);
    auto there = async::on(authorizer->connection->strand(), std::move(asking));
    auto limited = async::with_deadline(std::move(there), authorizer->timeout);
    const auto answer = co_await std::move(limited);
    if (!answer) co_return fail(vetoed("the authorizer did not answer in time"));
    if (!*answer) co_return fail(vetoed("the authorizer could not be asked"));
    const proto::document& document = **answer;
    if (!document) co_return fail(vetoed(malformed));
    if (auto denied = read_verdict(*document); !denied) co_return fail(denied.error());
  }
  co_return result<void>();
}

}  // namespace sbx::api
