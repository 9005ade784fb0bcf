// SPDX-License-Identifier: Apache-2.0
#include "build.h"

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "base_image.h"
#include "copy_layer.h"
#include "dockerfile.h"
#include "formats/digest.h"
#include "formats/ignore.h"
#include "make.h"
#include "run_step.h"

namespace longship::image {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t largest_dockerfile = 1u << 20;
constexpr std::string_view default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string absolute_in(const std::string& base, const std::string& path) {
  const fs::path joined = fs::path(base.empty() ? "/" : base) / path;  // an absolute path stays itself
  const std::string text = joined.lexically_normal().string();
  return text.size() > 1 && text.ends_with('/') && !path.ends_with('/') ? text.substr(0, text.size() - 1)
                                                                        : text;
}

class Builder {
 public:
  Builder(store::Store& store, const Build& wish, const fs::path& file)
      : store_(store), wish_(wish), file_(file) {
    if (const fs::path ignore = wish.context / ".dockerignore"; fs::exists(ignore))
      ignore_.add_lines(read_file(ignore, largest_dockerfile));
  }

  store::Image run() {
    const auto instructions = parse_dockerfile(read_file(file_, largest_dockerfile), file_.string());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto& one = instructions[i];
      note("[{}/{}] {} {}", i + 1, instructions.size(), one.word, printable(one.rest));
      if (one.word == "RUN") apply_pending();
      line_ = one.line;
      at(line_, [&] { execute(one); });
    }
    apply_pending();
    image_.name = wish_.name;
    image_.origin = "build " + fs::absolute(file_).lexically_normal().parent_path().filename().string();
    store_.add(image_);
    return image_;
  }

 private:
  void at(int line, const auto& work) { within(fmt::format("{}:{}", file_.string(), line), work); }

  void execute(const Instruction& one) {
    if (one.word == "FROM") return from(one.rest);
    if (one.word == "ARG") return argument(one.rest);
    if (one.word == "RUN") return run_command(one.rest);
    if (one.word == "COPY") return copy(one.rest);
    if (one.word == "WORKDIR") return working_directory(one.rest);
    if (one.word == "CMD") return void(image_.config.command = command_of(one.rest));
    if (one.word == "ENTRYPOINT") return void(image_.config.entrypoint = command_of(one.rest));
    if (one.word == "SHELL") return void(shell_ = exec_form(one.rest));
    if (one.word == "ENV")
      for (auto& [key, value] : assignments(one.rest, variables())) image_.config.environment[key] = value;
    if (one.word == "LABEL")
      for (auto& [key, value] : assignments(one.rest, variables())) image_.config.labels[key] = value;
    if (one.word == "USER") note("USER has no effect: a box runs as whoever starts it");
    if (one.word == "EXPOSE" || one.word == "VOLUME") explain("{} has no effect here", one.word);
  }

  // What the environment says wins over an ARG of the same name, as in Docker.
  [[nodiscard]] Variables variables() const {
    Variables all = arguments_;
    for (const auto& [key, value] : image_.config.environment) all[key] = value;
    return all;
  }

  void from(const std::string& rest) {
    const auto words = words_of(rest, arguments_);
    if (words.size() != 1)
      throw Error(Failure::usage, "FROM takes one image; builds of several stages are not supported");
    if (words.front() == "scratch") {
      parent_ = "scratch";
      return;
    }
    image_ = find_base(store_, words.front());
    has_root_ = true;
    parent_ = image_.root;
  }

  void argument(const std::string& rest) {
    const auto equals = rest.find('=');
    const std::string name = std::string(trim(rest.substr(0, equals)));
    const auto given = wish_.arguments.find(name);
    if (given != wish_.arguments.end()) {
      arguments_[name] = given->second;
    } else if (equals != std::string::npos) {
      arguments_[name] = assignments(rest, variables()).front().second;
    }
  }

  void working_directory(const std::string& rest) {
    image_.config.working_directory = absolute_in(image_.config.working_directory, expand(rest, variables()));
    pend("WORKDIR " + image_.config.working_directory,
         empty_directory_layer(image_.config.working_directory));
  }

  [[nodiscard]] std::vector<std::string> command_of(const std::string& rest) const {
    if (is_exec_form(rest)) return exec_form(rest);
    std::vector<std::string> words = shell_;
    words.push_back(rest);
    return words;
  }

