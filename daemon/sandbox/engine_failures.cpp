#include <algorithm>
#include <array>

#include "daemon/sandbox/engine.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

constexpr std::string_view permission_remedy =
    "let this user use the engine (usermod -aG docker USER, then log in anew), or use rootless docker or podman";

constexpr auto docker_failures = std::to_array<known_failure>({
    {"permission denied", "daemon socket", permission_remedy},
    {"permission denied", "docker API", permission_remedy},
    {"annot connect to the Docker daemon", "", "start the engine: systemctl start docker", retry::worthwhile},
    {"ailed to connect to the docker API", "", "start the engine: systemctl start docker", retry::worthwhile},
    {"error during connect", "", "start the engine, or check DOCKER_HOST and the docker context", retry::worthwhile},
    {"no matching manifest for", "", "the image exists for other platforms only: choose one built for this machine"},
    {"does not match the", "platform", "the image is for another platform: choose one built for this machine"},
    {"pull access denied", "", "check the image's name, or log in to its registry: docker login"},
    {"unauthorized", "", "log in to the image's registry: docker login"},
    {"requested access to the resource is denied", "",
     "check the image's name, or log in to its registry: docker login"},
    {"manifest unknown", "", "check the image's name and tag"},
    {"manifest for", "not found", "check the image's name and tag"},
    {"invalid reference format", "", "check how the image's name is spelt"},
    {"repository name must be lowercase", "", "check how the image's name is spelt"},
    {"no such host", "", "the registry's name does not resolve: check the network, or load the image beforehand",
     retry::worthwhile},
    {"emporary failure in name resolution", "", "check the network, or load the image beforehand", retry::worthwhile},
    {"dial tcp", "", "the registry cannot be reached: check the network, or load the image beforehand",
     retry::worthwhile},
    {"i/o timeout", "", "the registry does not answer: try again", retry::worthwhile},
    {"TLS handshake timeout", "", "the registry does not answer: try again", retry::worthwhile},
    {"toomanyrequests", "", "the registry's rate limit is reached: log in to it, or try again later",
     retry::worthwhile},
    {"no space left on device", "", "free disk space: docker system prune", retry::worthwhile},
    {"bind source path does not exist", "", "the engine does not see this host's files: use an engine on this machine"},
    {"etwork", "not found", "create the network first: docker network create NAME"},
    {"o such image", "", "check the image's name, or pull it first"},
    {"did not resolve to an alias", "", "give the image's full name, registry included (docker.io/library/NAME)"},
    {"short-name", "", "give the image's full name, registry included (docker.io/library/NAME)"},
    {"image not known", "", "check the image's name, or pull it first"},
    {"unable to find user", "", "choose a user that the image knows, or a numeric uid:gid"},
    {"no matching entries in passwd file", "", "choose a user that the image knows, or a numeric uid:gid"},
    {"cgroup", "", "the engine cannot use control groups here: check its cgroup driver (podman: --cgroup-manager)"},
    {"ulimit", "", "give the engine other limits in the profile's run_args (--ulimit nofile=…)"},
    {"rlimit", "", "give the engine other limits in the profile's run_args (--ulimit nofile=…)"},
    {"crun", "", "give podman another runtime in the profile's engine_args (--runtime runc)"},
    {"newuidmap", "", "rootless containers need uidmap and lines in /etc/subuid and /etc/subgid for this user"},
    {"subuid", "", "rootless containers need lines in /etc/subuid and /etc/subgid for this user"},
    {"nknown flag", "", "this version of the engine is too old, or a profile's engine_args or run_args are wrong"},
    {"nknown shorthand flag", "", "a profile's engine_args or run_args are wrong"},
});

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

error explain_engine(backend_kind kind, std::string_view said) {
  return explain(kind, said, docker_failures, "see what the engine says, and try the same by hand");
}

bool says_no_such_image(std::string_view said) {
  return says(said, "o such image") || says(said, "image not known") || says(said, "No such object");
}

bool says_no_such_container(std::string_view said) {
  return says(said, "o such container") || says(said, "no container with name or ID");
}

}  // namespace sbx::sandbox
