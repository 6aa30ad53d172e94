"""The web page: static files without a build step, and what a model wrote as safe HTML."""

from ingress.web.pages import routes

__all__ = ["routes"]
