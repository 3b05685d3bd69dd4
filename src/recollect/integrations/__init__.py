"""Frameworks' own interfaces over a memory, each an extra, each a package or module of its own.

Responsible for translating: a framework's calls to a memory's, and answers back. Leaves every rule
to the memory. Invariant: what a framework writes has at most an agent's trust.
"""
