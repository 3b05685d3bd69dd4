"""How an assistant gets a token without a pasted secret: OAuth 2.1 as MCP uses it.

Responsible for the rules: who asks (``clients``, ``documents``), what for (``access_request``), and
the codes that a person's approval is exchanged for (``desk``). Leaves HTTP to ``interfaces.http``
and the page on which a person decides to ``interfaces.web``. Invariant: nothing is given without a
person who holds it and approved it on that page.
"""
