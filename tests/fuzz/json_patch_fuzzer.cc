// Any JSON is applied to any JSON as a patch without harm, and a created patch does what it was made for.
#include "json_lines.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/patch.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::fuzz::Require;
  auto documents = kube::fuzz::ParseLines(data, size, 2);
  if (!documents) return 0;
  const kube::Value& document = (*documents)[0];
  const kube::Value& other = (*documents)[1];

  kube::Result<kube::Value> patched = kube::ApplyJsonPatch(document, other, {.max_copied_bytes = 65536});
  if (patched) {
    // What comes out can be sent on: it has not grown beyond bounds or reason.
    std::string text = kube::ToJson(*patched);
    Require(text.size() <= 6 * (size + 65536) + 1024, "the patched document is bounded");
    Require(kube::ParseJson(text).ok(), "the patched document can be read");
  } else {
    Require(!patched.error().ToString().empty(), "errors say something");
  }

  kube::Value patch = kube::CreateJsonPatch(document, other);
  kube::Result<kube::Value> back = kube::ApplyJsonPatch(document, patch);
  Require(back.ok() && *back == other, "a created patch turns one document into the other");

  Require(kube::Diff(document, other).empty() == (document == other), "a diff is empty for equal documents only");
  Require(kube::HashObject(*back) == kube::HashObject(other), "equal documents have equal hashes");
  return 0;
}
