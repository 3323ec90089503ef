#include "codec/patch_test_types.h"

#include <cstddef>
#include <iterator>

// Structs with std::optional members are not of standard layout; both compilers give their offsets all the same.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube::patch_test {
namespace {

using K = FieldKind;
using S = FieldShape;

constexpr FieldExtra kAtomic{.list_type = ListType::kAtomic};
constexpr FieldExtra kPorts{.list_type = ListType::kMap, .map_keys = "port,protocol", .patch_strategy = "merge", .patch_merge_key = "port"};
constexpr FieldExtra kByName{.list_type = ListType::kMap, .map_keys = "name", .patch_strategy = "merge", .patch_merge_key = "name"};
constexpr FieldExtra kVolumes{.patch_strategy = "merge,retainKeys", .patch_merge_key = "name"};
constexpr FieldExtra kRetain{.patch_strategy = "retainKeys"};
constexpr FieldExtra kReplace{.patch_strategy = "replace"};
constexpr FieldExtra kSet{.list_type = ListType::kSet, .patch_strategy = "merge"};
constexpr FieldExtra kKeyless{.patch_strategy = "merge"};

constexpr KindInfo kThing{"test.example.com", "v1", "Thing", "things", true, false};
constexpr KindInfo kSecret{"", "v1", "Secret", "secrets", true, false};
constexpr KindInfo kSecretList{"", "v1", "SecretList", "secrets", true, true};

}  // namespace

static constexpr FieldInfo kPortFields[] = {
    {"port", nullptr, nullptr, offsetof(Port, port), 1, K::kInt32, S::kPlain, false},
    {"protocol", nullptr, nullptr, offsetof(Port, protocol), 2, K::kString, S::kPlain, false},
    {"name", nullptr, nullptr, offsetof(Port, name), 3, K::kString, S::kPlain, false},
    {"nodePort", nullptr, nullptr, offsetof(Port, node_port), 4, K::kInt32, S::kOptional, false},
};
constexpr TypeInfo Port::kType{"test.Port",       kPortFields, std::size(kPortFields), sizeof(Port), offsetof(Port, unknown_fields),
                               TypeForm::kStruct, nullptr};

static constexpr FieldInfo kContainerFields[] = {
    {"name", nullptr, nullptr, offsetof(Container, name), 1, K::kString, S::kPlain, false},
    {"image", nullptr, nullptr, offsetof(Container, image), 2, K::kString, S::kPlain, false},
    {"args", nullptr, &kAtomic, offsetof(Container, args), 3, K::kString, S::kList, false},
    {"ports", &Port::kType, &kPorts, offsetof(Container, ports), 4, K::kMessage, S::kList, false},
    {"limits", nullptr, nullptr, offsetof(Container, limits), 5, K::kQuantity, S::kMap, false},
};
constexpr TypeInfo Container::kType{
    "test.Container",  kContainerFields, std::size(kContainerFields), sizeof(Container), offsetof(Container, unknown_fields),
    TypeForm::kStruct, nullptr};

static constexpr FieldInfo kSourceFields[] = {
    {"path", nullptr, nullptr, offsetof(Source, path), 1, K::kString, S::kPlain, false},
};
constexpr TypeInfo Source::kType{
    "test.Source", kSourceFields, std::size(kSourceFields), sizeof(Source), offsetof(Source, unknown_fields), TypeForm::kStruct, nullptr};

static constexpr FieldInfo kVolumeSourceFields[] = {
    {"file", &Source::kType, nullptr, offsetof(Volume, file), 1, K::kMessage, S::kOptional, false},
    {"memory", &Source::kType, nullptr, offsetof(Volume, memory), 2, K::kMessage, S::kOptional, false},
};
static constexpr TypeInfo kVolumeSource{"test.VolumeSource", kVolumeSourceFields, 2, sizeof(Volume)};
static constexpr FieldInfo kVolumeFields[] = {
    {"name", nullptr, nullptr, offsetof(Volume, name), 1, K::kString, S::kPlain, true},
    {"", &kVolumeSource, nullptr, 0, 2, K::kInline, S::kPlain, false},
};
constexpr TypeInfo Volume::kType{
    "test.Volume", kVolumeFields, std::size(kVolumeFields), sizeof(Volume), offsetof(Volume, unknown_fields), TypeForm::kStruct, nullptr};

static constexpr FieldInfo kStrategyFields[] = {
    {"type", nullptr, nullptr, offsetof(Strategy, type), 1, K::kString, S::kPlain, false},
    {"surge", nullptr, nullptr, offsetof(Strategy, surge), 2, K::kIntOrString, S::kOptional, false},
};
constexpr TypeInfo Strategy::kType{
    "test.Strategy",   kStrategyFields, std::size(kStrategyFields), sizeof(Strategy), offsetof(Strategy, unknown_fields),
    TypeForm::kStruct, nullptr};

