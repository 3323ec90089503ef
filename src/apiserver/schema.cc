#include "apiserver/schema.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "kube/base/mutex.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

Schema MakeScalar(ScalarType type) {
  Schema s;
  s.scalar = type;
  return s;
}

// Nodes that any schema may point at.
struct CommonSchemas {
  Schema string = MakeScalar(ScalarType::kString);
  Schema numeric = MakeScalar(ScalarType::kNumeric);
  Schema boolean = MakeScalar(ScalarType::kBoolean);
  Schema untyped = MakeScalar(ScalarType::kUntyped);
  Schema untyped_atomic = MakeScalar(ScalarType::kUntyped);
  Schema deduced = MakeScalar(ScalarType::kUntyped);

  CommonSchemas() {
    untyped_atomic.list = ListSchema{.element = &untyped_atomic};
    untyped_atomic.map = MapSchema{.atomic = true, .element = &untyped_atomic};
    deduced.list = ListSchema{.element = &untyped_atomic};
    deduced.map = MapSchema{.element = &deduced, .untyped_elements = true};
  }
};

const CommonSchemas& Common() {
  static const CommonSchemas common;
  return common;
}

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(','));
    out.emplace_back(one);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return out;
}

// From tables to schemas. One builder per process, used under a lock; what it hands out is complete, so that readers need no lock.
class TableSchemas {
 public:
  const Schema* Get(const TypeInfo& type) {
    const Schema* node = Node(type);
    // Atomic variants of structs are copies; made last, when the originals are complete.
    for (std::size_t i = 0; i < pending_copies_.size(); ++i) {
      auto [copy, original] = pending_copies_[i];
      *copy = *original;
      if (copy->map) copy->map->atomic = true;
    }
    pending_copies_.clear();
    return node;
  }

 private:
  SchemaArena arena_;
  std::unordered_map<const TypeInfo*, Schema*> by_type_;
  std::unordered_map<const Schema*, Schema*> atomic_;
  std::vector<std::pair<Schema*, const Schema*>> pending_copies_;

  const Schema* Node(const TypeInfo& type) {
    auto [it, is_new] = by_type_.try_emplace(&type, nullptr);
    if (!is_new) return it->second;
    Schema* node = arena_.New();
    it->second = node;
    switch (type.form) {
      case TypeForm::kOnlyField:
        // A named list, or one inside of another.
        if (type.field_count != 0 && type.fields[0].shape == FieldShape::kMap) {
          node->map = MapSchema{.element = Element(type.fields[0])};
        } else {
          node->list = ListSchema{.element = type.field_count == 0 ? &Common().untyped_atomic : Element(type.fields[0])};
        }
        break;
      case TypeForm::kByToken:
        // OpenAPI says nothing of these but that there may be anything.
        *node = Common().deduced;
        break;
      case TypeForm::kStruct: {
        // A plain local: building the fields' nodes may make the arena grow, but never moves nodes.
        MapSchema map;
        if (type.kind != nullptr) {
          for (const char* name : {"apiVersion", "kind"}) map.fields.push_back({.name = name, .type = &Common().string});
        }
        AddFields(type, map.fields);
        SortFields(map.fields);
        if (map.fields.empty()) {
          map.element = &Common().deduced;
          map.untyped_elements = true;
        }
        node->map = std::move(map);
        break;
      }
    }
    return node;
  }

  void AddFields(const TypeInfo& type, std::vector<SchemaField>& out) {
    for (const FieldInfo& field : type) {
      if (field.kind == FieldKind::kInline) {
        AddFields(*field.type, out);
        continue;
      }
      SchemaField f{.name = std::string(field.json_name), .type = Type(field)};
      // The `JSON` of CRD schemas; all other raw fields are RawExtensions, which are owned as a whole.
      if (field.kind == FieldKind::kRawJson && type.name.substr(0, 13) == "apiextensions" && field.shape == FieldShape::kPlain) {
        f.type = &Common().deduced;
      }
      SetDefault(field, f);
      SetImplied(type, field, f);
      out.push_back(std::move(f));
    }
  }

