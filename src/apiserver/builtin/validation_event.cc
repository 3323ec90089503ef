#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"

namespace kube::apiserver::builtin {
namespace {

using core::v1::Event;

void CheckLength(Errors& errors, const char* field, const String& text, std::size_t limit) {
  if (text.size() > limit) errors.push_back(InvalidValue(field, "", "can have at most " + std::to_string(limit) + " characters"));
}

// What both groups ask for: an event without a time stands in the namespace of its object.
void CheckNamespace(Errors& errors, const Event& e) {
  const String& involved = e.involved_object.namespace_;
  const String& own = e.metadata.namespace_;
  bool timed = !e.event_time.IsZero();
  bool good = involved.empty() ? own == "default" || (timed && own == "kube-system") : timed || involved == own;
  if (!good) errors.push_back(InvalidValue("involvedObject.namespace", involved, "does not match event.namespace"));
}

// `reporter` is the name of a field that the groups call differently.
void CheckNewEvent(Errors& errors, const Event& e, const char* reporter) {
  auto require = [&](const char* field, const String& text) {
    if (text.empty()) errors.push_back(Required(field));
  };
  require(reporter, e.reporting_component);
  AddProblems(errors, reporter, e.reporting_component, QualifiedNameProblems(e.reporting_component));
  require("reportingInstance", e.reporting_instance);
  CheckLength(errors, "reportingInstance", e.reporting_instance, 128);
  require("action", e.action);
  CheckLength(errors, "action", e.action, 128);
  require("reason", e.reason);
  CheckLength(errors, "reason", e.reason, 128);
  CheckLength(errors, "message", e.message, 1024);
}

}  // namespace

void ValidateKind(const Event& object, const Event*, Errors& errors) {
  CheckNamespace(errors, object);
  if (!object.event_time.IsZero()) CheckNewEvent(errors, object, "reportingComponent");
}

// Events of the new group must name their reporter; old ones are left alone when they are updated.
void ValidateKind(const events::v1::Event& object, const events::v1::Event* old, Errors& errors) {
  const Event e = ToCoreEvent(object);
  CheckNamespace(errors, e);
  if (old != nullptr) return;
  if (object.event_time.IsZero()) {
    errors.push_back(Required("eventTime"));
  } else {
    CheckNewEvent(errors, e, "reportingController");
  }
  if (object.type != "Normal" && object.type != "Warning") {
    errors.push_back(InvalidValue("type", "", "has invalid value: " + object.type.str()));
  }
}

}  // namespace kube::apiserver::builtin
