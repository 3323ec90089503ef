// World and Schedule: one embedded server in virtual time, and a random life of an informer on it.
//
// A schedule is made from its seed alone: which objects are created, changed and deleted, which faults the server has, when handlers are
// added and removed, how time advances. Only the order in which threads run is left open, as in production. At the end the faults stop and
// time advances until the informer has caught up; then cache, server and all handlers have to agree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/testing/api_server.h"
#include "recorder.h"

namespace kube::consistency {

// Used by one schedule after the other.
class World {
 public:
  // `tls`: HTTP/2, else plain HTTP/1.1.
  explicit World(bool tls);

  // A server without objects or faults.
  void Reset();
  // Restarts the server, without its state as new.
  void Restart(bool keep_state);

  testing::ApiServer& server() { return *server_; }
  FakeClock& clock() { return *clock_; }
  const Client& admin() const { return *admin_; }    // in real time; faults do not concern it
  const Client& client() const { return *client_; }  // of the informer
  Context virtual_time() const { return Context::Background(clock_); }
  static Context RealTime() { return Context::Background().WithTimeout(std::chrono::seconds(120)); }

 private:
  void MakeNamespaces();

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> admin_, client_;
};

class Schedule {
 public:
  Schedule(World& world, std::uint64_t seed);

  // What went wrong; empty if nothing did.
  std::string Run();

 private:
  struct Entry {
    std::shared_ptr<Recorder> recorder;
    HandlerRegistration registration;
  };

  std::uint64_t Draw(std::uint64_t below) { return random_() % below; }
  bool Chance(unsigned percent) { return Draw(100) < percent; }
  void Note(std::string what) { trace_.push_back(std::move(what)); }
  void Problem(const std::string& what) { problems_ += "  " + what + "\n"; }

  // ---- Steps ----
  void Step();
  void Write();
  void WaitForLastWrite();
  void AddFault();
  void Disturb();
  void AddHandler();
  void RemoveHandler();
  void BlockOrUnblock();
  void MoveTime();
  void LookAtCache();

  // ---- The end ----
  void Heal();
  void ForceRelist();
  void Compare();
  View ServerView();
  View CacheView() const;
  std::string Report() const;

  World& world_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  InformerOptions options_;
  std::unique_ptr<InformerFactory> factory_;
  std::unique_ptr<SharedInformer<ConfigMap>> informer_;
  std::vector<Entry> handlers_;
  std::vector<std::shared_ptr<Recorder>> recorders_;  // also those that were removed
  std::map<ObjectKey, std::uint64_t> seen_;           // newest versions that the cache had
  std::uint64_t last_version_ = 0;                    // of the cache
  std::optional<ConfigMap> last_write_;               // that was not deleted since
  std::set<ObjectKey> known_;                         // written and not deleted
  bool indexed_ = false;
  int writes_ = 0;
  bool refusing_ = false;
  bool lossy_ = false;   // events were lost or late: only a new list shows that
  bool ordered_ = true;  // no event came late
  std::vector<std::string> trace_;
  std::string problems_;
};

}  // namespace kube::consistency
