#include "kube/transport/http.h"

#include <strings.h>

#include <algorithm>

#include "kube/base/mutex.h"

namespace kube {
namespace {

bool SameName(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

class TextBody : public BodyStream {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    if (Result<void> go = ctx.Check(); !go) return go.error();
    MutexLock lock(mu_);
    if (closed_) return Error(ErrorKind::kClosed, "the body was closed");
    const std::size_t n = text_.copy(buffer, size, used_);
    used_ += n;
    return n;
  }
  void Close() override {
    MutexLock lock(mu_);
    closed_ = true;
  }

 private:
  const std::string text_;
  Mutex mu_;
  std::size_t used_ KUBE_GUARDED_BY(mu_) = 0;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace

void HttpHeaders::Set(std::string_view name, std::string value) {
  Remove(name);
  fields_.emplace_back(std::string(name), std::move(value));
}

void HttpHeaders::Remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return SameName(field.first, name); });
}

const std::string* HttpHeaders::Find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return SameName(field.first, name); });
  return found == fields_.end() ? nullptr : &found->second;
}

std::string_view HttpHeaders::Get(std::string_view name) const {
  const std::string* found = Find(name);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

std::vector<std::string> HttpHeaders::All(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [field, value] : fields_) {
    if (SameName(field, name)) values.push_back(value);
  }
  return values;
}

BodyStream::~BodyStream() = default;
UpgradedConnection::~UpgradedConnection() = default;

Result<std::string> ReadAll(const Context& ctx, BodyStream& stream, std::size_t limit) {
  std::string text;
  char buffer[16 * 1024];
  while (text.size() < limit) {
    const Result<std::size_t> got = stream.Read(ctx, buffer, std::min(sizeof buffer, limit - text.size()));
    if (!got) return got.error();
    if (*got == 0) break;
    text.append(buffer, *got);
  }
  return text;
}

std::unique_ptr<BodyStream> MakeBodyStream(std::string text) { return std::make_unique<TextBody>(std::move(text)); }

}  // namespace kube
