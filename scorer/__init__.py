"""Read what Nodes say, for the scheduler and for people.

Imports ``labeler`` for the words and the rules they mean; never ``agent``: the
two sides share the Node, not code.
"""