  void copy(const std::string& rest) {
    auto words = is_exec_form(rest) ? exec_form(rest) : words_of(rest, variables());
    while (!words.empty() && words.front().starts_with("--")) {
      const std::string option = words.front();
      words.erase(words.begin());
      if (option.starts_with("--chown=")) {
        note("{} has no effect: in an image everything belongs to root", option);
      } else {
        throw Error(Failure::usage, "COPY {} is not supported", printable(option));
      }
    }
    if (words.size() < 2) throw Error(Failure::usage, "COPY needs a source and a destination");
    Copy wish;
    wish.context = wish_.context;
    wish.destination = absolute_in(image_.config.working_directory, words.back());
    if (words.back() == "." || words.back().ends_with("/.")) wish.destination += "/";
    wish.sources.assign(words.begin(), words.end() - 1);
    wish.ignored = [this](const std::string& path, bool directory) {
      return ignore_.ignores(path, directory);
    };
    pend("COPY " + wish.destination, copy_layer(std::move(wish)));
  }

  void run_command(const std::string& rest) {
    if (rest.starts_with("--"))
      throw Error(Failure::usage, "RUN {} is not supported",
                  printable(std::string_view(rest).substr(0, rest.find_first_of("= \t"))));
    if (!has_root_) throw Error("there is nothing to run in: FROM scratch, and nothing was copied");
    RunStep step;
    step.command = command_of(rest);
    step.environment = variables();
    step.environment.try_emplace("PATH", default_path);
    step.environment.try_emplace("HOME", "/root");
    step.working_directory = image_.config.working_directory;
    std::string inputs = "RUN " + step.working_directory;
    for (const auto& word : step.command) inputs += '\0' + word;
    for (const auto& [key, value] : step.environment) inputs += '\0' + key + '=' + value;
    const std::string key = key_of(inputs);
    if (use_step(key)) return;
    const store::Aside work = store_.aside();
    step.root = store_.root_of(image_);
    step.upper = work.directory() / "upper";
    step.unpacked = store_.location() / "unpacked";
    fs::create_directory(step.upper);
    run_step(step);
    Layers changes;
    changes.push_back(overlay_layer(step.upper));
    keep_step(key, change_image(store_, image_, std::move(changes)));
  }

  void pend(std::string text, std::unique_ptr<Layer> layer) {
    if (pending_.empty()) pending_line_ = line_;
    pending_text_ += text + '\0' + digest_of(*layer) + '\0';
    pending_.push_back(std::move(layer));
  }

  // Copies and directories since the last RUN, as one step.
  void apply_pending() {
    if (pending_.empty()) return;
    const std::string key = key_of(pending_text_);
    Layers layers = std::move(pending_);
    pending_.clear();
    pending_text_.clear();
    if (use_step(key)) return;
    at(pending_line_, [&] {
      keep_step(key, has_root_ ? change_image(store_, image_, std::move(layers))
                               : new_image(store_, image_, std::move(layers)));
    });
  }

  [[nodiscard]] std::string key_of(const std::string& inputs) const {
    return formats::digest_of("step 1\n" + parent_ + "\n" + inputs);
  }

  bool use_step(const std::string& key) {
    const auto found = store_.find_step(key);
    if (!found) return false;
    explain("this step was done before");
    adopt(*found, key);
    return true;
  }

  void keep_step(const std::string& key, Written written) {
    written.image.name = wish_.name;
    adopt(store_.add_step(key, std::move(written.image), std::move(written.file)), key);
  }

  // The tree is the step's; the configuration is what the instructions so far have said.
  void adopt(const store::Image& step, const std::string& key) {
    const store::Config config = image_.config;
    image_ = step;
    image_.config = config;
    has_root_ = true;
    parent_ = key;
  }

  store::Store& store_;
  const Build& wish_;
  fs::path file_;
  formats::IgnoreList ignore_;
  store::Image image_;
  bool has_root_ = false;
  std::string parent_;  // what the image is so far: a digest, or the key of a step
  Variables arguments_;
  std::vector<std::string> shell_ = {"/bin/sh", "-c"};
  int line_ = 0;
  Layers pending_;
  std::string pending_text_;
  int pending_line_ = 0;  // of the first of them
};

}  // namespace

store::Image build(store::Store& store, const Build& wish) {
  store::validate_name(wish.name);
  if (!fs::is_directory(wish.context))
    throw Error(Failure::usage, "{} is not a directory", wish.context.string());
  const fs::path file = wish.dockerfile.empty() ? wish.context / "Dockerfile" : wish.dockerfile;
  if (!fs::exists(file)) throw Error(Failure::usage, "there is no {}", file.string());
  return Builder(store, wish, file).run();
}

}  // namespace longship::image
