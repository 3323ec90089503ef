// Time, MicroTime, Duration: whatever is read can be written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/value/time.h"
#include "require.h"

using kube::Duration;
using kube::MicroTime;
using kube::Result;
using kube::Time;
using kube::fuzz::Require;

namespace {

// An offset can move a time out of the four-digit years, which RFC 3339 cannot write.
bool HasFourDigitYear(std::string_view text) { return text[0] != '-' && text[4] == '-'; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (Result<Time> t = Time::Parse(input)) {
    std::string text = t->ToString();
    Require(text.size() <= Time::kMaxTextSize, "a time fits its buffer");
    Require(Time::FromUnix(t->unix_seconds()) == *t, "a time survives Unix seconds");
    if (HasFourDigitYear(text)) {
      Result<Time> again = Time::Parse(text);
      Require(again.ok() && *again == *t, "a time is read as it was written");
    }
  }
  if (Result<MicroTime> t = MicroTime::Parse(input)) {
    std::string text = t->ToString();
    Require(text.size() <= MicroTime::kMaxTextSize, "a micro time fits its buffer");
    Require(MicroTime::FromUnix(t->unix_seconds(), t->nanoseconds()) == *t, "a micro time survives seconds and nanoseconds");
    Require(Time::Parse(input).ok(), "a micro time is a time");
    if (HasFourDigitYear(text)) {
      Result<MicroTime> again = MicroTime::Parse(text);
      Require(again.ok() && *again == *t, "a micro time is read as it was written");
    }
  }
  if (Result<Duration> d = Duration::Parse(input)) {
    std::string text = d->ToString();
    Require(text.size() <= Duration::kMaxTextSize, "a duration fits its buffer");
    Result<Duration> again = Duration::Parse(text);
    Require(again.ok() && *again == *d, "a duration is read as it was written");
  }
  return 0;
}
