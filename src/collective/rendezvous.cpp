// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/error.h"
#include "codec.h"
#include "greeting.h"
#include "hex.h"
#include "meeting_file.h"
#include "ranks.h"
#include "socket.h"

namespace longship::collective {
namespace {

constexpr int clock_samples = 8;
constexpr auto file_pause = std::chrono::milliseconds(20);
constexpr auto address_patience = std::chrono::seconds(3);
constexpr auto greeting_patience = std::chrono::seconds(10);

// Where a rank is to be found.
struct Place {
  std::int32_t rank = 0, size = 0;
  std::string node;
  std::string address;  // empty for rank 0: where the others have reached it already
  std::int32_t port = 0;
  std::string meeting_point;  // an abstract socket, for the ranks of its node
  std::int32_t sockets = 1;   // between two ranks: what rank 0 says counts
  std::int32_t socket = 0;    // of those, which is this
};

void put(Encoder& out, const Place& place) {
  out.put(place.rank);
  out.put(place.size);
  out.put(place.node);
  out.put(place.address);
  out.put(place.port);
  out.put(place.meeting_point);
  out.put(place.sockets);
  out.put(place.socket);
}

Place get_place(Decoder& in) {
  Place place;
  place.rank = in.get<std::int32_t>();
  place.size = in.get<std::int32_t>();
  place.node = in.text();
  place.address = in.text();
  place.port = in.get<std::int32_t>();
  place.meeting_point = in.text();
  place.sockets = in.get<std::int32_t>();
  place.socket = in.get<std::int32_t>();
  return place;
}

Bytes encoded_place(const Place& place) {
  Encoder out;
  put(out, place);
  return out.take();
}

// Either all places, or why there is no meeting.
Bytes encoded_table(const std::vector<Place>& places, std::string_view error) {
  Encoder out;
  out.put(error);
  for (const auto& place : places) put(out, place);
  return out.take();
}

std::vector<Place> decoded_table(const Bytes& bytes, int size) {
  Decoder in(bytes);
  if (const std::string error = in.text(); !error.empty()) throw Error("{}", error);
  std::vector<Place> places;
  for (int i = 0; i < size; ++i) places.push_back(get_place(in));
  in.expect_end();
  return places;
}

std::string random_name() {
  return "longship-" + to_hex(random_bytes(16));
}

// What one rank holds while it looks for the others.
class Search {
 public:
  explicit Search(const World& world)
      : world_(world), secret_(world.secret), until_(std::chrono::steady_clock::now() + world.patience) {
    own_.rank = world.rank;
    own_.size = world.size;
    own_.node = world.node;
    own_.meeting_point = random_name();
    own_.sockets = world.sockets;
    node_listener_ = listen_abstract(own_.meeting_point);
  }

  Meeting run() {
    if (world_.rank == 0)
      gather();
    else
      report();
    Meeting meeting;
    meeting.clock_offset = clock_offset_;
    Wiring& wiring = meeting.wiring;
    wiring.rank = world_.rank;
    wiring.size = world_.size;
    for (const auto& place : places_)
      if (place.node == own_.node) wiring.node_ranks.push_back(place.rank);
    meeting.nodes = numbered_nodes();
    const auto own = std::find(wiring.node_ranks.begin(), wiring.node_ranks.end(), world_.rank);
    meeting.local_rank = static_cast<int>(own - wiring.node_ranks.begin());
    meeting.local_size = static_cast<int>(wiring.node_ranks.size());
    if (meeting.local_size > 1) within("shared memory", [&] { join_node(wiring, meeting.local_rank); });
    connect_nodes(wiring);
    return meeting;
  }

 private:
  // ---- Rank 0 ----

  void gather() {
    Fd listener = rendezvous_listener();
    std::optional<MeetingFile> word;  // until all have come
    if (!world_.meeting_file.empty()) word.emplace(world_.meeting_file, meeting_point(listener.get()));
    network_listener_ = listen_tcp(own_address(listener.get()), 0);
    own_.port = port_of(network_listener_.get());
    Porter porter(std::move(listener), secret_);
    std::vector<Fd> guests(static_cast<std::size_t>(world_.size));
    places_.resize(static_cast<std::size_t>(world_.size));
    places_[0] = own_;
    std::string error;
    for (int missing = world_.size - 1; missing > 0 && error.empty(); --missing) {
      auto guest = porter.next(until_);
      error = guest ? seat(std::move(*guest), guests) : absent(guests);
    }
    word.reset();  // before anybody can go on, and come back
    tell_all(guests, error);
    if (!error.empty()) throw Error("{}", error);
    for (std::size_t rank = 1; rank < guests.size(); ++rank)
      within(fmt::format("rank {}", rank), [&] { tell_time(guests[rank].get()); });
  }

