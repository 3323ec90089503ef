#include <kube/api/apps/v1.h>
#include <kube/kube.h>

#include <cstdio>

int main() {
  auto deployment = kube::FromYaml<kube::apps::v1::Deployment>(R"(
    metadata: {name: web}
    spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.27"}]}}}
  )");
  if (!deployment) return std::fputs(deployment.error().ToString().c_str(), stderr), 1;

  deployment->spec.replicas = 3;
  deployment->spec.template_.spec.containers[0].ports.push_back({.name = "http", .container_port = 8080});
  std::puts(kube::ToJson(*deployment)->c_str());
}
