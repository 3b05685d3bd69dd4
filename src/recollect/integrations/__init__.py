"""Adapters for other frameworks, each in its own module and installed as an extra.

Responsible for translating a framework's calls to a memory's, and answers back. Leaves every rule
to the memory. Invariant: what a framework writes has at most an agent's trust.
"""
