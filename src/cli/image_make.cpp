// SPDX-License-Identifier: Apache-2.0
// longship image bootstrap, import, build: the ways to an image.

#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/units.h"
#include "image/bootstrap.h"
#include "image/build.h"
#include "image/import.h"
#include "image_commands.h"
#include "store/store.h"
#include "terminal.h"

namespace longship::cli {
namespace {

void tell(const Context& context, const store::Image& image) {
  if (context.json) return print_json(store::to_json(image));
  note("image {}: {} files, {}", image.name, image.files, formats::human_bytes(image.size));
}

}  // namespace

void add_image_bootstrap(Command& image, Context& context) {
  auto& command = image.command("bootstrap", "A base image from this machine's own package sources");
  const auto wish = std::make_shared<image::Bootstrap>();
  command.argument("SYSTEM", wish->system, "debian:bookworm, debian:trixie, …");
  command.option("-t,--tag", wish->name, "The name of the image", {.required = true});
  command.option("--packages", wish->packages, "Packages beside what every Debian has", {.separator = ','});
  command.option("--mirror", wish->mirror, "Instead of the sources apt is configured with: a URL");
  command.footer = examples(
      "  longship image bootstrap debian:bookworm -t debian\n"
      "  longship image bootstrap debian:trixie -t torch --packages python3-torch,python3-sklearn\n");
  command.action = [&context, wish] {
    store::Store store;
    const auto progress = make_progress();
    tell(context, image::bootstrap(store, *wish, *progress));
  };
}

void add_image_import(Command& image, Context& context) {
  auto& command =
      image.command("import", "An image from an OCI layout, docker archive, tar, directory or SquashFS file");
  const auto path = std::make_shared<std::string>();
  const auto name = std::make_shared<std::string>();
  const auto architecture = std::make_shared<std::string>();
  command.argument("PATH", *path, "The file or directory");
  command.option("-t,--tag", *name, "The name of the image", {.required = true});
  command.option("--arch", *architecture,
                 "Of several images the one for this architecture, not for this machine's: aarch64, ppc64le",
                 {.value = "ARCH"});
  command.footer = examples(
      "  longship image import ubuntu.tar -t ubuntu\n"
      "  longship image import ./oci-layout -t tools:v2\n"
      "  longship image import ./oci-layout -t tools:v2-aarch64 --arch aarch64\n");
  command.action = [&context, path, name, architecture] {
    store::Store store;
    const auto progress = make_progress();
    tell(context, image::import(store, *path, *name, *progress, *architecture));
  };
}

void add_image_build(Command& image, Context& context) {
  auto& command = image.command("build", "Build a Dockerfile, without root and without a daemon");
  const auto wish = std::make_shared<image::Build>();
  const auto arguments = std::make_shared<std::vector<std::string>>();
  command.argument("DIRECTORY", wish->context, "Where COPY takes files from");
  command.option("-t,--tag", wish->name, "The name of the image", {.required = true});
  command.option("-f,--file", wish->dockerfile, "The Dockerfile, if it is not DIRECTORY/Dockerfile");
  command.option("--build-arg", *arguments, "Value of an ARG: NAME=VALUE", {.one_each = true});
  command.footer = examples(
      "  longship image build -t mpi-ring:openmpi -f examples/mpi/image/openmpi/Dockerfile "
      "examples/mpi/image\n"
      "  longship image build -t my-tools -f Dockerfile.gpu --build-arg VERSION=3 .\n");
  command.action = [&context, wish, arguments] {
    for (const auto& word : *arguments) {
      const auto equals = word.find('=');
      if (equals == std::string::npos)
        throw Error(Failure::usage, "--build-arg {}: not NAME=VALUE", printable(word));
      wish->arguments[word.substr(0, equals)] = word.substr(equals + 1);
    }
    store::Store store;
    tell(context, image::build(store, *wish));
  };
}

}  // namespace longship::cli
