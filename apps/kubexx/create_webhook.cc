// kubexx create webhook: adds admission and conversion webhooks to a project.
#include <ostream>

#include "command.h"
#include "scaffold/names.h"
#include "scaffold_command.h"

namespace kube::app {
namespace {

constexpr std::string_view kWho = "kubexx create webhook";
constexpr std::string_view kDescription =
    "Adds a webhook to a project of `kubexx init`, with a test: for a kind of the project, or one of Kubernetes (--group core).\n"
    "The program issues the certificates itself.\n"
    "\n"
    "--conversion converts between the versions of a kind. All versions are converted to the version of --version and from it.\n"
    "\n"
    "A second webhook for a kind, such as --validation after --defaulting, gets files of its own.\n"
    "\n"
    "The files are yours: they are written once, and an existing one is an error without --force.";

class CreateWebhookCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "create webhook",
            .arguments = "",
            .summary = "Adds a webhook for a kind to a project",
            .description = kDescription,
            .examples =
                "  kubexx create webhook --kind Guestbook --defaulting --validation\n"
                "  kubexx create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation\n"
                "  kubexx create webhook --group core --version v1 --kind Pod --defaulting\n"
                "  kubexx create webhook --version v2 --kind Guestbook --conversion"};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("group", &options_.group, "the group, without the project's domain; needed if several have the kind").Value("NAME");
    flags.Add("version", &options_.version, "the version; needed if the kind has several").Value("NAME");
    flags.Add("kind", &options_.kind, "the kind").Value("NAME");
    flags.Add("defaulting", &options_.defaulting, "changes objects before they are stored");
    flags.Add("validation", &options_.validation, "refuses objects").Alias("programmatic-validation");
    flags.Add("conversion", &options_.conversion, "converts objects between versions");
    flags.Add("spoke", &options_.spokes, "with --conversion: a version to convert; may be repeated").Value("VERSION").Default("all");
    flags.Add("plural", &options_.plural, "must be the kind's plural").Value("NAME");
    flags.Add("defaulting-path", &options_.defaulting_path, "where the API server calls --defaulting").Value("PATH").Default("/mutate-...");
    flags.Add("validation-path", &options_.validation_path, "where it calls --validation").Value("PATH").Default("/validate-...");
    target_.AddFlags(flags);
    external_.AddFlags(flags);
    flags.Group("kubebuilder");
    flags.Add("make", &make_, "accepted for command lines of kubebuilder; no effect");
    foreign_.Ignore(flags, "plugins", "NAMES", "there is one layout");
  }

  ExitCode Run(const std::vector<std::string>&, Streams& io) override {
    if (!foreign_.Check(kWho, io)) return ExitCode::kUsage;
    Result<scaffold::Project> project = scaffold::ReadProject(target_.folder);
    if (!project) {
      io.err << kWho << ": " << project.error().message() << '\n';
      return ExitCode::kFailure;
    }
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
    const Result<scaffold::Scaffold> made = scaffold::CreateWebhook(*project, options_);
    if (!made) return ScaffoldUsage(io, kWho, made.error().message());
    const ExitCode code = WriteScaffold(target_, *made, kWho, io);
    if (code == ExitCode::kOk) io.out << "Next: fill in the functions, then make test\n";
    return code;
  }

 private:
  scaffold::CreateWebhookOptions options_;
  ScaffoldTarget target_;
  ExternalFlags external_;
  ForeignFlags foreign_;
  std::optional<bool> make_;
};

}  // namespace

std::unique_ptr<Command> MakeCreateWebhookCommand() { return std::make_unique<CreateWebhookCommand>(); }

}  // namespace kube::app
