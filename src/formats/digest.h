// SPDX-License-Identifier: Apache-2.0
// What bytes are called by their content: "sha256:" and 64 hexadecimal digits, as in OCI images.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace longship::formats {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  [[nodiscard]] std::string digest();  // "sha256:…"; starts anew

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void start();
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

[[nodiscard]] std::string digest_of(std::string_view bytes);
[[nodiscard]] std::string digest_of_file(const std::filesystem::path& path);
[[nodiscard]] std::string digest_of_rest(int fd);  // from where it stands to its end

[[nodiscard]] bool is_digest(std::string_view text);
// The 64 digits; an Error if it is no digest.
[[nodiscard]] std::string_view hex_of(std::string_view digest);

}  // namespace longship::formats
