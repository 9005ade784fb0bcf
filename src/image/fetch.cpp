// SPDX-License-Identifier: Apache-2.0
#include "fetch.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/say.h"

namespace longship::image {
namespace {

constexpr int at_a_time = 4;

bool has_size(const Fd& file, std::uint64_t size) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 && static_cast<std::uint64_t>(info.st_size) == size;
}

class Fetching {
 public:
  Fetching(store::Store& store, const std::vector<Place>& places, std::vector<Wanted> blobs,
           Progress& progress)
      : store_(store), places_(places), progress_(progress), given_up_(places.size()) {
    std::uint64_t total = 0;
    for (auto& blob : blobs) {
      if (Fd kept = store.pulled(blob.digest); kept && has_size(kept, blob.size)) {
        explain("{} was pulled before", blob.digest);
        fetched_.kept_before.push_back(blob.digest);
        fetched_.blobs.emplace(blob.digest, std::move(kept));
      } else {
        total += blob.size;
        missing_.push_back(std::move(blob));
      }
    }
    // The largest first, so that no long one is left for the end.
    std::stable_sort(missing_.begin(), missing_.end(),
                     [](const Wanted& a, const Wanted& b) { return a.size > b.size; });
    progress_.begin("pulling", total, "B");
  }

  Fetched run() {
    std::vector<std::thread> threads;
    const int count = std::min<int>(at_a_time, static_cast<int>(missing_.size()));
    threads.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { work(); });
    for (auto& thread : threads) thread.join();
    if (problem_) std::rethrow_exception(problem_);
    progress_.end();
    return std::move(fetched_);
  }

 private:
  using Connections = std::vector<std::optional<Registry>>;  // one thread's, to each place

  void work() {
    try {
      Connections connections(places_.size());
      for (std::size_t i = next_++; i < missing_.size(); i = next_++) fetch(connections, missing_[i]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
      next_ = missing_.size();
    }
  }

  void fetch(Connections& connections, const Wanted& wanted) {
    store::Aside file = store_.partial(wanted.digest);
    BlobFile blob(file.fd(), wanted.digest, wanted.size);
    if (blob.here() > 0) explain("{}: {} bytes of it came before", wanted.digest, blob.here());
    for (std::size_t place = 0;; ++place) {
      const bool is_last = place + 1 == places_.size();
      if (!is_last && given_up_[place]) continue;
      try {
        fetch_from(connections[place], places_[place], blob);
        break;
      } catch (const Error& error) {
        if (is_last) throw;
        explain("{} does not give {}: {}", places_[place].reference.registry, wanted.digest, error.what());
        given_up_[place] = true;
      }
    }
    Fd kept = store_.keep_pulled(wanted.digest, std::move(file));
    const std::lock_guard lock(mutex_);
    fetched_.blobs.emplace(wanted.digest, std::move(kept));
  }

  void fetch_from(std::optional<Registry>& connection, const Place& place, BlobFile& blob) {
    if (!connection) connection.emplace(place.reference, Registry::Access::pull, place.options);
    std::uint64_t mine = 0;
    const auto tell = [&](std::uint64_t now) {  // less than before, if it had to begin anew
      const std::lock_guard lock(mutex_);
      done_ += now - mine;
      mine = now;
      progress_.update(done_);
    };
    try {
      connection->fetch(blob, [&](std::size_t) { tell(blob.here()); });
    } catch (...) {
      tell(0);
      throw;
    }
  }

  store::Store& store_;
  const std::vector<Place>& places_;
  Progress& progress_;
  std::vector<Wanted> missing_;
  std::vector<std::atomic<bool>> given_up_;  // mirrors that failed once are not asked again
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  Fetched fetched_;
  std::exception_ptr problem_;
};

}  // namespace

Fetched fetch_blobs(store::Store& store, const std::vector<Place>& places, std::vector<Wanted> blobs,
                    Progress& progress) {
  return Fetching(store, places, std::move(blobs), progress).run();
}

}  // namespace longship::image
