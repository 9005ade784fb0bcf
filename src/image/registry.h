// SPDX-License-Identifier: Apache-2.0
// A registry's side of the OCI distribution protocol (Docker's v2 is the same), for one repository.
//
// Who we are is asked for and proven as the registry wants it: by password, or by a token that a third party
// gives for it. Credentials and tokens go to the host they are for and nowhere else: a redirect to another
// host, as to a store of blobs, is followed without them. What arrives is compared with its digest; a
// connection that breaks is taken up again where it broke.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "blob_file.h"
#include "credentials.h"
#include "reference.h"

namespace longship::image {

struct RegistryOptions {
  std::optional<Credentials> credentials;
  bool plain_http = false;  // loopback may always be
  std::string ca_file;      // PEM; empty: the system's
  bool patient = true;      // false: what does not answer is given up at once, as there is another to ask
};

struct Manifest {
  std::string bytes;
  std::string type;  // its media type
  std::string digest;
};

using BytesMoved = std::function<void(std::size_t)>;

class Registry {
 public:
  enum class Access { pull, push };
  Registry(const Reference& reference, Access access, RegistryOptions options);
  Registry(Registry&&) noexcept;
  ~Registry();

  // By tag or digest; a digest is checked.
  [[nodiscard]] Manifest manifest(const std::string& object);
  void put_manifest(const std::string& object, const Manifest& manifest);

  // What is missing of it. After an Error it has what came, if that may be of use; a wrong content is gone.
  void fetch(BlobFile& blob, const BytesMoved& moved);
  [[nodiscard]] bool has(const std::string& digest);
  void upload(const std::string& digest, std::uint64_t size, int fd, const BytesMoved& moved);

  void check_access();  // an Error if the registry does not let us in

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// What a registry asks for in WWW-Authenticate.
struct Challenge {
  std::string scheme;  // "bearer", "basic"; in small letters
  std::string realm, service, scope;
};
[[nodiscard]] std::optional<Challenge> parse_challenge(std::string_view header);

}  // namespace longship::image
