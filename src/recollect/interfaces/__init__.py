"""The ways in for people and programs: translation only.

Responsible for turning what comes in from outside into calls on ``Memory`` and its answers into
what goes out. Leaves every decision to the layers below. Invariant: no interface knows another.
"""
