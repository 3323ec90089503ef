// Whether objects survive the structs that `kubexx generate types` makes of their definitions: each is decoded into such a struct and
// written again, by tables that are laid out at run time as the compiler would lay out the header.
//
//   crd_samples CRD.yaml ... -- SAMPLE.yaml ...
//
// Prints one line for each object of these kinds that a round trip changes, how many there were, and how many of their [] and {} survive.
// Exit code 1 if any changed. Objects that change because their definition does not allow them (a required field is missing) are named but
// not counted. Null is the same as nothing.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "count_empty.h"
#include "generate/crd_reader.h"
#include "generate/resolve.h"
#include "generate/types.h"
#include "kube/api/all.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/kind.h"
#include "kube/value/any_object.h"
#include "kube/value/member_type.h"

using namespace kube;
using generate::Model;
using generate::Scalar;
using generate::Struct;
using generate::Type;
using Form = generate::TypeForm;

namespace {

template <typename T>
internal::MemberInfo MemberIn(Form form) {
  switch (form) {
    case Form::kList:
      return internal::kMember<List<T>>;
    case Form::kMap:
      return internal::kMember<Map<T>>;
    case Form::kOptional:
      if constexpr (!internal::kHasOwnUnset<T>) return internal::kMember<std::optional<T>>;
      [[fallthrough]];
    default:
      return internal::kMember<T>;
  }
}

internal::MemberInfo MemberIn(Scalar scalar, Form form) {
  switch (scalar) {
    case Scalar::kBool:
      return MemberIn<bool>(form);
    case Scalar::kInt32:
      return MemberIn<std::int32_t>(form);
    case Scalar::kInt64:
      return MemberIn<std::int64_t>(form);
    case Scalar::kDouble:
      return MemberIn<double>(form);
    case Scalar::kString:
      return MemberIn<String>(form);
    case Scalar::kBytes: {
      internal::MemberInfo out = MemberIn<String>(form);
      out.field.kind = FieldKind::kBytes;
      return out;
    }
    case Scalar::kQuantity:
      return MemberIn<Quantity>(form);
    case Scalar::kTime:
      return MemberIn<Time>(form);
    case Scalar::kMicroTime:
      return MemberIn<MicroTime>(form);
    case Scalar::kDuration:
      return MemberIn<Duration>(form);
    case Scalar::kIntOrString:
      return MemberIn<IntOrString>(form);
    case Scalar::kRawJson:
      return MemberIn<RawJson>(form);
  }
  return {};
}

// The tables of a model's structs.
class Tables {
 public:
  explicit Tables(const Model& model) : model_(model) {
    for (const TypeInfo* type : api::AllKinds()) AddBuiltin(*type);
    AddBuiltin(meta::v1::Condition::kType);
  }

  const TypeInfo* Of(const Struct& s) {
    auto [at, added] = made_.try_emplace(s.qualified, nullptr);
    if (!added) return at->second;
    Built& built = built_.emplace_back();
    std::size_t end = 0;
    for (const generate::Field& field : s.fields) {
      internal::MemberInfo member = MemberOf(field.type);
      end = (end + member.alignment - 1) / member.alignment * member.alignment;
      member.field.json_name = field.json;
      member.field.offset = static_cast<std::uint16_t>(end);
      member.field.required = field.Find("required") != nullptr;
      end += member.size;
      built.fields.push_back(member.field);
    }
    end = (end + 7) / 8 * 8;
    const generate::File& file = model_.FileOf(s);
    built.kind = {.group = file.group, .version = file.version, .kind = s.name, .resource = "x"};
    built.type = {.name = s.qualified,
                  .fields = built.fields.data(),
                  .field_count = static_cast<std::uint16_t>(built.fields.size()),
                  .size = static_cast<std::uint16_t>(end + sizeof(UnknownFields)),
                  .unknown_offset = static_cast<std::uint16_t>(end),
                  .kind = s.role == generate::StructRole::kKind ? &built.kind : nullptr};
    return made_[s.qualified] = &built.type;
  }

 private:
  struct Built {
    std::vector<FieldInfo> fields;
    KindInfo kind;
    TypeInfo type;
  };

  void AddBuiltin(const TypeInfo& type) {
    std::string name = "kube";
    for (std::string_view rest = type.name; !rest.empty();) {
      const std::size_t dot = rest.find('.');
      name += "::" + std::string(rest.substr(0, dot));
      rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
    }
    if (!made_.emplace(name, &type).second) return;
    for (const FieldInfo& field : type) {
      if (field.type != nullptr) AddBuiltin(*field.type);
    }
  }

  // A type that engines see as a struct: one, or a list or map inside of something else.
  const TypeInfo* Message(const Type& type) {
    const Type& under = *generate::Underlying(model_, type);
    if (under.form == Form::kStruct) return Of(*model_.FindStruct(under.name));
    if (under.form == Form::kBuiltin) {
      auto found = made_.find(under.name);
      if (found == made_.end()) {
        std::cerr << "no table of " << under.name << '\n';
        std::exit(2);
      }
      return found->second;
    }
    if (under.form != Form::kList && under.form != Form::kMap) return nullptr;
    Built& built = built_.emplace_back();
    built.fields.push_back(MemberOf(under).field);
    built.type = {
        .name = "List", .fields = built.fields.data(), .field_count = 1, .size = sizeof(List<String>), .form = kube::TypeForm::kOnlyField};
    return &built.type;
  }

