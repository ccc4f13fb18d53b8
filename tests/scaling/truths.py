"""True parameters of every law, with points: what the tests iterate. One without a row is tried by its example."""

from dataclasses import dataclass, field

import numpy as np

from scaling.laws import LAWS, Law, find_law

__all__ = ["ALL_LAWS", "TRUTHS", "Truth", "truths_of"]

ALL_LAWS = (*LAWS, "broken_power_2")

FLOPS = np.geomspace(1e18, 1e21, 12)
CORE_DAYS = np.geomspace(0.3, 3e4, 16)  # Zhai 2021: under 1 to over 10,000
SEEN = np.geomspace(5e5, 5.12e8, 14)  # Alabdulmohsin 2022: pairs seen in translation
ACCURACIES = np.linspace(0.1, 0.95, 12)
ERRORS = np.linspace(0.3, 0.95, 12)  # Abnar 2021: upstream errors
N_AND_D = np.stack(np.meshgrid(np.geomspace(5e7, 2e10, 5), np.geomspace(1e9, 5e11, 5)), axis=-1).reshape(-1, 2)


@dataclass(frozen=True)
class Truth:
    """Parameters of a law, points, and where they come from."""

    name: str
    params: tuple[float, ...]
    x: np.ndarray = field(repr=False)
    source: str

    @property
    def law(self) -> Law:
        return find_law(self.name)

    @property
    def theta(self) -> np.ndarray:
        return np.array(self.params)

    @property
    def y(self) -> np.ndarray:
        return self.law.value(self.theta, self.x)

    @property
    def beyond(self) -> np.ndarray:
        """Ten times the largest x; for accuracies, between the last one and 1; for errors a tenth of the least."""
        if self.law.link is not None:
            return np.array([0.98])
        return self.x[:1] / 10 if self.law.increasing else 10 * self.x[-1:]


_ROWS = (
    Truth("power", (15811.388300841898, 0.25), FLOPS, "the reducible part of E = .5 (C/1e18)^-.25 + .1"),
    Truth("power", (0.53, 0.20), CORE_DAYS, "Zhai 2021, Fig 9, CIFAR-100 5-shot, the reducible part"),
    Truth("saturating_power", (15811.388300841898, 0.25, 0.1), FLOPS, "E = .5 (C/1e18)^-.25 + .1"),
    Truth("saturating_power", (0.26, 0.35, 0.09), CORE_DAYS, "Zhai 2021, Fig 2 left, without its d = .01"),
    Truth("shifted_power", (0.63, 0.32, 0.52), CORE_DAYS, "Zhai 2021, Fig 9, ImageNet 10-shot, the reducible part"),
    Truth("reciprocal_shift_power", (14.0, 0.2105, 1.064e-8), SEEN, "fit to Alabdulmohsin 2022, 28 Enc 6 Dec"),
    Truth("reciprocal_shift_power", (63.5, 0.3272, 1.557e-7), SEEN, "fit to Alabdulmohsin 2022, decoder-only"),
    Truth("double_saturating_power", (0.63, 0.32, 0.12, 0.52), CORE_DAYS, "Zhai 2021, Fig 9, ImageNet 10-shot"),
    Truth("double_saturating_power", (0.72, 0.72, 0.04, 0.97), CORE_DAYS, "Zhai 2021, Fig 9, Pets 5-shot"),
    Truth("sigmoidal_power", (1.422e7, 1.2232, 0.3813, 2.8916, 1.5502), SEEN, "fit to Alabdulmohsin 2022, Dec-only"),
    Truth("sigmoidal_power", (30.0, 0.8, 0.1, 0.4, 0.999), np.geomspace(0.5, 5e3, 14), "1,000 classes: e0 is chance"),
    Truth("broken_power", (331.1, 0.4831, 0.338, 7.407e6, 0.5515, 0.0916), SEEN, "fit to Alabdulmohsin 2022, 6E6D"),
    Truth("broken_power", (4.66e3, 0.05, 1e-3, 3e6, 0.49, 1.1), np.geomspace(1e-1, 1e13, 40), "Caballero 2022, Fig 1"),
    Truth(
        "broken_power_2",
        (4.66e3, 0.05, 1e-3, 3e6, 0.49, 1.1, 1e14, -0.811, 1.425),
        np.geomspace(1e-1, 1e20, 60),
        "Caballero 2022, Fig 1: it rises after its second break",
    ),
    Truth("broken_power_2", (1, 0.1, 0.05, 10, 0.3, 0.3, 1e3, 0.4, 0.3), np.geomspace(1e-2, 1e6, 40), "falls twice"),
    Truth("transfer", (0.7957, 3.23, 0.1233), ERRORS, "Abnar 2021, Fig 1, digitised, imagenet"),
    Truth("transfer", (0.5731, 3.789, 0.1), ERRORS, "Abnar 2021, Fig 1, digitised, cifar100"),
    Truth("log_linear", (0.6, -0.05), ACCURACIES, "an exponent of .6, the mean of Abnar 2021's ImageNet-21k"),
    Truth("logit_linear", (0.9, -0.4), ACCURACIES, "a drop at equal slope, as Taori 2020's new test sets show"),
    Truth("probit_linear", (0.9, -0.35), ACCURACIES, "the same on Miller 2021's axes"),
    Truth("additive", (1.6933, 406.4, 410.7, 0.33917084, 0.2849083), N_AND_D, "Hoffmann 2022, approach 3"),
    Truth("additive", (1.8169, 482.01, 2085.43, 0.34781, 0.36585), N_AND_D, "Besiroglu 2024"),
)  # fmt: skip
_WITHOUT_A_ROW = [law for name, law in LAWS.items() if name not in {row.name for row in _ROWS}]
TRUTHS = (*_ROWS, *(Truth(law.name, law.example, np.geomspace(1, 1e3, 16), "its example") for law in _WITHOUT_A_ROW))


def truths_of(name: str) -> list[Truth]:
    """Raises:
    LookupError: a law of the table has no true parameters here, and no example.
    """
    found = [truth for truth in TRUTHS if truth.name == name and truth.params]
    if not found:
        raise LookupError(f"no true parameters for {name!r}: give it an example")
    return found
