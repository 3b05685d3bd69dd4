"""Retraction: something turns out to be wrong, and all that was derived from it is taken back.

Afterwards the memory is as if the closure had never been written (decision 32). Five modules, in
the order in which they work:

    closure     what was derived from the root: what is gone, and what is cut, at which event
    remainder   what the records are without it: their history, by the rules of the fold
    trust       what has less trust then
    rights      who may do that
    plan        the events that lead there; a dry run shows them, the act writes them
"""
