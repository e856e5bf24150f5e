"""Values folded from a log, kept true as it grows and pushed when they change.

What an author of projections needs is :class:`Projection`; everything else is for the server.
"""

from sessiongraph.projections.unit import Projection

__all__ = ["Projection"]
