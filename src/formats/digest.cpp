// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace longship::formats {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  start();
}

void Sha256::start() {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw Error("OpenSSL offers no SHA-256");
}

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
    throw Error("OpenSSL's SHA-256 failed");
}

std::string Sha256::digest() {
  std::array<unsigned char, 32> result{};
  if (EVP_DigestFinal_ex(context_.get(), result.data(), nullptr) != 1)
    throw Error("OpenSSL's SHA-256 failed");
  start();
  std::string text("sha256:");
  for (const auto byte : result) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string digest_of(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes);
  return sha.digest();
}

std::string digest_of_rest(int fd) {
  Sha256 sha;
  std::vector<char> buffer(std::size_t{1} << 18);
  for (;;) {
    const auto count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error::from_errno(errno, "cannot read");
    if (count == 0) return sha.digest();
    sha.update({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::string digest_of_file(const std::filesystem::path& path) {
  const auto fd = open_file(path, O_RDONLY);
  return within(path.string(), [&] { return digest_of_rest(fd.get()); });
}

}  // namespace longship::formats