  const Schema* Type(const FieldInfo& field) {
    static constexpr FieldExtra kNoExtra;
    const FieldExtra& extra = field.extra != nullptr ? *field.extra : kNoExtra;
    switch (field.shape) {
      case FieldShape::kList: {
        const Schema* element = Element(field);
        if (extra.atomic) element = Atomic(element);
        Schema* node = arena_.New();
        node->list = ListSchema{.element = element};
        switch (extra.list_type) {
          case ListType::kSet:
            node->list->associative = true;
            break;
          case ListType::kMap:
            node->list->associative = true;
            node->list->keys = SplitCommas(extra.map_keys);
            break;
          case ListType::kAtomic:
            break;
          case ListType::kUnset:
            // Tables of old have only the marks of strategic merge patches.
            if (extra.patch_strategy == "merge" || extra.patch_strategy == "merge,retainKeys") {
              node->list->associative = true;
              if (!extra.patch_merge_key.empty()) node->list->keys.emplace_back(extra.patch_merge_key);
            }
            break;
        }
        return node;
      }
      case FieldShape::kMap: {
        Schema* node = arena_.New();
        node->map = MapSchema{.atomic = extra.atomic, .element = Element(field)};
        return node;
      }
      case FieldShape::kPlain:
      case FieldShape::kOptional: {
        const Schema* element = Element(field);
        return extra.atomic ? Atomic(element) : element;
      }
    }
    return &Common().untyped_atomic;
  }

  const Schema* Element(const FieldInfo& field) {
    switch (field.kind) {
      case FieldKind::kBool:
        return &Common().boolean;
      case FieldKind::kInt32:
      case FieldKind::kInt64:
      case FieldKind::kDouble:
        return &Common().numeric;
      case FieldKind::kString:
      case FieldKind::kBytes:
      case FieldKind::kDuration:
        return &Common().string;
      case FieldKind::kQuantity:
      case FieldKind::kTime:
      case FieldKind::kMicroTime:
        return &Common().untyped;
      case FieldKind::kIntOrString:
        return &Common().deduced;
      case FieldKind::kRawJson:
        return &Common().untyped_atomic;
      case FieldKind::kMessage:
      case FieldKind::kInline:
        return Node(*field.type);
    }
    return &Common().untyped_atomic;
  }

  const Schema* Atomic(const Schema* original) {
    auto [it, is_new] = atomic_.try_emplace(original, nullptr);
    if (is_new) {
      it->second = arena_.New();
      pending_copies_.emplace_back(it->second, original);
    }
    return it->second;
  }

  // OpenAPI has the zero value as the default of what JSON always shows.
  static void SetDefault(const FieldInfo& field, SchemaField& out) {
    if (field.extra != nullptr && !field.extra->default_json.empty()) {
      if (Result<Value> parsed = ParseJson(field.extra->default_json)) out.default_value = *std::move(parsed);
      return;
    }
    if (!field.required || field.shape != FieldShape::kPlain) return;
    out.default_value = ZeroScalar(field.kind);
  }

  static Value ZeroScalar(FieldKind kind) {
    switch (kind) {
      case FieldKind::kBool:
        return false;
      case FieldKind::kInt32:
      case FieldKind::kInt64:
      case FieldKind::kDouble:
        return 0;
      case FieldKind::kString:
        return "";
      default:
        return {};
    }
  }

