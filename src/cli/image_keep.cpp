// SPDX-License-Identifier: Apache-2.0
// longship image export, gc, verify: images leave, and the store is kept in order.
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/units.h"
#include "image/export.h"
#include "image_commands.h"
#include "store/store.h"
#include "terminal.h"

namespace longship::cli {
namespace {

void add_export(Command& image) {
  struct Words {
    std::string name, path, format;
  };
  const auto words = std::make_shared<Words>();
  auto& command = image.command("export", "An image as an OCI layout, tar, SquashFS file or directory");
  command.argument("IMAGE", words->name,
                   "Its name, or a path (with a / or . at its start) to anything that import understands");
  command.argument("PATH", words->path, "Where to; it must not exist yet");
  command.option("--format", words->format,
                 "oci, oci-archive, tar, squashfs or directory; else what the path's ending says, or oci");
  command.footer = examples(
      "  longship image export debian-torch ./layout\n"
      "  longship image export debian-torch torch.sqfs\n"
      "  longship image export debian-torch root --format directory\n"
      "  longship image export ./layout root --format directory\n");
  command.action = [words] {
    const auto format = image::format_of(words->format, words->path);
    const auto progress = make_progress();
    if (words->name.starts_with('/') || words->name.starts_with('.')) {
      image::convert(words->name, words->path, format, *progress);
    } else {
      const store::Store store;
      const auto found = store.find(words->name);
      image::export_image(store.root_of(found), found, words->path, format, *progress);
    }
    note("exported {} to {}", words->name, words->path);
  };
}

void add_gc(Command& image, Context& context) {
  const auto all = std::make_shared<bool>(false);
  auto& command = image.command("gc", "Remove what no image needs, and what killed processes left");
  command.flag("--steps", *all, "Also forget the steps of builds: they will be done anew");
  command.footer = examples("  longship image gc\n  longship image gc --steps\n");
  command.action = [all, &context] {
    const auto freed = store::Store().collect_garbage(*all);
    if (context.json) {
      formats::Table table;
      table.set("freed", freed);
      return print_json(std::move(table));
    }
    note("{} became free", formats::human_bytes(freed));
  };
}

void add_verify(Command& image, Context& context) {
  auto& command = image.command("verify", "Read every image's file again and compare it with its digest");
  command.footer = examples("  longship image verify\n");
  command.action = [&context] {
    const auto progress = make_progress();
    progress->begin("verifying", 0, "B");
    std::uint64_t bytes = 0;
    const auto damages = store::Store().verify([&](std::uint64_t size) { progress->update(bytes += size); });
    progress->end();
    if (context.json) {
      formats::Array all;
      for (const auto& damage : damages) {
        formats::Table table;
        formats::Array names;
        for (const auto& name : damage.images) names.emplace_back(name);
        table.set("digest", damage.digest);
        table.set("images", std::move(names));
        table.set("what", damage.what);
        all.emplace_back(std::move(table));
      }
      print_json(std::move(all));
    }
    for (const auto& damage : damages)
      complain(fmt::format("{} (of {}) {}: make the image again, or remove it with \"longship image rm\"",
                           damage.digest, join(damage.images, ", "), damage.what));
    if (!damages.empty())
      context.exit_code = static_cast<int>(Failure::failed);
    else if (!context.json)
      note("all files are as they were: {}", formats::human_bytes(bytes));
  };
}

}  // namespace

void add_image_keep(Command& image, Context& context) {
  add_export(image);
  add_gc(image, context);
  add_verify(image, context);
}

}  // namespace longship::cli
