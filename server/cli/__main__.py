"""``python -m server.cli`` is ``sessiongraph``."""

from server.cli import main

main()