static constexpr FieldInfo kSpecFields[] = {
    {"replicas", nullptr, nullptr, offsetof(Spec, replicas), 1, K::kInt32, S::kOptional, false},
    {"containers", &Container::kType, &kByName, offsetof(Spec, containers), 2, K::kMessage, S::kList, false},
    {"volumes", &Volume::kType, &kVolumes, offsetof(Spec, volumes), 3, K::kMessage, S::kList, false},
    {"strategy", &Strategy::kType, &kRetain, offsetof(Spec, strategy), 4, K::kMessage, S::kOptional, false},
    {"policy", &Strategy::kType, &kReplace, offsetof(Spec, policy), 5, K::kMessage, S::kOptional, false},
    {"tags", nullptr, &kSet, offsetof(Spec, tags), 6, K::kString, S::kList, false},
    {"numbers", nullptr, &kSet, offsetof(Spec, numbers), 7, K::kInt32, S::kList, false},
    {"selector", nullptr, nullptr, offsetof(Spec, selector), 8, K::kString, S::kMap, false},
    {"byName", &Container::kType, nullptr, offsetof(Spec, by_name), 9, K::kMessage, S::kMap, false},
    {"keyless", &Strategy::kType, &kKeyless, offsetof(Spec, keyless), 10, K::kMessage, S::kList, false},
    {"raw", nullptr, nullptr, offsetof(Spec, raw), 11, K::kRawJson, S::kPlain, false},
    {"amount", nullptr, nullptr, offsetof(Spec, amount), 12, K::kQuantity, S::kPlain, false},
    {"weight", nullptr, nullptr, offsetof(Spec, weight), 13, K::kDouble, S::kPlain, false},
    {"since", nullptr, nullptr, offsetof(Spec, since), 14, K::kTime, S::kPlain, false},
    {"grace", nullptr, nullptr, offsetof(Spec, grace), 15, K::kDuration, S::kPlain, false},
    {"paused", nullptr, nullptr, offsetof(Spec, paused), 16, K::kBool, S::kPlain, false},
};
constexpr TypeInfo Spec::kType{"test.Spec",       kSpecFields, std::size(kSpecFields), sizeof(Spec), offsetof(Spec, unknown_fields),
                               TypeForm::kStruct, nullptr};

static constexpr FieldInfo kMetaFields[] = {
    {"name", nullptr, nullptr, offsetof(Meta, name), 1, K::kString, S::kPlain, false},
    {"labels", nullptr, nullptr, offsetof(Meta, labels), 2, K::kString, S::kMap, false},
    {"annotations", nullptr, nullptr, offsetof(Meta, annotations), 3, K::kString, S::kMap, false},
    {"finalizers", nullptr, &kSet, offsetof(Meta, finalizers), 4, K::kString, S::kList, false},
};
constexpr TypeInfo Meta::kType{"test.Meta",       kMetaFields, std::size(kMetaFields), sizeof(Meta), offsetof(Meta, unknown_fields),
                               TypeForm::kStruct, nullptr};

static constexpr FieldInfo kThingFields[] = {
    {"metadata", &Meta::kType, nullptr, offsetof(Thing, metadata), 1, K::kMessage, S::kPlain, false},
    {"spec", &Spec::kType, nullptr, offsetof(Thing, spec), 2, K::kMessage, S::kPlain, false},
};
constexpr TypeInfo Thing::kType{"test.Thing",      kThingFields, std::size(kThingFields), sizeof(Thing), offsetof(Thing, unknown_fields),
                                TypeForm::kStruct, &kThing};

static constexpr FieldInfo kSecretFields[] = {
    {"metadata", &Meta::kType, nullptr, offsetof(Secret, metadata), 1, K::kMessage, S::kPlain, false},
    {"data", nullptr, nullptr, offsetof(Secret, data), 2, K::kBytes, S::kMap, false},
    {"stringData", nullptr, nullptr, offsetof(Secret, string_data), 3, K::kString, S::kMap, false},
    {"type", nullptr, nullptr, offsetof(Secret, type), 4, K::kString, S::kPlain, false},
};
constexpr TypeInfo Secret::kType{
    "test.Secret", kSecretFields, std::size(kSecretFields), sizeof(Secret), offsetof(Secret, unknown_fields), TypeForm::kStruct, &kSecret};

static constexpr FieldInfo kSecretListFields[] = {
    {"items", &Secret::kType, nullptr, offsetof(SecretList, items), 1, K::kMessage, S::kList, false},
};
constexpr TypeInfo SecretList::kType{
    "test.SecretList", kSecretListFields, std::size(kSecretListFields), sizeof(SecretList), offsetof(SecretList, unknown_fields),
    TypeForm::kStruct, &kSecretList};

}  // namespace kube::patch_test
