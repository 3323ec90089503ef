#include "ports.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "kube/meta/validation.h"

namespace auto_expose {
namespace {

using kube::Error;
using kube::ErrorKind;
using kube::Result;
using kube::core::v1::ServicePort;

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// 1 to 65535.
std::optional<std::int32_t> PortNumber(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 65535) return std::nullopt;
  return number;
}

const DeclaredPort* FindByName(const std::vector<DeclaredPort>& declared, std::string_view name) {
  const auto found = std::find_if(declared.begin(), declared.end(), [name](const DeclaredPort& port) { return port.name == name; });
  return found != declared.end() ? &*found : nullptr;
}

// Names are required if there are several ports, and have to differ.
void NamePorts(kube::List<ServicePort>& ports) {
  if (ports.size() == 1 && ports[0].name.empty()) return;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].name.empty() && taken.insert(ports[i].name.str()).second) continue;
    std::string name = Lower(ports[i].protocol.str()) + "-" + std::to_string(ports[i].port);
    ports[i].name = name;
    taken.insert(std::move(name));
  }
}

Error Bad(std::string_view part, std::string_view what) {
  return Error(ErrorKind::kInvalid, std::string("\"").append(part).append("\": ").append(what));
}

Result<ServicePort> ParsePort(std::string_view part, const std::vector<DeclaredPort>& declared) {
  ServicePort port;
  port.protocol = "TCP";
  std::string_view rest = part;
  bool protocol_given = false;
  if (const std::size_t slash = rest.rfind('/'); slash != std::string_view::npos) {
    const std::string_view protocol = rest.substr(slash + 1);
    if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") return Bad(part, "the protocol is TCP, UDP or SCTP");
    port.protocol = protocol;
    protocol_given = true;
    rest = rest.substr(0, slash);
  }
  const std::size_t colon = rest.find(':');
  const std::string_view outside = Trimmed(rest.substr(0, colon));
  const std::string_view target = colon == std::string_view::npos ? outside : Trimmed(rest.substr(colon + 1));
  const DeclaredPort* named = FindByName(declared, target);
  const std::optional<std::int32_t> target_number = PortNumber(target);
  if (target.empty() || (named == nullptr && !target_number)) {
    return Bad(part, "needs a port from 1 to 65535, or the name of a port that a container declares");
  }
  if (named != nullptr) {
    port.target_port = kube::IntOrString(named->name);
    port.name = named->name;
    if (!protocol_given) port.protocol = named->protocol;
  } else {
    port.target_port = kube::IntOrString(*target_number);
  }
  const std::optional<std::int32_t> number = PortNumber(outside);
  if (number) {
    port.port = *number;
  } else if (colon == std::string_view::npos && named != nullptr) {
    port.port = named->number;
  } else {
    return Bad(part, "needs a port from 1 to 65535 before the ':'");
  }
  return port;
}

}  // namespace

std::vector<DeclaredPort> DeclaredPorts(const kube::core::v1::PodSpec& pods) {
  std::vector<DeclaredPort> declared;
  std::set<std::pair<std::int32_t, std::string_view>> known;
  for (const kube::core::v1::Container& container : pods.containers) {
    for (const kube::core::v1::ContainerPort& port : container.ports) {
      const std::string_view protocol = port.protocol.empty() ? "TCP" : port.protocol.view();
      if (!known.emplace(port.container_port, protocol).second) continue;
      declared.push_back({port.name.str(), std::string(protocol), port.container_port});
      if (declared.size() > kMaxPorts) return declared;
    }
  }
  return declared;
}

kube::List<ServicePort> ServicePorts(const std::vector<DeclaredPort>& declared) {
  kube::List<ServicePort> ports;
  for (const DeclaredPort& from : declared) {
    ServicePort port;
    port.name = from.name;
    port.protocol = from.protocol;
    port.port = from.number;
    port.target_port = from.name.empty() ? kube::IntOrString(from.number) : kube::IntOrString(from.name);
    ports.push_back(std::move(port));
  }
  NamePorts(ports);
  return ports;
}

Result<kube::List<ServicePort>> ParsePorts(std::string_view text, const std::vector<DeclaredPort>& declared) {
  kube::List<ServicePort> ports;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = Trimmed(text.substr(start, end - start));
    Result<ServicePort> port = ParsePort(part, declared);
    if (!port) return port.error();
    for (const ServicePort& other : ports) {
      if (other.port == port->port && other.protocol == port->protocol) return Bad(part, "this port is listed twice");
    }
    ports.push_back(std::move(*port));
    start = end + 1;
  }
  NamePorts(ports);
  return ports;
}

}  // namespace auto_expose
