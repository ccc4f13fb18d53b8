"""Rates by rule: one line of a spec gives every model size its learning rate, from the one that suits a known width."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter

from .fields import Amount, Count, Section

__all__ = ["RATE_FIELDS", "RULES", "RateRule", "with_rates"]

# Powers of (reference width / width). Adam's rate of a hidden layer falls as 1/width: Yang et al. 2022
# (arXiv 2203.03466), Table 3; as its square root in Vaswani et al. 2017 (arXiv 1706.03762), equation 3.
RULES = {"constant": 0.0, "1/sqrt(width)": 0.5, "1/width": 1.0}
RATE_FIELDS = ("lr", "weight_decay", "head_weight_decay")  # of a recipe, which may be given by rule
_DIGITS = 12  # so that 3e-3 at a third of the width and a plain 1e-3 are one number, and one run


def _rule(value: Any) -> Any:
    if not isinstance(value, str) or value not in RULES:
        raise ValueError(f"must be one of {list(RULES)}")
    return value


class RateRule(Section):
    """`base` is the rate at the reference `width`; `rule`, a key of `RULES`, says how it changes with the width."""

    base: Amount = Field(gt=0)
    width: Count
    rule: Annotated[str, BeforeValidator(_rule)]

    def at(self, width: int) -> float:
        """base * (reference width / width) ** power, rounded to 12 digits.

        >>> RateRule(base=3e-3, width=64, rule="1/sqrt(width)").at(256)
        0.0015
        """
        return float(f"{self.base * (self.width / width) ** RULES[self.rule]:.{_DIGITS}g}")


_RULES_OF_FIELDS = TypeAdapter(dict[str, RateRule])


def with_rates(recipe: Any, width: int | None) -> Any:
    """A recipe's fields with a number for each rule; what is no mapping of fields is returned as it is.

    Args:
        recipe: fields, of which those of `RATE_FIELDS` may be mappings `{base: 3e-3, width: 64, rule: 1/width}`.
        width: of the model.

    Raises:
        ValidationError: a rule with a field that is unknown, missing or out of range.
        ValueError: a rule, and the model has no width.

    >>> with_rates({"lr": {"base": 3e-3, "width": 64, "rule": "1/width"}, "batch_size": 16}, width=192)
    {'lr': 0.001, 'batch_size': 16}
    """
    if not isinstance(recipe, Mapping):
        return recipe
    rules = {name: recipe[name] for name in RATE_FIELDS if isinstance(recipe.get(name), Mapping)}
    if not rules:
        return recipe
    checked = _RULES_OF_FIELDS.validate_python(rules)
    if width is None:
        raise ValueError(f"{', '.join(checked)} cannot follow the width of a model that has none: give numbers")
    return {**recipe, **{name: rule.at(width) for name, rule in checked.items()}}
