#include "convseq/study/run/worker_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "convseq/base/file/system_error.h"

namespace convseq {
namespace {

constexpr std::string_view kEnd = "end";  // other messages are ids of cells
constexpr size_t kLongest = 256;

// Room for one descriptor that travels with a message.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))];
};

// What cannot be sent is left out: the pool has ended, and nobody counts deaths.
void send(int socket, std::string_view text, int descriptor = -1) {
  iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (descriptor >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

struct Received {
  std::string text;
  int descriptor = -1;  // -1: none
};

std::optional<Received> receive_one(int socket) {
  char text[kLongest];
  iovec part{.iov_base = text, .iov_len = sizeof text};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;  // nothing yet, or the worker has ended
  Received received{.text = std::string(text, static_cast<size_t>(size))};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&received.descriptor, CMSG_DATA(header), sizeof received.descriptor);
  }
  return received;
}

}  // namespace

// A worker that a user starts has a terminal, a file or a pipe there, or a socket of another type.
PoolLink PoolLink::inherited() {
  int type = -1;
  socklen_t size = sizeof type;
  const bool is_socket = ::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  return is_socket && type == SOCK_SEQPACKET ? PoolLink(STDIN_FILENO) : PoolLink();
}

void PoolLink::begin(const std::string& cell, const CellLock& lock) const {
  if (connected()) send(descriptor_, cell, lock.descriptor());
}

void PoolLink::end() const {
  if (connected()) send(descriptor_, kEnd);
}

WorkerLink::Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

WorkerLink::WorkerLink() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_to("create", "the socket of a worker");
  }
  ours_ = Descriptor(ends[0]);
  theirs_ = Descriptor(ends[1]);
}

void WorkerLink::become_standard_input() const {
  ::dup2(theirs_.get(), STDIN_FILENO);
  ::fcntl(STDIN_FILENO, F_SETFD, 0);  // dup2() leaves the flag where the socket has that number
}

void WorkerLink::receive() {
  while (auto received = receive_one(ours_.get())) {
    lock_ = Descriptor(received->descriptor);
    const bool begins = received->text != kEnd;
    cell_ = begins ? std::optional(std::move(received->text)) : std::nullopt;
    has_begun_ = has_begun_ || begins;
  }
}

}  // namespace convseq
