// WithImpersonation: asks the server to treat requests as another user's.
#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

bool IsHeaderNameByte(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$&'*+-.^_`|~").find(c) != std::string_view::npos;
}

class ImpersonationTransport : public TransportDecorator {
 public:
  ImpersonationTransport(std::shared_ptr<Transport> next, const ImpersonationConfig& who) : TransportDecorator(std::move(next)) {
    if (!who.user.empty()) fields_.emplace_back("Impersonate-User", who.user);
    if (!who.uid.empty()) fields_.emplace_back("Impersonate-Uid", who.uid);
    for (const std::string& group : who.groups) fields_.emplace_back("Impersonate-Group", group);
    for (const auto& [key, values] : who.extra) {
      for (const std::string& value : values) fields_.emplace_back("Impersonate-Extra-" + EscapeHeaderKey(key), value);
    }
  }

 protected:
  Result<void> Prepare(const Context&, HttpRequest& request) override {
    // The user name decides for all fields: a mixture of two users would be neither of them.
    if (!request.headers.Get("Impersonate-User").empty()) return {};
    request.headers.Remove("Impersonate-User");
    for (const HttpHeaders::Field& field : fields_) request.headers.Add(field.first, field.second);
    return {};
  }

 private:
  std::vector<HttpHeaders::Field> fields_;
};

}  // namespace

std::string EscapeHeaderKey(std::string_view key) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(key.size());
  for (const char c : key) {
    if (IsHeaderNameByte(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::shared_ptr<Transport> WithImpersonation(std::shared_ptr<Transport> next, ImpersonationConfig who) {
  if (who.empty()) return next;
  return std::make_shared<ImpersonationTransport>(std::move(next), who);
}

}  // namespace kube
