#include "audit_log.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/codec/json.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::chaos {
namespace {

// After it is resumed, a process needs a moment until its timers have run.
constexpr Micros kThaw = 2'000'000;

Micros TimeOf(const Value& text) {
  const Result<MicroTime> time = MicroTime::Parse(text.string_value().view());
  return time ? time->unix_micros() : 0;
}

// Of "a-3.1789000000000000.42".
std::optional<std::pair<std::string, Micros>> Stamp(const std::string& audit_id) {
  const std::size_t first = audit_id.find('.'), second = audit_id.rfind('.');
  if (first == std::string::npos || second == first) return std::nullopt;
  return std::pair(audit_id.substr(0, first), static_cast<Micros>(std::atoll(audit_id.c_str() + first + 1)));
}

std::string At(Micros time, Micros base) {
  const Micros ms = (time - base) / 1000;
  return std::to_string(ms / 1000) + "." + std::to_string(1000 + ms % 1000).substr(1) + " s";
}

}  // namespace

std::string AuditPolicy(std::string_view ns) {
  const std::string where = "\"namespaces\": [\"" + std::string(ns) + "\"]";
  return R"({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [
  {"level": "Request", "verbs": ["create", "update", "patch"], )" +
         where + R"(, "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
  {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"], )" +
         where + R"(, "resources": [{"group": "", "resources": ["configmaps"]}]},
  {"level": "None"}]})";
}

AuditLog ParseAuditLog(std::string_view text) {
  AuditLog log;
  std::map<std::string, ChildWrite> writes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const Result<Value> parsed = ParseJson(line);
    if (!parsed) {
      ++log.broken_lines;
      continue;
    }
    const Value& event = *parsed;
    const bool complete = event["stage"].string_value() == "ResponseComplete";
    const int code = static_cast<int>(event["responseStatus"]["code"].int_value());
    const Micros received = TimeOf(event["requestReceivedTimestamp"]), now = TimeOf(event["stageTimestamp"]);
    if (event["objectRef"]["resource"].string_value() == "leases") {
      if (!complete || code < 200 || code > 299) continue;
      log.leases.push_back(
          {.holder = event["requestObject"]["spec"]["holderIdentity"].string_value().str(), .received = received, .completed = now});
      continue;
    }
    const std::string id = event["auditID"].string_value().str();
    const std::optional<std::pair<std::string, Micros>> stamp = Stamp(id);
    if (!stamp) continue;  // a stranger's
    ChildWrite& write = writes[id];
    write.replica = stamp->first;
    write.sent = stamp->second;
    write.received = received;
    write.what = event["verb"].string_value().str() + " " + event["objectRef"]["name"].string_value().str();
    if (complete) {
      write.completed = now;
      write.code = code;
    }
  }
  for (auto& [id, write] : writes) log.writes.push_back(std::move(write));
  std::stable_sort(log.writes.begin(), log.writes.end(), [](const ChildWrite& a, const ChildWrite& b) { return a.sent < b.sent; });
  std::stable_sort(log.leases.begin(), log.leases.end(),
                   [](const LeaseWrite& a, const LeaseWrite& b) { return a.completed < b.completed; });
  return log;
}

std::string WriterReport::ToString() const {
  return std::to_string(writes) + " writes of children, " + std::to_string(holders) + " changes of the leader, " +
         std::to_string(in_flight) + " writes overtaken by the next leader on their way, " + std::to_string(thawed) +
         " by replicas that had been frozen";
}

WriterReport CheckWriters(const AuditLog& log, const std::vector<Freeze>& freezes, Micros lease_duration, int threads) {
  WriterReport report;
  const Micros base = log.leases.empty() ? 0 : log.leases.front().received;
  for (std::size_t i = 1; i < log.leases.size(); ++i) {
    if (log.leases[i].holder != log.leases[i - 1].holder && !log.leases[i].holder.empty()) ++report.holders;
  }
  std::map<const Freeze*, int> thawed;
  const auto excused = [&](const ChildWrite& write) {
    for (const Freeze& freeze : freezes) {
      if (freeze.replica != write.replica || write.sent < freeze.stopped || write.sent > freeze.resumed + kThaw) continue;
      ++report.thawed;
      return ++thawed[&freeze] <= threads;
    }
    return false;
  };
  std::size_t next = 0;
  std::map<std::string, const LeaseWrite*> last;  // of each replica
  for (const ChildWrite& write : log.writes) {
    ++report.writes;
    while (next < log.leases.size() && log.leases[next].completed <= write.sent) {
      last[log.leases[next].holder] = &log.leases[next];
      ++next;
    }
    const LeaseWrite* const holder = next == 0 ? nullptr : &log.leases[next - 1];
    const auto own = last.find(write.replica);
    const std::string what = write.replica + ": " + write.what + ", sent at " + At(write.sent, base) + ": ";
    if (holder == nullptr || holder->holder != write.replica) {
      if (!excused(write)) {
        report.problems.push_back(what + (holder == nullptr ? std::string("nobody had the lease")
                                                            : "the lease was " + (holder->holder.empty() ? "free" : holder->holder + "'s") +
                                                                  " since " + At(holder->completed, base)));
      }
    } else if (own == last.end() || write.sent - own->second->received > lease_duration) {
      if (!excused(write)) report.problems.push_back(what + "the lease was over, renewed last at " + At(own->second->received, base));
    } else if (next < log.leases.size()) {
      // Sent in time. Did it arrive in time?
      const auto other = std::find_if(log.leases.begin() + static_cast<std::ptrdiff_t>(next), log.leases.end(),
                                      [&](const LeaseWrite& l) { return l.holder != write.replica && !l.holder.empty(); });
      if (other != log.leases.end() && other->completed < write.completed.value_or(write.received)) ++report.in_flight;
    }
  }
  return report;
}

}  // namespace kube::chaos