  internal::MemberInfo MemberOf(const Type& type) {
    const Type& under = *generate::Underlying(model_, type);
    const bool wraps = under.element != nullptr;
    const Type& element = wraps ? *generate::Underlying(model_, *under.element) : under;
    if (element.form == Form::kScalar) return MemberIn(element.scalar, wraps ? under.form : Form::kScalar);
    internal::MemberInfo out;
    out.field.kind = FieldKind::kMessage;
    out.field.type = Message(wraps ? *under.element : under);
    out.alignment = 8;
    out.size = wraps ? sizeof(List<String>) : out.field.type->size;
    out.field.shape = under.form == Form::kList  ? FieldShape::kList
                      : under.form == Form::kMap ? FieldShape::kMap
                      : wraps                    ? FieldShape::kOptional
                                                 : FieldShape::kPlain;
    return out;
  }

  const Model& model_;
  std::map<std::string, const TypeInfo*> made_;
  std::deque<Built> built_;
};

// The first path at which two values differ.
std::string Difference(const Value& a, const Value& b, const std::string& path) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.object()) {
      const Value* other = b.Find(key);
      if (other == nullptr) return path + "." + key.str() + " is lost: " + ToJson(value);
      if (!(value == *other)) return Difference(value, *other, path + "." + key.str());
    }
    for (const auto& [key, value] : b.object()) {
      if (a.Find(key) == nullptr) return path + "." + key.str() + " is new: " + ToJson(value);
    }
  }
  if (a.is_list() && b.is_list() && a.list().size() == b.list().size()) {
    for (std::size_t i = 0; i < a.list().size(); ++i) {
      if (!(a.list()[i] == b.list()[i])) return Difference(a.list()[i], b.list()[i], path + "[" + std::to_string(i) + "]");
    }
  }
  return path + ": " + ToJson(a) + " becomes " + ToJson(b);
}

Value WithoutNulls(const Value& value) {
  if (value.is_list()) {
    Value out = Value::Array();
    for (const Value& item : value.list()) out.MutableList().push_back(WithoutNulls(item));
    return out;
  }
  if (!value.is_object()) return value;
  Value out = Value::Object();
  for (const auto& [key, member] : value.object()) {
    if (!member.is_null()) out[key] = WithoutNulls(member);
  }
  return out;
}

std::string Text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  generate::Problems problems;
  std::vector<generate::CrdInput> crds;
  for (auto at = arguments.begin(); at != separator; ++at) generate::FindCrds(Text(*at), *at, crds, problems);
  Model model;
  generate::ReadCrds(crds, {}, generate::BuiltinTypes::Get(), model, problems);
  if (problems.has_errors()) {
    std::cerr << problems.ToString();
    return 2;
  }
  std::vector<apiserver::CrdValidator> validators;
  for (const generate::CrdInput& input : crds) validators.push_back(apiserver::CrdValidator::Make(input.crd).value());
  Tables tables(model);
  std::size_t same = 0, all = 0;
  generate::EmptyCount empty;
  for (auto at = separator == arguments.end() ? separator : separator + 1; at != arguments.end(); ++at) {
    const Result<std::vector<YamlDocument>> documents = ReadYaml(Text(*at));
    if (!documents) continue;  // templates of Helm, for example
    for (const YamlDocument& document : *documents) {
      for (const Struct& s : model.structs) {
        if (s.role != generate::StructRole::kKind) continue;
        const generate::File& file = model.FileOf(s);
        if (document.value["kind"].string_value() != std::string_view(s.name) ||
            document.value["apiVersion"].string_value() != std::string_view(file.group + "/" + file.version))
          continue;
        AnyObject object(*tables.Of(s));
        const Result<void> read = DecodeValue(object.type(), object.mutable_data(), document.value);
        const Result<Value> written = read ? ToValue(object.type(), object.data()) : read.error();
        const Value wanted = WithoutNulls(document.value);
        if (written) empty.Add(wanted, *written);
        if (written && *written == wanted) {
          ++same;
          ++all;
          continue;
        }
        const auto validator = std::find_if(validators.begin(), validators.end(), [&](const apiserver::CrdValidator& v) {
          return v.kind() == s.name && v.group() == file.group;
        });
        if (const apiserver::CrdVerdict verdict = validator->Check(document.value); verdict.error) {
          std::cout << *at << ':' << document.line << ": left out: " << verdict.error->message() << '\n';
          continue;
        }
        ++all;
        std::cout << *at << ':' << document.line << ": " << s.name << ": "
                  << (written ? Difference(wanted, *written, "") : written.error().ToString()) << '\n';
      }
    }
  }
  std::cout << same << " of " << all << " objects come back as they were; " << empty << '\n';
  return same == all ? 0 : 1;
}
