"""The interfaces for people and programs: translation only.

Responsible for turning requests from outside into calls on ``Memory``, and its answers into
responses. Leaves every decision to the layers below. Invariant: no interface imports another.
"""
