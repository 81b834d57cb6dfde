# SPDX-License-Identifier: MIT
"""The host's end of the virtio-serial port: frames, and what the agent can be asked to do.

A frame is a header of five little-endian numbers (u32 magic "VRDU", u16 type, u16 channel,
u32 length, u32 CRC-32 of the payload) and a payload of up to 64 KiB.  agent.c is the other end.
A thread drains the port all the time, so neither side can block the other.
"""

import os
import queue
import socket
import struct
import threading
import time
import zlib

MAGIC = 0x55445256
HEADER = struct.Struct("<IHHII")
CHUNK = 60 * 1024
OVER = 0.01

HELLO, PUT, DATA, RUN, SIGNAL, KILLALL, SYNC, READ = range(1, 9)
READY, DONE, OUT, EXIT, LOG = range(101, 106)


class LinkLost(Exception):
    """The machine is gone, or what it sends makes no sense any more."""


class LinkTimeout(Exception):
    """No answer within the time allowed."""


class GuestError(Exception):
    """The agent could not do what it was asked."""


class Deadline:
    """A time limit in which the host's own business does not count.

    starved() tells how many seconds the machine has waited for a processor of the host so far;
    what was added since the limit began is granted on top, up to five times the limit.
    """

    def __init__(self, seconds, starved):
        now = time.monotonic()
        self.starved = starved
        self.counted = starved()
        self.end = now + seconds
        self.last = now + 6 * seconds

    def left(self):
        """Seconds left; what is under OVER counts as none."""
        left = self.end - time.monotonic()
        if left <= OVER:
            starved = self.starved()
            # The sum can shrink when a thread ends; a limit never does.
            self.end = min(self.end + max(starved - self.counted, 0), self.last)
            self.counted = starved
            left = self.end - time.monotonic()
        return left


class Exited:
    """How a command ended: code as a shell has it, and its times in seconds of the guest."""

    def __init__(self, payload):
        status, ns, user, system = struct.unpack("<iQQQ", payload)
        self.code = 128 + (status & 0x7f) if status & 0x7f else (status >> 8) & 0xff
        self.signal = status & 0x7f
        self.seconds = ns / 1e9
        self.user = user / 1e6
        self.system = system / 1e6


