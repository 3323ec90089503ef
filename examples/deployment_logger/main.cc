// deployment_logger: the beginning of every controller. It is told of Deployments that come and go, in all namespaces, and says so.
//
//   deployment_logger [--kubeconfig FILE] [--context NAME]
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/apps/v1.h"
#include "kube/base/context.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/load.h"

using kube::Ptr;
using kube::Result;
using kube::apps::v1::Deployment;

namespace {

int Fail(const kube::Error& error) {
  std::cerr << "deployment_logger: " << error.ToString() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  const Result<std::vector<std::string>> rest = flags.Parse(argc, argv);
  if (!rest) return Fail(rest.error());
  if (!rest->empty()) {
    std::cerr << "usage: deployment_logger [flags]\n" << kube::ConfigFlags::Help();
    return 2;
  }
  const Result<kube::ClientConfig> config = flags.Load();
  if (!config) return Fail(config.error());
  const Result<kube::Client> client = kube::Client::FromConfig(*config);
  if (!client) return Fail(client.error());
  const kube::Context ctx = kube::SignalContext();

  kube::InformerFactory informers(*client);
  const Result<kube::HandlerRegistration> registration = informers.For<Deployment>().AddEventHandler({
      .on_add = [](const Ptr<Deployment>&, bool) { std::cout << "add was called" << std::endl; },
      .on_delete = [](const kube::Deleted<Deployment>&) { std::cout << "del was called" << std::endl; },
  });
  if (!registration) return Fail(registration.error());

  std::cout << "starting controller" << std::endl;
  informers.Start(ctx);
  // The cache is complete, and the handler was told of everything that was there.
  if (Result<void> told = registration->WaitForSync(ctx); !told) return ctx.stopped() ? 0 : Fail(told.error());
  ctx.WaitUntilStopped();
  return 0;
}
