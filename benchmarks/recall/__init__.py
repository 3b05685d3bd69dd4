"""How well recall finds what was asked for, on public question sets.

Responsible for figures that compare with published ones, without looking at what they are judged
by: questions of the test part keep their gold to themselves.
"""
