"""The proxy itself: it passes on, delays, cuts and counts."""

import socket
import threading
import time

import pytest

from tests.node.waiting import wait_until
from tests.proxy.tcp import Proxy


@pytest.fixture
def echo():
    """The port of a server that sends back whatever it gets."""
    listener = socket.create_server(("127.0.0.1", 0))
    served = []

    def serve(connection):
        with connection:
            try:
                while data := connection.recv(1 << 16):
                    connection.sendall(data)
            except OSError:
                return

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            served.append(threading.Thread(target=serve, args=(connection,)))
            served[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    acceptor.join()
    listener.close()
    for thread in served:
        thread.join()


def connect(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def receive(client, size):
    data = b""
    while len(data) < size:
        data += client.recv(1 << 16)
    return data


def test_data_goes_through_both_ways_and_is_counted(echo):
    with Proxy(echo) as proxy, connect(proxy) as client:
        client.sendall(b"x" * 100_000)
        assert receive(client, 100_000) == b"x" * 100_000
        assert (proxy.connections, proxy.bytes_to_server, proxy.bytes_to_client) == (1, 100_000, 100_000)


def test_a_round_trip_takes_twice_the_delay(echo):
    with Proxy(echo, delay_s=0.05) as proxy, connect(proxy) as client:
        began = time.monotonic()
        client.sendall(b"ping")
        assert receive(client, 4) == b"ping"
        assert time.monotonic() - began >= 0.1


def test_a_cut_resets_the_connection_and_later_ones_are_served(echo):
    with Proxy(echo) as proxy:
        with connect(proxy) as client:
            client.sendall(b"ping")
            receive(client, 4)
            proxy.cut()
            with pytest.raises(ConnectionError, match="reset"):
                receive_until_reset(client)
        with connect(proxy) as client:
            client.sendall(b"pong")
            assert receive(client, 4) == b"pong"


def receive_until_reset(client):
    while True:
        if not client.recv(1):
            raise ConnectionError("reset: closed by the proxy")


def test_a_cut_after_so_many_bytes_lets_no_more_through(echo):
    with Proxy(echo) as proxy, connect(proxy) as client:
        proxy.cut_after(10)
        client.sendall(b"x" * 10)
        with pytest.raises(ConnectionError, match="reset"):
            receive_until_reset(client)
        assert proxy.bytes_to_client == 10


def test_a_refusing_proxy_closes_new_connections(echo):
    with Proxy(echo) as proxy:
        proxy.refuse()
        with connect(proxy) as client:
            assert client.recv(1) == b""


def test_a_cut_can_come_in_the_middle_of_what_the_client_sends(echo):
    with Proxy(echo) as proxy, connect(proxy) as client:
        proxy.cut_after(4, "server")
        client.sendall(b"x" * 10)
        with pytest.raises(ConnectionError, match="reset"):
            receive_until_reset(client)
        assert proxy.bytes_to_client <= 4
        assert proxy.cuts == 1


def test_a_cut_of_a_connection_that_has_ended_does_not_count(echo):
    with Proxy(echo) as proxy:
        with connect(proxy) as client:
            client.sendall(b"ping")
            receive(client, 4)
        wait_until(lambda: not proxy.open)
        proxy.cut()
        assert proxy.cuts == 0
