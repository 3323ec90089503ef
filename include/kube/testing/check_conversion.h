// CheckConversion: converts random objects of every version to every other one and back. No server.
//
//   Result<ConversionCheck> checked = testing::CheckConversion(NetworkConversion());
//   ASSERT_TRUE(checked.ok()) << checked.error().ToString();
//
//   Network.nets.example.com, v2 to v1 and back (seed 7, object 41): ~ spec.mode: 3 -> 1
//   the smallest object that shows it: {"spec":{"mode":3}}
//
// What is checked of each object:
//   - no function fails;
//   - there and back gives the object, also by way of all versions in turn;
//   - a field that is edited in the other version, and the rest of that version, survive the way back and there again;
//   - equal objects give equal results.
// With annotations (the default of Conversion<>) data cannot get lost between the fields, so what this finds are functions that fail,
// depend on something else than the object, or throw. With KeepLost(false) it names each field that the functions alone lose.
//
// Random strings are no addresses or durations. If the functions parse them, Prepare gives the objects what they expect.
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

struct CheckConversionOptions {
  int objects = 1000;      // of each version
  std::uint64_t seed = 0;  // 0: another one each time. Equal seeds give equal objects
  std::map<const TypeInfo*, std::function<void(void* object)>> prepare{};

  // f(T&) is called with each random object of T.
  template <Resource T, typename F>
  CheckConversionOptions& Prepare(F f) {
    prepare[&T::kType] = [f = std::move(f)](void* object) { f(*static_cast<T*>(object)); };
    return *this;
  }
};

struct ConversionCheck {
  std::uint64_t seed = 0;
  int conversions = 0;
  // What only the annotations keep: "v2 to v1: spec.rules.priority". Users of the other version cannot see or change it.
  std::set<std::string> kept{};
};

// Errors: the spec's problem; kInvalid with the seed, the versions, the JSON paths that differ and the smallest object found that shows it.
KUBE_EXPORT Result<ConversionCheck> CheckConversion(const ConversionSpec& spec, const CheckConversionOptions& options = {});

}  // namespace kube::testing