  // The few pointers that Go shows as null if they are unset. Tables do not know them: to JSON there is no difference.
  static bool ShowsNull(const TypeInfo& owner, const FieldInfo& field) {
    struct Pointer {
      std::string_view type, field;
    };
    static constexpr Pointer kPointers[] = {
        {"admissionregistration.v1.MutatingWebhook", "sideEffects"},
        {"admissionregistration.v1.ValidatingWebhook", "sideEffects"},
        {"apps.v1.DaemonSetSpec", "selector"},
        {"apps.v1.DeploymentSpec", "selector"},
        {"apps.v1.ReplicaSetSpec", "selector"},
        {"apps.v1.StatefulSetSpec", "selector"},
        {"core.v1.AzureFilePersistentVolumeSource", "secretNamespace"},
        {"core.v1.GRPCAction", "service"},
        {"core.v1.ScaleIOPersistentVolumeSource", "secretRef"},
        {"core.v1.ScaleIOVolumeSource", "secretRef"},
        {"core.v1.TypedLocalObjectReference", "apiGroup"},
        {"core.v1.TypedObjectReference", "apiGroup"},
        {"flowcontrol.v1.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"},
        {"networking.v1.HTTPIngressPath", "pathType"},
        {"networking.v1.IngressClassParametersReference", "scope"},
        {"resource.v1.CapacityRequestPolicy", "default"},
    };
    return std::any_of(std::begin(kPointers), std::end(kPointers),
                       [&](const Pointer& p) { return p.type == owner.name && p.field == field.json_name; });
  }

  static void SetImplied(const TypeInfo& owner, const FieldInfo& field, SchemaField& out) {
    if (field.shape == FieldShape::kOptional) {
      out.implied = ShowsNull(owner, field);
      return;
    }
    if (field.shape != FieldShape::kPlain) {
      out.implied = field.required;
      return;
    }
    switch (field.kind) {
      case FieldKind::kMessage:
        if (field.type->form != TypeForm::kStruct) return;
        out.implied = true;
        out.implied_value = Value::Object();
        return;
      case FieldKind::kTime:
      case FieldKind::kMicroTime:
        // The one time that is left out when it is unset.
        out.implied = !(owner.name == "meta.v1.ObjectMeta" && field.json_name == "creationTimestamp");
        return;
      case FieldKind::kIntOrString:
        out.implied = true;
        out.implied_value = 0;
        return;
      case FieldKind::kDuration:
        out.implied = true;
        out.implied_value = "0s";
        return;
      case FieldKind::kQuantity:
        out.implied = true;
        out.implied_value = "0";
        return;
      case FieldKind::kBytes:
        out.implied = field.required;
        return;
      case FieldKind::kRawJson:
      case FieldKind::kInline:
        return;
      default:
        out.implied = field.required;
        out.implied_value = ZeroScalar(field.kind);
        return;
    }
  }
};

}  // namespace

const SchemaField* MapSchema::Find(std::string_view name) const {
  auto it = std::lower_bound(fields.begin(), fields.end(), name, [](const SchemaField& f, std::string_view n) { return f.name < n; });
  return it != fields.end() && it->name == name ? &*it : nullptr;
}

Schema* SchemaArena::New() {
  nodes_.push_back(std::make_unique<Schema>());
  return nodes_.back().get();
}

SchemaRef SchemaArena::Share(std::shared_ptr<SchemaArena> arena, const Schema* root) { return SchemaRef(std::move(arena), root); }

void SortFields(std::vector<SchemaField>& fields) {
  std::stable_sort(fields.begin(), fields.end(), [](const SchemaField& a, const SchemaField& b) { return a.name < b.name; });
  std::vector<SchemaField> unique;
  unique.reserve(fields.size());
  for (SchemaField& f : fields) {
    if (!unique.empty() && unique.back().name == f.name) {
      unique.back() = std::move(f);
    } else {
      unique.push_back(std::move(f));
    }
  }
  fields = std::move(unique);
}

const Schema& UntypedAtomicSchema() { return Common().untyped_atomic; }
const Schema& DeducedSchema() { return Common().deduced; }
const Schema& StringSchema() { return Common().string; }

SchemaRef SchemaOf(const TypeInfo& type) {
  // Lives as long as the process, as the tables do: a reference that outlives static destruction stays valid.
  struct Shared {
    Mutex mutex;
    TableSchemas schemas KUBE_GUARDED_BY(mutex);
  };
  static Shared& shared = *new Shared;
  MutexLock lock(shared.mutex);
  return SchemaRef(std::shared_ptr<void>(), shared.schemas.Get(type));
}

}  // namespace kube::apiserver