class Link:
    def __init__(self, sock, starved):
        self.sock = sock
        self.starved = starved
        self.frames = queue.Queue()
        self.log = []           # (level, time in seconds, text) of the kernel log, in order
        self.log_lost = False   # the kernel overwrote records before the agent read them
        self.answered = False   # the agent has spoken at least once
        threading.Thread(target=self._reader, daemon=True).start()

    # -- frames --------------------------------------------------------------

    def _exactly(self, n):
        data = bytearray()
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise LinkLost("the machine closed the port")
            data += part
        return bytes(data)

    def _reader(self):
        try:
            while True:
                magic, kind, chan, length, crc = HEADER.unpack(self._exactly(HEADER.size))
                if magic != MAGIC or length > 65536:
                    raise LinkLost("bad frame from the agent")
                payload = self._exactly(length)
                if zlib.crc32(payload) != crc:
                    raise LinkLost("bad checksum from the agent")
                self.frames.put((kind, chan, payload))
        except (OSError, LinkLost) as e:
            self.frames.put((None, 0, str(e).encode()))

    def _send(self, kind, payload=b"", chan=0):
        head = HEADER.pack(MAGIC, kind, chan, len(payload), zlib.crc32(payload))
        try:
            self.sock.sendall(head + payload)
        except OSError as e:
            raise LinkLost("write to the machine: %s" % e)

    def _receive(self, deadline):
        """The next frame that is not a log record; log records are kept on the way."""
        while True:
            try:
                kind, chan, payload = self.frames.get(timeout=max(deadline.left(), 0.001))
            except queue.Empty:
                if deadline.left() > OVER:
                    continue
                raise LinkTimeout()
            if kind is None:
                self.frames.put((None, 0, payload))     # stays lost for the next caller
                raise LinkLost(payload.decode())
            self.answered = True
            if kind != LOG:
                return kind, chan, payload
            self._record(chan, payload)

    def _record(self, chan, payload):
        if chan:
            self.log_lost = True
        head, _, text = payload.decode("utf-8", "replace").partition(";")
        fields = head.split(",")
        # Lines after the first that begin with a blank are the record's key=value dictionary.
        text = text.split("\n ", 1)[0].rstrip("\n")
        self.log.append((int(fields[0]) & 7, int(fields[2]) / 1e6, text))

    def drain_log(self):
        """Take the log records that stand in the queue of a machine that is gone."""
        try:
            while True:
                kind, chan, payload = self.frames.get_nowait()
                if kind == LOG:
                    self._record(chan, payload)
        except queue.Empty:
            return

    def _done(self, deadline):
        while True:
            kind, _, payload = self._receive(deadline)
            if kind == DONE:
                err, = struct.unpack_from("<i", payload)
                text = payload[4:].decode("utf-8", "replace")
                if err:
                    raise GuestError(text or os.strerror(-err))
                return text

    # -- what the agent does -------------------------------------------------

    def hello(self, timeout):
        """Wait until the agent answers; sets the clock and the random pool.  Kernel release."""
        now = time.time()
        self._send(HELLO, struct.pack("<QI", int(now), int(now % 1 * 1e9)) + os.urandom(32))
        deadline = Deadline(timeout, self.starved)
        while True:
            kind, _, payload = self._receive(deadline)
            if kind == READY:
                return payload.decode()

    def put(self, data, path, mode=0o644, timeout=60):
        self._send(PUT, struct.pack("<IQ", mode, len(data)) + path.encode())
        view = memoryview(data)
        for at in range(0, len(data), CHUNK):
            self._send(DATA, bytes(view[at:at + CHUNK]))
        try:
            self._done(Deadline(timeout, self.starved))
        except GuestError as e:
            raise GuestError("put %s: %s" % (path, e))

    def run(self, argv, timeout, output, env=None, cwd="/t"):
        """Run a command as root; output(channel, bytes) is called as it writes.  Exited."""
        env = env or {}
        strings = [cwd] + list(argv) + ["%s=%s" % kv for kv in sorted(env.items())]
        blob = b"".join(s.encode() + b"\0" for s in strings)
        if len(blob) > 60000:
            raise GuestError("the command line is over 60,000 bytes long")
        self._send(RUN, struct.pack("<II", len(argv), len(env)) + blob)
        deadline = Deadline(timeout, self.starved)
        while True:
            kind, chan, payload = self._receive(deadline)
            if kind == OUT:
                output(chan, payload)
            elif kind == EXIT:
                return Exited(payload)
            elif kind == DONE:
                raise GuestError("run %s: %s" % (argv[0], payload[4:].decode("utf-8", "replace")))

    def capture(self, argv, timeout=30):
        """Run a command; its exit code, stdout and stderr."""
        got = {1: bytearray(), 2: bytearray()}
        env = {"PATH": "/bin", "HOME": "/root"}
        exited = self.run(argv, timeout, lambda chan, data: got[chan].extend(data), env, "/")
        return exited.code, bytes(got[1]), got[2].decode("utf-8", "replace").strip()

    def read(self, path, timeout=30):
        """The text of a file under /proc, None if it cannot be read."""
        self._send(READ, path.encode())
        deadline = Deadline(timeout, self.starved)
        data = bytearray()
        while True:
            kind, _, payload = self._receive(deadline)
            if kind == OUT:
                data += payload
            elif kind == DONE:
                err, = struct.unpack_from("<i", payload)
                return None if err else data.decode("utf-8", "replace")

    def kill_all(self, timeout=30):
        """End what the command left behind.  (processes found, processes that would not die)"""
        self._send(KILLALL)
        found, stuck = self._done(Deadline(timeout, self.starved)).split()
        return int(found), int(stuck)

    def sync_log(self, timeout=30):
        """After this, self.log holds everything the kernel has said so far."""
        self._send(SYNC)
        self._done(Deadline(timeout, self.starved))

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()
