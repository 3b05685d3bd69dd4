"""Recollect inside other people's frameworks, each module an extra of its own.

Responsible for translation only. Leaves rules to the memory itself. Invariant: importing this
package loads no framework, and what a framework's model writes has the trust of an agent at most.
"""
