from ..few_draws import few_draws

__all__ = ["few_draws"]
