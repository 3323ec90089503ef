// Any body of a conversion call is answered, also with any annotation in its objects: metadata stays, and a round trip changes nothing.
#include "kube/api/apiextensions/v1.h"
#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/codec/json.h"
#include "require.h"
#include "webhook/conversion_review.h"
#include "webhook/conversion_test_types.h"

namespace {

using kube::Converter;
using kube::fuzz::Require;
namespace v1 = kube::nets::v1;
namespace v2 = kube::nets::v2;

const std::vector<Converter>& Converters() {
  static const std::vector<Converter>& converters = *new std::vector<Converter>{Converter::Make(kube::nets::ThreeVersions()).value()};
  return converters;
}

// The text as an annotation with lost fields, and as an object.
void CheckObject(std::string_view text) {
  const Converter& converter = Converters()[0];
  v1::Network object;
  object.metadata.name = "a";
  object.metadata.uid = "u";
  object.spec.rules = {{.name = "a"}, {.name = "b"}};
  object.spec.steps = {{.run = "1"}, {.run = "1"}};
  object.spec.zones.Set("z", {.a = "1"});
  object.spec.backup.Mutable().host = "h";
  object.metadata.annotations.Set("conversion.kubexx.dev/v2", kube::String(text));
  const kube::Result<v2::Network> restored = converter.Convert<v2::Network>(object);
  if (!restored) return;  // too large
  Require(restored->metadata.name == "a" && restored->metadata.uid == "u", "metadata stays");
  Require(kube::ToJson(*restored).ok(), "what was restored can be written");
  const kube::Result<v1::Network> there = converter.Convert<v1::Network>(*restored);
  if (!there) return;
  const kube::Result<v2::Network> back = converter.Convert<v2::Network>(*there);
  const bool marked = there->metadata.annotations.Get("conversion.kubexx.dev/v2").view().starts_with("too large");
  Require(marked || (back.ok() && *back == *restored), "nothing is lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] {
    kube::LogBackend::Default()->SetSink(kube::MakeTextSink([](std::string_view) {}));
    return true;
  }();
  static_cast<void>(quiet);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kube::WebhookAnswer answer = kube::internal::ServeConversion(Converters(), kube::Context::Background(), text);
  Require(answer.code == 200 || answer.code == 400, "the call is answered");
  if (answer.code == 200) {
    const kube::Result<kube::Value> json = kube::ParseJson(answer.body);
    Require(json.ok(), "the answer is JSON");
    const kube::Value& response = (*json)["response"];
    const std::string_view status = response["result"]["status"].string_value();
    Require(status == "Success" || status == "Failure", "the answer has a result");
    Require(status == "Success" || !response["result"]["message"].string_value().empty(), "a failure says why");
  }
  CheckObject(text);
  return 0;
}
