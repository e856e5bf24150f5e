"""The domain of SessionGraph: session logs, their surface, and what can be asked of them.

This package knows no GraphQL, no SQL, no sockets and no files. Providers implement the protocols in
:mod:`sessiongraph.ports`; authors of plugins import from here.
"""
