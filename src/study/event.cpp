// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"

static_assert(std::endian::native == std::endian::little);

namespace longship::study {
namespace {

// One description of each event serves both directions: `fields(event, codec)` names the members in order.
class Encoder {
 public:
  template <class Number>
  void number(const Number& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(const std::string& value) {
    size(value);
    bytes_ += value;
  }
  template <class List>
  void size(const List& list) {
    number(static_cast<std::uint32_t>(list.size()));
  }
  template <class List, class Each>
  void list(const List& values, Each each) {
    size(values);
    for (const auto& value : values) each(value);
  }
  void texts(const std::map<std::string, std::string>& map) {
    list(map, [this](const auto& pair) {
      text(pair.first);
      text(pair.second);
    });
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// What a byte may be at most, by what it stands for: others would be no value of the type at all.
constexpr unsigned largest(bool) {
  return 1;
}
constexpr unsigned largest(Kind) {
  return static_cast<unsigned>(Kind::category);
}
constexpr unsigned largest(TrialState) {
  return static_cast<unsigned>(TrialState::waiting);
}
constexpr unsigned largest(std::uint8_t) {
  return 255;
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  void number(Number& value) {
    const auto bytes = taken(sizeof(value));
    if constexpr (sizeof(value) == 1)
      if (static_cast<unsigned char>(bytes[0]) > largest(value))
        throw Error("{} where there is nothing above {}", static_cast<unsigned char>(bytes[0]),
                    largest(value));
    std::memcpy(&value, bytes.data(), sizeof(value));
  }
  void text(std::string& value) { value = taken(size()); }
  template <class List, class Each>
  void list(List& values, Each each) {
    const auto count = size();
    if (count > bytes_.size()) throw Error("a list of {} members in {} bytes", count, bytes_.size());
    values.resize(count);
    for (auto& value : values) each(value);
  }
  void texts(std::map<std::string, std::string>& map) {
    for (auto left = size(); left > 0; --left) {
      std::string key;
      text(key);
      text(map[key]);
    }
  }
  void end() const {
    if (!bytes_.empty()) throw Error("{} bytes too many", bytes_.size());
  }

 private:
  std::size_t size() {
    std::uint32_t count = 0;
    number(count);
    return count;
  }
  std::string_view taken(std::size_t count) {
    if (count > bytes_.size()) throw Error("it ends too early");
    const auto front = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return front;
  }

  std::string_view bytes_;
};

template <class Codec, class Numbers>
void numbers(Codec& codec, Numbers& values) {
  codec.list(values, [&](auto& value) { codec.number(value); });
}

template <class Codec, class Value>
void fields_of_assigned(Codec& codec, Value& assigned) {
  codec.number(assigned.parameter);
  codec.number(assigned.value);
}

template <class Codec, class Value>
void fields_of_attribute(Codec& codec, Value& attribute) {
  codec.number(attribute.system);
  codec.text(attribute.key);
  codec.text(attribute.json);
}

template <class Codec, class Value>
void fields_of_domain(Codec& codec, Value& domain) {
  codec.number(domain.kind);
  codec.number(domain.low);
  codec.number(domain.high);
  codec.number(domain.step);
  codec.number(domain.log);
  codec.list(domain.choices, [&](auto& choice) { codec.text(choice); });
}

template <class Wanted, class Given>
constexpr bool is = std::is_same_v<Wanted, std::remove_const_t<Given>>;

template <class Codec, class E>
void fields(Codec& codec, E& event) {
  if constexpr (requires { event.number; }) codec.number(event.number);
  if constexpr (is<Opened, E>) {
    codec.number(event.version);
    codec.text(event.name);
    numbers(codec, event.maximise);
  } else if constexpr (is<ParameterDefined, E>) {
    codec.number(event.id);
    codec.text(event.name);
    fields_of_domain(codec, event.domain);
  } else if constexpr (is<TrialEnqueued, E>) {
    codec.texts(event.wishes);
  } else if constexpr (is<TrialBegun, E>) {
    codec.number(event.time);
    codec.number(event.generation);
    codec.list(event.planned, [&](auto& assigned) { fields_of_assigned(codec, assigned); });
  } else if constexpr (is<Suggested, E>) {
    fields_of_assigned(codec, event.assigned);
  } else if constexpr (is<Reported, E>) {
    codec.number(event.step);
    codec.number(event.value);
  } else if constexpr (is<Noted, E> || is<StudyNoted, E>) {
    fields_of_attribute(codec, event.attribute);
  } else if constexpr (is<Constrained, E>) {
    numbers(codec, event.constraints);
  } else {
    static_assert(is<TrialFinished, E>);
    codec.number(event.state);
    numbers(codec, event.values);
    codec.number(event.time);
  }
}

template <class E>
Event decode_as(Decoder& decoder) {
  E event;
  fields(decoder, event);
  decoder.end();
  return event;
}

template <std::size_t... places>
constexpr auto make_decoders(std::index_sequence<places...>) {
  return std::array{&decode_as<std::variant_alternative_t<places, Event>>...};
}

}  // namespace

std::string encoded(const Event& event) {
  Encoder encoder;
  encoder.number(static_cast<std::uint8_t>(event.index()));
  std::visit([&](const auto& what) { fields(encoder, what); }, event);
  return encoder.take();
}

Event decoded(std::string_view bytes) {
  static constexpr auto decoders = make_decoders(std::make_index_sequence<std::variant_size_v<Event>>());
  Decoder decoder(bytes);
  std::uint8_t kind = 0;
  decoder.number(kind);
  if (kind >= decoders.size())
    throw Error("an event of an unknown kind, {}: it was written by a newer version", kind);
  return decoders[kind](decoder);
}

}  // namespace longship::study
