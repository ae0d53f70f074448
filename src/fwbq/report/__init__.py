"""The comparison of models as one HTML page that opens from disk, without a network."""

from .page import write_report

__all__ = ["write_report"]
