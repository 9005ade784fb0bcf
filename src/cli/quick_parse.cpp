// SPDX-License-Identifier: Apache-2.0
#include "quick_parse.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "base/text.h"

namespace longship::cli {
namespace {

bool has_rules(const Rules& rules) {
  return rules.required || rules.range || !rules.choices.empty() || !rules.excludes.empty() ||
         !rules.needs.empty() || rules.separator != 0;
}

const Option* find_option(const Command& command, std::string_view name) {
  for (const auto& option : command.options)
    for (const auto known : split(option.names, ','))
      if (known == name) return &option;
  return nullptr;
}

// A value that can mean nothing else: CLI11 has a meaning of its own for some.
bool is_plain(std::string_view value) {
  return !value.empty() && std::string_view("-[{\"'`%").find(value.front()) == std::string_view::npos;
}

class Reader {
 public:
  Reader(const Command& command, const std::vector<std::string>& words)
      : command_(&command), words_(words), at_(words.begin()) {}

  std::optional<Meaning> read() {
    for (; at_ != words_.end(); ++at_) {
      if (command_->action_on_rest && (*at_ == "--" || !at_->starts_with('-'))) break;
      if (!(at_->starts_with('-') ? take_option() : take_command())) return {};
    }
    if (!command_->action_on_rest) return {};
    return Meaning{command_, {at_, words_.end()}};
  }

 private:
  bool take_command() {
    const auto below = std::find_if(command_->commands.begin(), command_->commands.end(),
                                    [&](const Command& one) { return one.name == *at_; });
    if (below == command_->commands.end()) return false;
    command_ = &*below;
    return true;
  }

  // "--name value", "--name=value", "-n value", "--flag", "-f".
  bool take_option() {
    const std::string_view word = *at_;
    const auto equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const Option* option = find_option(*command_, word.substr(0, equals));
    if (option == nullptr || has_rules(option->rules)) return false;
    const bool several = std::holds_alternative<Several*>(option->target);
    if (several ? !option->rules.one_each : !seen_.insert(option).second) return false;
    if (!option->takes_value()) return equals == std::string_view::npos && set_flag(*option);
    if (equals != std::string_view::npos) return set_value(*option, word.substr(equals + 1));
    return ++at_ != words_.end() && set_value(*option, *at_);
  }

  static bool set_flag(const Option& option) {
    if (const auto* flag = std::get_if<bool*>(&option.target))
      **flag = true;
    else if (const auto* effect = std::get_if<std::function<void()>>(&option.target))
      (*effect)();
    else
      return false;
    return true;
  }

  static bool set_value(const Option& option, std::string_view value) {
    if (!is_plain(value)) return false;
    if (const auto* text = std::get_if<std::string*>(&option.target))
      **text = value;
    else if (const auto* texts = std::get_if<Several*>(&option.target))
      (*texts)->emplace_back(value);
    else
      return false;
    return true;
  }

  const Command* command_;
  const std::vector<std::string>& words_;
  std::vector<std::string>::const_iterator at_;
  std::set<const Option*> seen_;
};

}  // namespace

std::optional<Meaning> quick_parse(const Command& command, std::vector<std::string> words) {
  return Reader(command, words).read();
}

}  // namespace longship::cli