  // The inherited one stays open for another meeting, but not for the programs that this one starts.
  Fd rendezvous_listener() const {
    if (!world_.meeting_file.empty()) return listen_tcp(world_.one_node ? "127.0.0.1" : "0.0.0.0", 0);
    if (world_.listener < 0) return listen_tcp(world_.host, world_.port);
    ::fcntl(world_.listener, F_SETFD, FD_CLOEXEC);
    Fd copy(::fcntl(world_.listener, F_DUPFD_CLOEXEC, 0));
    if (!copy) throw Error::from_errno(errno, "LONGSHIP_RENDEZVOUS_FD={}", world_.listener);
    return copy;
  }

  // Where the others find us, with a secret made for this meeting.
  MeetingPoint meeting_point(int listener) {
    secret_ = random_bytes(32);
    const char* const interface = std::getenv("LONGSHIP_INTERFACE");
    auto addresses = world_.one_node ? std::vector<std::string>{"127.0.0.1"}
                                     : addresses_of_this_node(interface == nullptr ? "" : interface);
    return {std::move(addresses), port_of(listener), secret_};
  }

  // An error for all if it cannot be one of this job.
  std::string seat(Guest guest, std::vector<Fd>& guests) {
    Decoder in(guest.words);
    const Place place = get_place(in);
    std::string error;
    if (place.size != world_.size)
      error = fmt::format("rank {} was started as one of {}, rank 0 as one of {}", place.rank, place.size,
                          world_.size);
    else if (place.rank <= 0 || place.rank >= world_.size || guests[static_cast<std::size_t>(place.rank)])
      error = fmt::format("two processes say that they are rank {}", place.rank);
    if (!error.empty()) {
      guests.push_back(std::move(guest.socket));  // to be told as well
      return error;
    }
    places_[static_cast<std::size_t>(place.rank)] = place;
    guests[static_cast<std::size_t>(place.rank)] = std::move(guest.socket);
    return {};
  }

  std::string absent(const std::vector<Fd>& guests) const {
    std::vector<int> missing;
    for (int rank = 1; rank < world_.size; ++rank)
      if (!guests[static_cast<std::size_t>(rank)]) missing.push_back(rank);
    return fmt::format("{} {} of {} did not arrive within {} s", missing.size() == 1 ? "rank" : "ranks",
                       listed(missing), world_.size, world_.patience.count());
  }

  // Who is gone already need not hear of an error; but without one, nobody can go on.
  void tell_all(const std::vector<Fd>& guests, const std::string& error) const {
    const Bytes table = encoded_table(places_, error);
    for (std::size_t rank = 1; rank < guests.size(); ++rank) {
      if (!guests[rank]) continue;
      try {
        within(fmt::format("rank {}", rank), [&] { send_message(guests[rank].get(), table, later()); });
      } catch (const Error&) {
        if (error.empty()) throw;
      }
    }
  }

  void tell_time(int guest) const {
    for (int i = 0; i < clock_samples; ++i) {
      static_cast<void>(receive_message(guest, later()));
      Encoder out;
      out.put(nanoseconds_now());
      send_message(guest, out.take(), later());
    }
  }

  // ---- The others ----

  void report() {
    Fd socket;
    if (world_.meeting_file.empty())
      within("rank 0", [&] { introduce(socket = connect_tcp(world_.host, world_.port, until_), until_); });
    else
      socket = follow_meeting_file();
    // Rank 0 gives up by itself, with a better reason than we have.
    places_ = decoded_table(receive_message(socket.get(), later()), world_.size);
    places_[0].address = their_address(socket.get());
    ask_time(socket.get());
  }

  void introduce(const Fd& socket, Instant until) {
    set_no_delay(socket.get());
    own_.address = own_address(socket.get());
    network_listener_ = listen_tcp(own_.address, 0);
    own_.port = port_of(network_listener_.get());
    greet(socket.get(), secret_, encoded_place(own_), until);
  }

  // Tries what the file says again and again: it may be an earlier job's, or not there yet.
  Fd follow_meeting_file() {
    std::string why = "it is not there";
    for (; std::chrono::steady_clock::now() < until_; std::this_thread::sleep_for(file_pause)) {
      const auto point = read_meeting_file(world_.meeting_file);
      if (!point) continue;
      secret_ = point->secret;
      for (const auto& address : point->addresses) {
        try {
          Fd socket = try_connect_tcp(address, point->port, address_patience);
          introduce(socket, std::chrono::steady_clock::now() + greeting_patience);
          return socket;
        } catch (const Error& error) {
          why = error.what();
        }
      }
    }
    throw Error("rank 0 was not found through {} within {} s: {}", world_.meeting_file.string(),
                world_.patience.count(), why);
  }

  // The sample with the shortest way there and back is the least wrong.
  void ask_time(int socket) {
    std::int64_t shortest = INT64_MAX;
    for (int i = 0; i < clock_samples; ++i) {
      const std::int64_t asked = nanoseconds_now();
      send_message(socket, {}, later());
      const Bytes answer = receive_message(socket, later());
      const std::int64_t answered = nanoseconds_now();
      const auto theirs = Decoder(answer).get<std::int64_t>();
      if (answered - asked >= shortest) continue;
      shortest = answered - asked;
      clock_offset_ = Duration(theirs - (asked + (answered - asked) / 2));
    }
  }

