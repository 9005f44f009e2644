"""A study served to browsers and instruments: one live page, and the same as JSON."""

try:
    import python_multipart  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise ImportError(
        "serving a study needs starlette, uvicorn and python-multipart: pip install "
        "'shortlist[serve]'."
    ) from None
