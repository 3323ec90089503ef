// What webhooks answer, as AdmissionReview and as ConversionReview: nothing breaks the reader, and what it accepts is what was asked for.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apiserver/json_patch_words.h"
#include "apiserver/webhook_answer.h"
#include "apiserver/webhook_caller.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "require.h"

using kube::ParseJson;
using kube::Result;
using kube::Value;
using kube::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace api = kube::apiserver;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static const Value original =
      ParseJson(R"({"apiVersion":"g/v1","kind":"K","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"x":"y"}},"data":{"k":"v"}})")
          .value();
  for (const char* version : {"v1", "v1beta1"}) {
    for (const bool mutating : {false, true}) {
      Result<api::AdmissionAnswer> answer = api::ReadAdmissionAnswer(body, version, "u", mutating);
      if (!answer) {
        Require(!answer.error().message().empty(), "an error says why");
        continue;
      }
      Require(mutating || answer->patch.empty(), "only mutating webhooks patch");
      const kube::Error denial = api::DenialOf("w", answer->status);
      Require(denial.http_code() >= 400 && denial.http_code() < 600, "a denial is an error");
      Result<Value> patch = ParseJson(answer->patch);
      if (!patch || !patch->is_list()) continue;
      Result<Value> patched = api::ApplyServerPatch(original, *patch);
      Require(patched.ok() || !patched.error().message().empty(), "a patch that does not apply says why");
      Require(patched.ok() || !kube::ApplyJsonPatch(original, *patch).ok(), "what the standard applies, the server applies");
    }
    Result<std::vector<Value>> objects = api::ReadConversionAnswer(body, version, "u");
    if (!objects) continue;
    for (Value& object : *objects) {
      Result<Value> accepted = api::AcceptConverted(original, std::move(object), "g/v2");
      if (!accepted) continue;
      const Value& meta = std::as_const(*accepted)["metadata"];
      Require(meta["name"] == original["metadata"]["name"] && meta["uid"] == original["metadata"]["uid"], "it is the same object");
      Require(std::as_const(*accepted)["apiVersion"] == Value("g/v2"), "it has the version that was asked for");
    }
  }
  (void)api::DescribeHttpFailure(500, "text/plain", body);
  return 0;
}
