// SPDX-License-Identifier: Apache-2.0
// Tar archives made by hand, also such as no honest program writes.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace longship::image {

struct TarEntry {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  std::string size_field = {};                     // instead of the content's size
  std::map<std::size_t, std::string> fields = {};  // written over the header, by where they begin
};

class TarBuilder {
 public:
  TarBuilder& add(const TarEntry& entry) {
    std::string header(512, '\0');
    put(header, 0, entry.name, 100);
    number(header, 100, 8, entry.mode);
    number(header, 108, 8, 0);
    number(header, 116, 8, 0);
    number(header, 124, 12, entry.content.size());
    if (!entry.size_field.empty()) put(header, 124, entry.size_field, 12);
    number(header, 136, 12, 1000);
    header[156] = entry.type;
    put(header, 157, entry.link, 100);
    put(header, 257, std::string("ustar\00000", 8), 8);
    for (const auto& [at, text] : entry.fields) put(header, at, text, text.size());
    seal(header);
    bytes_ += header + entry.content + std::string((512 - entry.content.size() % 512) % 512, '\0');
    return *this;
  }
  TarBuilder& file(const std::string& name, const std::string& content, unsigned mode = 0644) {
    return add({.name = name, .content = content, .mode = mode});
  }
  TarBuilder& directory(const std::string& name, unsigned mode = 0755) {
    return add({.name = name, .type = '5', .mode = mode});
  }
  TarBuilder& symlink(const std::string& name, const std::string& to) {
    return add({.name = name, .type = '2', .link = to});
  }
  TarBuilder& link(const std::string& name, const std::string& to) {
    return add({.name = name, .type = '1', .link = to});
  }
  TarBuilder& pax(const std::map<std::string, std::string>& records) {
    std::string text;
    for (const auto& [key, value] : records) text += record(key, value);
    return add({.name = "pax", .type = 'x', .content = text});
  }
  // Behind a header, without one of their own.
  TarBuilder& blocks(const std::string& bytes) {
    bytes_ += bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
    return *this;
  }
  static std::string record(const std::string& key, const std::string& value) {
    std::size_t length = key.size() + value.size() + 3;
    std::size_t total = length + std::to_string(length).size();
    total = length + std::to_string(total).size();
    return std::to_string(total) + " " + key + "=" + value + "\n";
  }
  [[nodiscard]] std::string unfinished() const { return bytes_; }
  [[nodiscard]] std::string done() const { return bytes_ + std::string(1024, '\0'); }

 private:
  static void put(std::string& header, std::size_t at, const std::string& text, std::size_t room) {
    std::memcpy(header.data() + at, text.data(), std::min(text.size(), room));
  }
  static void number(std::string& header, std::size_t at, int room, std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", room - 1, static_cast<unsigned long long>(value));
    put(header, at, text, static_cast<std::size_t>(room) - 1);
  }
  static void seal(std::string& header) {
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    put(header, 148, std::string(text, 7), 7);
  }
  std::string bytes_;
};

}  // namespace longship::image
