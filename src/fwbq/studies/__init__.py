"""Studies: the paper's figures and our own measurements, each a function that returns data."""
