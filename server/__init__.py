"""The application: configuration, wiring, the ASGI application and the command line."""
