"""Loopback proxies for tests: connections cut or delayed between a client and a server that know nothing of it."""
