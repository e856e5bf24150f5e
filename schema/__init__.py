"""The GraphQL contract: types, inputs and scalars over the objects of the domain.

No output type here is ever instantiated. Resolvers return domain objects, and a type says how one
looks to a client: a field without a resolver is an attribute of the domain object, every other
field names the function in :mod:`resolvers` that answers it. :func:`schema.served.build_schema`
puts it all together; ``schema.graphql`` is the exported contract.
"""
