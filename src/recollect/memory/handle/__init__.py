"""What every call of a memory shares.

Responsible for the space, the actor and the position of a call, for checking arguments and for
answers. Leaves the calls to the modules beside it. Invariant: nothing here knows a call.
"""
