"""The memory over HTTP: many spaces, tokens and callers behind one port.

    routes      the table: method, path, what it takes, gives and needs
    shapes      the requests            calls/    one function for each operation
    problems    errors as RFC 9457      openapi   the table as OpenAPI 3.1
    gate        who may come in         app       one request, from bytes to bytes
    serve       the process

Responsible for the protocol. Leaves what is remembered to ``memory``, and rights to the token that
each request brings. Invariant: the service has no rights of its own; it can only do what the
caller's token allows.
"""
