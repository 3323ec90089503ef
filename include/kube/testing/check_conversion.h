// CheckConversion: converts random objects of every version to every other version and back. Needs no server.
//
//   Result<ConversionCheck> checked = testing::CheckConversion(NetworkConversion());
//   ASSERT_TRUE(checked.ok()) << checked.error().ToString();
//
//   Network.nets.example.com, v2 to v1 and back (seed 7, object 41): ~ spec.mode: 3 -> 1
//   the smallest object that shows it: {"spec":{"mode":3}}
//
// It checks for each object that
//   - no function fails;
//   - a round trip returns the same object, also through all versions in turn;
//   - a field edited in another version, and the rest of that version, survive a round trip;
//   - equal objects give equal results.
// With annotations (the default of Conversion<>) no data is lost between fields, so this finds functions that fail, throw, or depend on
// anything but the object. With KeepLost(false) it names each field that the functions alone lose.
//
// Random strings are not valid addresses or durations. If the functions parse such fields, set valid values with Prepare.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/meta/resource.h"
#include "kube/webhook/conversion.h"

namespace kube::testing {

// Options of CheckConversion.
struct CheckConversionOptions {
  int objects = 1000;  // per version
  // 0 for a different seed in each run. Equal seeds give equal objects.
  std::uint64_t seed = 0;
  std::map<const TypeInfo*, std::function<void(void* object)>> prepare{};

  // Calls f(T&) with each random object of T.
  template <Resource T, typename F>
  CheckConversionOptions& Prepare(F f) {
    prepare[&T::kType] = [f = std::move(f)](void* object) { f(*static_cast<T*>(object)); };
    return *this;
  }
};

// The outcome of a successful CheckConversion.
struct ConversionCheck {
  std::uint64_t seed = 0;
  int conversions = 0;
  // Fields that only the annotations keep: "v2 to v1: spec.rules.priority". Users of the other version cannot see or change them.
  std::set<std::string> kept{};
};

// Errors: the spec's problem; kInvalid with the seed, the versions, the differing JSON paths and the smallest failing object found.
KUBE_EXPORT Result<ConversionCheck> CheckConversion(const ConversionSpec& spec, const CheckConversionOptions& options = {});

}  // namespace kube::testing
