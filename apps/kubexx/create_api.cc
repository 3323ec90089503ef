// kubexx create api: adds a kind and its controller to a project.
#include <ostream>

#include "command.h"
#include "scaffold/names.h"
#include "scaffold_command.h"

namespace kube::app {
namespace {

constexpr std::string_view kWho = "kubexx create api";
constexpr std::string_view kDescription =
    "Adds a kind to a project of `kubexx init`: its types, a sample, and a controller with a test. The project's domain is added\n"
    "to the group. Versions of a kind after the first one share its controller.\n"
    "\n"
    "With --resource=false the kind exists already, in the project or in Kubernetes, and gets a controller. A kind of another\n"
    "project needs --external-api-path: a header that `kubexx generate types --out external` has written, or a Go package.\n"
    "\n"
    "The files are yours: they are written once, and an existing one is an error without --force. PROJECT and\n"
    "config/kustomization.yaml are generated; CMake builds what PROJECT lists, so nothing is added to your files.";

class CreateApiCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "create api",
            .arguments = "",
            .summary = "Adds a kind and its controller to a project",
            .description = kDescription,
            .examples =
                "  kubexx create api --group webapp --version v1 --kind Guestbook\n"
                "  kubexx create api --group webapp --version v2 --kind Guestbook\n"
                "  kubexx create api --group fleet --version v1alpha1 --kind Truck --cluster-scoped --no-controller\n"
                "  kubexx create api --group apps --version v1 --kind Deployment --resource=false"};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("group", &options_.group, "the group, without the project's domain; \"\" is the domain itself").Value("NAME");
    flags.Add("version", &options_.version, "the version: v1, v1beta1, v1alpha1").Value("NAME");
    flags.Add("kind", &options_.kind, "the kind, such as Guestbook").Value("NAME");
    flags.Add("plural", &options_.plural, "the plural in lower case").Value("NAME").Default("by the rules of English");
    flags.Add("cluster-scoped", &cluster_scoped_, "objects belong to no namespace");
    flags.Add("namespaced", &options_.namespaced, "objects belong to namespaces");
    flags.Add("resource", &options_.resource, "create types; false for an existing kind");
    flags.Add("controller", &options_.controller, "make a controller");
    flags.Add("no-controller", &no_controller_, "make none");
    flags.Add("controller-name", &options_.controller_name, "name of the controller; a new name adds another controller for the kind")
        .Value("NAME")
        .Default("that of the kind");
    target_.AddFlags(flags);
    external_.AddFlags(flags);
    flags.Group("kubebuilder");
    flags.Add("make", &make_, "accepted for command lines of kubebuilder; no effect");
    foreign_.Ignore(flags, "plugins", "NAMES", "there is one layout");
    for (const char* flag : {"image", "image-container-command", "image-container-port", "run-as-user"}) {
      foreign_.Refuse(
          flags, flag, "VALUE",
          "there is no scaffold for a kind that runs an image: leave the flags of the image out, and let Reconcile apply the Deployment "
          "with kube::DesiredState");
    }
  }

  ExitCode Run(const std::vector<std::string>&, Streams& io) override {
    if (!foreign_.Check(kWho, io)) return ExitCode::kUsage;
    Result<scaffold::Project> project = scaffold::ReadProject(target_.folder);
    if (!project) {
      io.err << kWho << ": " << project.error().message() << '\n';
      return ExitCode::kFailure;
    }
    if (cluster_scoped_) options_.namespaced = false;
    if (no_controller_ && options_.controller.value_or(false)) return ScaffoldUsage(io, kWho, "--controller and --no-controller");
    if (no_controller_) options_.controller = false;
    if (!options_.group) {
      const bool own = options_.resource && external_.options.path.empty();
      const auto check = [&](const std::string& group) { return scaffold::CheckGroup(group, own ? project->domain : ""); };
      std::string group;
      if (!Ask(io, "Group, without " + project->domain, "", check, group))
        return ScaffoldUsage(io, kWho, "--group is missing, such as webapp; --group \"\" is the project's domain");
      options_.group = group;
    }
    if (options_.version.empty() && !Ask(io, "Version", "v1", scaffold::CheckVersion, options_.version))
      return ScaffoldUsage(io, kWho, "--version is missing, such as v1");
    if (options_.kind.empty() && !Ask(io, "Kind, such as Guestbook", "", scaffold::CheckKind, options_.kind))
      return ScaffoldUsage(io, kWho, "--kind is missing, such as Guestbook");

    Result<std::optional<scaffold::ExternalKind>> external =
        external_.Find(target_.folder, options_.group, options_.version, options_.kind);
    if (!external) return ScaffoldUsage(io, kWho, external.error().message());
    options_.external = *std::move(external);

    // Another command may have changed it in the meantime.
    const scaffold::ProjectLock lock(target_.folder);
    project = scaffold::ReadProject(target_.folder);
    if (!project) return ScaffoldUsage(io, kWho, project.error().message());
    const Result<scaffold::Scaffold> made = scaffold::CreateApi(*project, options_);
    if (!made) return ScaffoldUsage(io, kWho, made.error().message());
    const ExitCode code = WriteScaffold(target_, *made, kWho, io);
    if (code == ExitCode::kOk && !made->type_header.empty()) io.out << "Next: edit " << made->type_header << ", then make test\n";
    return code;
  }

 private:
  scaffold::CreateApiOptions options_;
  ScaffoldTarget target_;
  ExternalFlags external_;
  ForeignFlags foreign_;
  bool cluster_scoped_ = false, no_controller_ = false;
  std::optional<bool> make_;
};

}  // namespace

std::unique_ptr<Command> MakeCreateApiCommand() { return std::make_unique<CreateApiCommand>(); }

}  // namespace kube::app
