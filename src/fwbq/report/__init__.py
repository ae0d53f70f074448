"""Results as one HTML page that opens from disk and loads nothing."""

from .networks import write_network_report
from .page import write_report

__all__ = ["write_network_report", "write_report"]
