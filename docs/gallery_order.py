"""The order of the gallery: from first steps to special topics."""

ORDER = (
    "plot_idea.py",
    "plot_simulator.py",
    "plot_regression.py",
    "plot_bayes_factors_pymc.py",
    "plot_lotka_volterra.py",
    "plot_thinning.py",
    "plot_selection.py",
    "plot_smoothness.py",
    "plot_design_monte_carlo.py",
    "plot_design_frank_wolfe.py",
    "plot_design_sbq.py",
    "plot_design_blended_pairwise.py",
    "plot_design_obq.py",
    "plot_design_random_pivot.py",
    "hpn_dream_4ebp1.py",
)


class FirstStepsFirst:
    """Sort key of the examples of one directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def __call__(self, name: str) -> int:
        """Return the place of an example; one that is not in the list is an error of this file."""
        return ORDER.index(name)
