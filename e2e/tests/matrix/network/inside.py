# What the scripts share that run inside: ways to speak, and nothing that raises.
import socket, ssl, struct, sys, time

near, other, near_ip, other_ip, ca, canary, own = sys.argv[1:8]
canary, (own_ip, own_port) = int(canary), (own.rsplit(":", 1)[0], int(own.rsplit(":", 1)[1]))
GET = "GET /t HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"


def tcp(host, port, timeout=5):
    return socket.create_connection((host, port), timeout)


def heard(stream, most=1 << 16):
    """All that is said until the other side has ended or is silent."""
    said = b""
    try:
        while len(said) < most:
            piece = stream.recv(4096)
            if not piece:
                break
            said += piece
    except OSError:
        pass
    return said


def exchange(host, port, text, timeout=5):
    with tcp(host, port, timeout) as stream:
        stream.sendall(text.encode("latin-1") if isinstance(text, str) else text)
        return heard(stream)


def sealed(host, port, name, text=None, pieces=None):
    """Speaks TLS by hand, with any name or none, in pieces of any size."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    taken, given = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(taken, given, server_hostname=name)
    with tcp(host, port) as stream:

        def flush():
            out = given.read()
            size = pieces or len(out) or 1
            for start in range(0, len(out), size):
                stream.sendall(out[start : start + size])

        def until_done(act):
            while True:
                try:
                    return act()
                except ssl.SSLWantReadError:
                    flush()
                    piece = stream.recv(16384)
                    if not piece:
                        raise ConnectionResetError("ended")
                    taken.write(piece)

        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        until_done(session.do_handshake)
        session.write((text or GET % (name or host)).encode())
        flush()
        return until_done(lambda: session.read(65536))


def hello(name):
    """A ClientHello alone, as one record."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    given = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), given, server_hostname=name)
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return given.read()


def question(labels, kind=1, flags=0x0100):
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return struct.pack(">HHHHHH", 4711, flags, 1, 0, 0, 0) + name + struct.pack(">HH", kind, 1)


def answer(packet):
    """The code of an answer, and the addresses in it."""
    if len(packet) < 12:
        return "nothing", []
    _, flags, questions, answers, _, _ = struct.unpack(">HHHHHH", packet[:12])
    at = 12
    for _ in range(questions):
        while packet[at]:
            at += packet[at] + 1
        at += 5
    found = []
    for _ in range(answers):
        if packet[at] & 0xC0:
            at += 2
        else:
            while packet[at]:
                at += packet[at] + 1
            at += 1
        kind, _, _, length = struct.unpack(">HHIH", packet[at : at + 10])
        at += 10
        found.append(socket.inet_ntoa(packet[at : at + 4]) if kind == 1 else "kind %d" % kind)
        at += length
    return flags & 15, found


def asked(packet, server="127.0.0.1", timeout=2):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(timeout)
        try:
            one.sendto(packet, (server, 53))
            return answer(one.recv(4096))
        except OSError as error:
            return type(error).__name__, []


def labels(name):
    return [label.encode() for label in name.split(".")]


def tried(what, act):
    """Does something that may well fail, and says what came of it."""
    try:
        print(what, "->", act(), flush=True)
    except Exception as error:
        print(what, "-> failed:", type(error).__name__, flush=True)
