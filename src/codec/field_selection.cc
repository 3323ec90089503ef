#include "kube/codec/field_selection.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>

#include "codec/selection_node.h"

namespace kube {

namespace internal {
namespace {

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

SelectionNode::SelectionNode(bool only_named, std::vector<Member> sorted) : only(only_named), members(std::move(sorted)), id(NextId()) {}

void ApplySelection(const SelectionNode& node, Value& value) {
  if (value.is_list()) {
    for (Value& item : value.MutableList()) ApplySelection(node, item);
  } else if (value.is_object()) {
    Map<Value> kept;
    for (const auto& [key, member] : value.object()) {
      SelectionNode::Found found = node.Find(key.view());
      if (!found.keep) continue;
      Value copy = member;
      if (found.inside != nullptr) ApplySelection(*found.inside, copy);
      kept.Append(key, std::move(copy));
    }
    value = Value(std::move(kept));
  }
}

}  // namespace internal

namespace {

using internal::SelectionNode;
using Member = SelectionNode::Member;
using NodePtr = std::shared_ptr<const SelectionNode>;
using PathNames = std::vector<std::string>;

constexpr std::size_t kMaxNames = 64;
constexpr std::string_view kAlwaysThere[] = {"apiVersion", "kind", "metadata"};
constexpr std::string_view kNeededMetadata[] = {"name", "namespace", "uid", "resourceVersion", "labels"};

template <std::size_t n>
bool IsOneOf(std::string_view name, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Error Bad(std::string_view path, std::string_view why) {
  return Error::Invalid("field path \"" + std::string(path.substr(0, 256)) + "\": " + std::string(why));
}

// One name from the start of `rest`: plain, or in brackets and quotes. An empty one if it is malformed; `why` says how.
std::string TakeName(std::string_view& rest, std::string_view& why) {
  if (!rest.starts_with('[')) {
    std::size_t end = std::min(rest.find_first_of(".['\"] \t\r\n"), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(end);
    why = "a name is empty";
    return name;
  }
  why = "brackets hold a name in single quotes, as in metadata.annotations['example.com/a']; lists are passed through without an index";
  if (!rest.starts_with("['")) return {};
  std::size_t end = rest.find("']", 2);
  if (end == std::string_view::npos) return {};
  std::string name(rest.substr(2, end - 2));
  if (name.find('\'') != std::string::npos) return {};
  rest.remove_prefix(end + 2);
  return name;
}

Result<PathNames> ParsePath(std::string_view path) {
  if (path.empty()) return Bad(path, "it is empty");
  PathNames names;
  for (std::string_view rest = path;;) {
    std::string_view why;
    std::string name = TakeName(rest, why);
    if (name.empty()) return Bad(path, why);
    if (names.size() == kMaxNames) return Bad(path, "it is deeper than 64 names");
    names.push_back(std::move(name));
    if (rest.empty()) return names;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      if (rest.starts_with('[')) return Bad(path, "a name is empty");
    } else if (!rest.starts_with('[')) {
      return Bad(path, "expected '.' or '[' behind a name");
    }
  }
}

bool IsNeeded(const PathNames& path) {
  if (!IsOneOf(path[0], kAlwaysThere)) return false;
  return path[0] != "metadata" || path.size() == 1 || IsOneOf(path[1], kNeededMetadata);
}

// The node for the names from `depth` on. Requires: the paths are sorted, not empty, and agree in all names before.
NodePtr MakeNode(bool only, std::span<const PathNames> paths, std::size_t depth) {
  std::vector<Member> members;
  while (!paths.empty()) {
    const std::string& name = paths[0][depth];
    std::size_t same = 1;
    while (same < paths.size() && paths[same][depth] == name) ++same;
    // The shortest comes first: if it ends here, it covers all that longer ones could.
    if (paths[0].size() == depth + 1) {
      members.push_back({name, only, nullptr});
    } else {
      members.push_back({name, true, MakeNode(only, paths.first(same), depth + 1)});
    }
    paths = paths.subspan(same);
  }
  return std::make_shared<const SelectionNode>(only, std::move(members));
}

template <typename Paths>
Result<NodePtr> MakeRoot(bool only, const Paths& paths) {
  std::vector<PathNames> all;
  for (std::string_view path : paths) {
    Result<PathNames> names = ParsePath(path);
    if (!names) return names.error();
    if (!only && IsNeeded(*names)) {
      return Bad(path, "caches and clients need it; parts of metadata other than name, namespace, uid, resourceVersion and labels may go");
    }
    all.push_back(*std::move(names));
  }
  if (only) {
    for (std::string_view name : kAlwaysThere) all.push_back({std::string(name)});
  } else if (all.empty()) {
    return NodePtr();
  }
  std::sort(all.begin(), all.end());
  return MakeNode(only, all, 0);
}

NodePtr Intersect(const NodePtr& a, const NodePtr& b);

Member Intersect(const std::string& name, const Member* a, bool a_default, const Member* b, bool b_default) {
  if (!(a == nullptr ? a_default : a->keep) || !(b == nullptr ? b_default : b->keep)) return {name, false, nullptr};
  return {name, true, Intersect(a == nullptr ? nullptr : a->inside, b == nullptr ? nullptr : b->inside)};
}

NodePtr Intersect(const NodePtr& a, const NodePtr& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  const bool only = a->only || b->only;
  std::vector<Member> members;
  auto x = a->members.begin();
  auto y = b->members.begin();
  while (x != a->members.end() || y != b->members.end()) {
    const int order = x == a->members.end() ? 1 : y == b->members.end() ? -1 : x->name.compare(y->name);
    const Member* in_a = order <= 0 ? &*x : nullptr;
    const Member* in_b = order >= 0 ? &*y : nullptr;
    Member both = Intersect(order <= 0 ? x->name : y->name, in_a, !a->only, in_b, !b->only);
    if (both.keep == only || both.inside != nullptr) members.push_back(std::move(both));
    if (order <= 0) ++x;
    if (order >= 0) ++y;
  }
  return std::make_shared<const SelectionNode>(only, std::move(members));
}

std::string PathText(const std::string& parent, const std::string& name) {
  if (name.find_first_of(".['\"] \t\r\n,;{}") != std::string::npos) return parent + "['" + name + "']";
  return parent.empty() ? name : parent + '.' + name;
}

// Only-nodes are found at the root and below other only-nodes; so two lists of paths say it all.
void Describe(const SelectionNode& node, const std::string& path, std::string& only, std::string& without) {
  auto add = [](std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
  bool any = false;
  for (const Member& member : node.members) {
    const std::string here = PathText(path, member.name);
    if (!member.keep) {
      add(without, here);
      continue;
    }
    any = true;
    if (node.only && (member.inside == nullptr || !member.inside->only) && !(path.empty() && IsOneOf(member.name, kAlwaysThere))) {
      add(only, here);
    }
    if (member.inside != nullptr) Describe(*member.inside, here, only, without);
  }
  if (node.only && !any) add(only, path + ".{}");  // there, and empty
}

Result<FieldSelection> ErrorOr(Result<NodePtr> node, FieldSelection (*make)(NodePtr)) {
  if (!node) return node.error();
  return make(*std::move(node));
}

}  // namespace

Result<FieldSelection> FieldSelection::Without(std::initializer_list<std::string_view> paths) {
  return ErrorOr(MakeRoot(false, paths), [](NodePtr root) { return FieldSelection(std::move(root)); });
}
Result<FieldSelection> FieldSelection::Without(const std::vector<std::string>& paths) {
  return ErrorOr(MakeRoot(false, paths), [](NodePtr root) { return FieldSelection(std::move(root)); });
}
Result<FieldSelection> FieldSelection::Only(std::initializer_list<std::string_view> paths) {
  return ErrorOr(MakeRoot(true, paths), [](NodePtr root) { return FieldSelection(std::move(root)); });
}
Result<FieldSelection> FieldSelection::Only(const std::vector<std::string>& paths) {
  return ErrorOr(MakeRoot(true, paths), [](NodePtr root) { return FieldSelection(std::move(root)); });
}

FieldSelection FieldSelection::WithoutManagedFields() {
  static const FieldSelection& selection = *new FieldSelection(Without({"metadata.managedFields"}).value());
  return selection;
}

FieldSelection FieldSelection::And(const FieldSelection& other) const { return FieldSelection(Intersect(root_, other.root_)); }

FieldSelection FieldSelection::ForItems() const {
  if (root_ == nullptr) return {};
  return FieldSelection(std::make_shared<const SelectionNode>(false, std::vector<Member>{{"items", true, root_}}));
}

std::string FieldSelection::ToString() const {
  if (root_ == nullptr) return "everything";
  std::string only;
  std::string without;
  Describe(*root_, "", only, without);
  std::string text;
  if (root_->only && only.empty()) only = "metadata";
  if (!only.empty()) text = "only " + only;
  if (!without.empty()) text += (text.empty() ? "without " : "; without ") + without;
  return text;
}

}  // namespace kube
