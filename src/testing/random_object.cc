#include "testing/random_object.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/array_builder.h"
#include "kube/codec/json.h"
#include "kube/value/value.h"
#include "value/field_access.h"

namespace kube::testing {
namespace {

using namespace internal;  // NOLINT: this file builds objects the way the decoders do

constexpr int kDeepest = 6;

bool Chance(Random& random, double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }
std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::string RandomText(Random& random) {
  static const char* const kPieces[] = {"a",
                                        "Z",
                                        "0",
                                        "-",
                                        "/",
                                        ".",
                                        " ",
                                        ":",
                                        "#",
                                        "'",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\t",
                                        "{",
                                        "]",
                                        "true",
                                        "null",
                                        "1e3",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\x01",
                                        "app.kubernetes.io/name",
                                        "~",
                                        "- ",
                                        "yes",
                                        "<&>"};
  std::string text;
  for (std::int64_t n = Between(random, 0, Chance(random, 0.1) ? 40 : 6); n > 0; --n)
    text += kPieces[Between(random, 0, std::size(kPieces) - 1)];
  return text;
}

Value RandomJson(Random& random, int depth) {
  switch (Between(random, 0, depth > 2 ? 3 : 5)) {
    case 0:
      return Value(RandomText(random));
    case 1:
      return Value(Between(random, INT64_MIN, INT64_MAX));
    case 2:
      return Value(Chance(random, 0.5));
    case 3:
      return Value(static_cast<double>(2 * Between(random, -1000000, 1000000) + 1) / 1024);  // YAML makes an integer of 5.0, as Go does
    case 4: {
      Value list = Value::Array();
      for (std::int64_t n = Between(random, 0, 3); n > 0; --n) list.MutableList().push_back(RandomJson(random, depth + 1));
      return list;
    }
    default: {
      Value object = Value::Object();
      for (std::int64_t n = Between(random, 0, 3); n > 0; --n) object[std::string_view(RandomText(random))] = RandomJson(random, depth + 1);
      return object;
    }
  }
}

void Make(Random& random, FieldKind, bool& out) { out = Chance(random, 0.5); }
void Make(Random& random, FieldKind, std::int32_t& out) { out = static_cast<std::int32_t>(Between(random, INT32_MIN, INT32_MAX)); }
void Make(Random& random, FieldKind, std::int64_t& out) { out = Between(random, INT64_MIN, INT64_MAX); }
void Make(Random& random, FieldKind, double& out) { out = static_cast<double>(Between(random, -100000000, 100000000)) / 4096; }
void Make(Random& random, FieldKind kind, String& out) {
  std::string text = RandomText(random);
  if (kind == FieldKind::kBytes) {
    for (char& c : text) c = static_cast<char>(Between(random, 0, 255));
  }
  out = String(text);
}
void Make(Random& random, FieldKind, Quantity& out) {
  static const char* const kSuffixes[] = {"", "m", "k", "M", "Ki", "Mi", "Gi", "n", "u", "e3"};
  out = Quantity::Parse(std::to_string(Between(random, -99999, 99999)) + kSuffixes[Between(random, 0, std::size(kSuffixes) - 1)]).value();
}
void Make(Random& random, FieldKind, Time& out) { out = Time::FromUnix(Between(random, -62135596799, 253402300799)); }
void Make(Random& random, FieldKind, MicroTime& out) {
  out = MicroTime::FromUnixMicros(Between(random, -62135596799000000, 253402300799000000));
}
void Make(Random& random, FieldKind, Duration& out) { out = Duration::FromNanoseconds(Between(random, INT64_MIN, INT64_MAX)); }
void Make(Random& random, FieldKind, IntOrString& out) {
  out =
      Chance(random, 0.5) ? IntOrString(static_cast<std::int32_t>(Between(random, INT32_MIN, INT32_MAX))) : IntOrString(RandomText(random));
}
void Make(Random& random, FieldKind, RawJson& out) { out = ToRawJson(RandomJson(random, 0)); }

void Fill(Random& random, const TypeInfo& type, char* object, int depth);

// One of the values that the table names.
String OneOf(Random& random, std::string_view values) {
  std::int64_t which = Between(random, 0, std::count(values.begin(), values.end(), ','));
  for (; which > 0; --which) values.remove_prefix(values.find(',') + 1);
  return String(values.substr(0, values.find(',')));
}

void FillElement(Random& random, const FieldInfo& field, char* at, int depth) {
  if (field.kind == FieldKind::kString && field.extra != nullptr && !field.extra->enum_values.empty()) {
    Write<String>(at) = OneOf(random, field.extra->enum_values);
    return;
  }
  if (field.kind == FieldKind::kMessage) return Fill(random, *field.type, at, depth + 1);
  WithScalarType(field.kind, [&](auto t) { Make(random, field.kind, Write<typename decltype(t)::type>(at)); });
}

void FillField(Random& random, const FieldInfo& field, char* at, int depth) {
  switch (field.shape) {
    case FieldShape::kPlain:
      return FillElement(random, field, at, depth);
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) {
        BoxRep* rep = NewBox(field.type->size);
        Write<BoxRep*>(at) = rep;
        return Fill(random, *field.type, rep->data(), depth + 1);
      }
      return WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        if constexpr (kOwnUnset<T>) {
          Make(random, field.kind, Write<T>(at));
        } else {
          Make(random, field.kind, Write<std::optional<T>>(at).emplace());
        }
      });
    case FieldShape::kList:
    case FieldShape::kMap: {
      auto count = static_cast<std::size_t>(Between(random, 1, 3));
      ArrayRep** rep = &Write<ArrayRep*>(at);
      ArrayBuilder builder(field, rep, count);
      for (std::size_t i = 0; i < count; ++i) {
        char* element = builder.Add();
        if (field.shape == FieldShape::kList) {
          FillElement(random, field, element, depth);
        } else {
          Write<String>(element) = String(RandomText(random));
          FillElement(random, field, element + kEntryValueOffset, depth);
        }
      }
      if (field.shape == FieldShape::kMap) SortEntries(field, rep, [](std::string_view) {});
      return;
    }
  }
}

void Fill(Random& random, const TypeInfo& type, char* object, int depth) {
  if (type.form == TypeForm::kByToken) {
    // Just one of them, and "or bool" says yes together with a schema.
    const FieldInfo& field = type.fields[Between(random, 0, type.field_count - 1)];
    FillField(random, field, At(object, field), depth);
    if (field.kind != FieldKind::kBool) {
      for (const FieldInfo& other : type) {
        if (other.kind == FieldKind::kBool) Write<bool>(At(object, other)) = true;
      }
    }
    return;
  }
  if (depth > kDeepest) return;
  double p = depth == 0 ? 1 : std::min(1.0, 3.0 / type.field_count);
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      Fill(random, *field.type, At(object, field), depth + 1);
    } else if (Chance(random, p)) {
      FillField(random, field, At(object, field), depth);
    }
  }
}

}  // namespace

AnyObject RandomObject(const TypeInfo& type, Random& random) {
  AnyObject object(type);
  Fill(random, type, static_cast<char*>(object.mutable_data()), 0);
  return object;
}

}  // namespace kube::testing
