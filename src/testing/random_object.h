// Random objects of any kind, made from its table.
#pragma once

#include <random>

#include "kube/value/any_object.h"

namespace kube::testing {

using Random = std::mt19937_64;

// Every field may be set, to any value that all encodings can carry; strings for which the table has a list of values to one of them.
AnyObject RandomObject(const TypeInfo& type, Random& random);

}  // namespace kube::testing
