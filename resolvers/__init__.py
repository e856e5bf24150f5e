"""What each GraphQL field does: from domain services to domain objects, without any GraphQL.

A resolver is a function. The object whose field is asked for comes as ``root``, everything else it
needs comes as the :class:`~resolvers.context.RequestContext` of the operation and as plain values
of the domain. It returns domain objects or raises a
:class:`~sessiongraph.errors.SessionGraphError`; :mod:`schema` says how both look to a client.
"""
