// What webhooks answer, taken apart: AdmissionReview and ConversionReview, v1 and v1beta1. Nothing of an answer is believed: every member
// is checked before it is used, and the errors are worded as the real server words them.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct AdmissionAnswer {
  bool allowed = false;
  Value status;       // a metav1.Status; null if there is none
  std::string patch;  // JSON, not yet parsed
  std::string patch_type;
  std::vector<std::string> warnings;
};
// `version` is the one of the review that was sent. Errors: kDecode for what is no such review; kInvalid for one that is not acceptable.
Result<AdmissionAnswer> ReadAdmissionAnswer(std::string_view body, std::string_view version, std::string_view uid, bool mutating);

// Returns the converted objects. Errors: kInvalid.
Result<std::vector<Value>> ReadConversionAnswer(std::string_view body, std::string_view version, std::string_view uid);

// The version that both sides know, of those that the webhook names in order: v1, v1beta1, or nothing.
std::string_view ReviewVersion(const std::vector<std::string>& versions);

// The error that the client gets for a webhook that said no.
Error DenialOf(std::string_view webhook, const Value& status);

// A converted object as it is stored: what may not change is checked, and all metadata but labels and annotations is that of `original`.
// Errors: kInvalid, without the webhook's name: "returned invalid object: must have the same name: a != b".
Result<Value> AcceptConverted(const Value& original, Value converted, std::string_view api_version);

}  // namespace kube::apiserver
