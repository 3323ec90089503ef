// WithUserAgent: identifies the program to the server.
#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

class UserAgentTransport : public TransportDecorator {
 public:
  UserAgentTransport(std::shared_ptr<Transport> next, std::string agent) : TransportDecorator(std::move(next)), agent_(std::move(agent)) {}

 protected:
  Result<void> Prepare(const Context&, HttpRequest& request) override {
    if (request.headers.Get("User-Agent").empty()) request.headers.Set("User-Agent", agent_);
    return {};
  }

 private:
  const std::string agent_;
};

}  // namespace

std::shared_ptr<Transport> WithUserAgent(std::shared_ptr<Transport> next, std::string user_agent) {
  if (user_agent.empty()) return next;
  return std::make_shared<UserAgentTransport>(std::move(next), std::move(user_agent));
}

}  // namespace kube