  // ---- Within the node, between the nodes ----

  [[nodiscard]] std::vector<int> numbered_nodes() const {
    std::map<std::string, int> numbers;
    std::vector<int> nodes;
    for (const auto& place : places_)
      nodes.push_back(numbers.try_emplace(place.node, static_cast<int>(numbers.size())).first->second);
    return nodes;
  }

  void join_node(Wiring& wiring, int local_rank) {
    const std::size_t count = wiring.node_ranks.size();
    wiring.links.resize(count);
    Segment::Descriptors descriptors;
    if (local_rank == 0) {
      descriptors = Segment::create(static_cast<int>(count));
      hand_out(wiring, descriptors);
    } else {
      const Place& lowest = places_[static_cast<std::size_t>(wiring.node_ranks.front())];
      Fd link = connect_abstract(lowest.meeting_point);
      if (!same_user(link.get())) throw Error("rank {} belongs to another user", lowest.rank);
      greet(link.get(), secret_, encoded_place(own_), later());
      descriptors =
          Segment::Descriptors::from(receive_descriptors(link.get(), Segment::Descriptors::count(count)));
      wiring.links.front() = std::move(link);
    }
    wiring.segment = std::make_unique<Segment>(std::move(descriptors), local_rank);
  }

  void hand_out(Wiring& wiring, const Segment::Descriptors& descriptors) {
    const std::vector<int> numbers = descriptors.numbers();
    Porter porter(std::move(node_listener_), secret_);
    for (std::size_t missing = wiring.links.size() - 1; missing > 0;) {
      auto guest = next_guest(porter);
      const auto position = std::find(wiring.node_ranks.begin(), wiring.node_ranks.end(), guest.first.rank);
      if (position == wiring.node_ranks.end() || !same_user(guest.second.get())) continue;
      send_descriptors(guest.second.get(), numbers);
      wiring.links[static_cast<std::size_t>(position - wiring.node_ranks.begin())] = std::move(guest.second);
      --missing;
    }
  }

  // Each connects to the lower ranks first and then waits for the higher ones, so nobody waits in a circle.
  void connect_nodes(Wiring& wiring) {
    wiring.sockets.resize(static_cast<std::size_t>(world_.size));
    const std::int32_t sockets = places_.front().sockets;
    const auto elsewhere = [&](const Place& place) { return place.node != own_.node; };
    for (const auto& place : places_) {
      if (!elsewhere(place)) continue;
      auto& to_it = wiring.sockets[static_cast<std::size_t>(place.rank)];
      to_it.resize(static_cast<std::size_t>(sockets));
      if (place.rank > world_.rank) continue;
      for (own_.socket = 0; own_.socket < sockets; ++own_.socket)
        within(fmt::format("rank {} on {}", place.rank, place.node),
               [&] { to_it[static_cast<std::size_t>(own_.socket)] = connect_to(place); });
    }
    auto missing = sockets * std::count_if(places_.begin(), places_.end(), [&](const Place& place) {
                     return place.rank > world_.rank && elsewhere(place);
                   });
    Porter porter(std::move(network_listener_), secret_);
    for (; missing > 0; --missing) {
      auto [place, socket] = next_guest(porter);
      if (place.socket < 0 || place.socket >= sockets)
        throw Error("rank {} speaks of a socket {}, of {}", place.rank, place.socket, sockets);
      prepare(socket);
      wiring.sockets[static_cast<std::size_t>(place.rank)].at(static_cast<std::size_t>(place.socket)) =
          std::move(socket);
    }
  }

  Fd connect_to(const Place& place) const {
    Fd socket = connect_tcp(place.address, place.port, later());
    prepare(socket);
    greet(socket.get(), secret_, encoded_place(own_), later());
    return socket;
  }

  void prepare(const Fd& socket) const {
    set_no_delay(socket.get());
    set_link_timeout(socket.get(), world_.link_timeout);
  }

  std::pair<Place, Fd> next_guest(Porter& porter) const {
    auto guest = porter.next(later());
    if (!guest) throw Error("not all ranks connected within {} s", world_.patience.count());
    Decoder in(guest->words);
    const Place place = get_place(in);
    if (place.rank < 0 || place.rank >= world_.size) throw Error("there is no rank {}", place.rank);
    return {place, std::move(guest->socket)};
  }

  // For what follows an answer: the others have as much time again.
  [[nodiscard]] Instant later() const { return until_ + world_.patience; }

  static std::int64_t nanoseconds_now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  const World& world_;
  Bytes secret_;
  Instant until_;
  Place own_;
  Fd node_listener_, network_listener_;
  std::vector<Place> places_;
  Duration clock_offset_{0};
};

}  // namespace

Meeting meet(const World& world) {
  if (world.size == 1) {
    Meeting alone;
    alone.wiring.node_ranks = {0};
    return alone;
  }
  return within("cannot join the other ranks", [&] { return Search(world).run(); });
}

}  // namespace longship::collective
