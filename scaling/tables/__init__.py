"""Fair tables: compare rows that may be compared, say where they may not, and check a table against itself."""

from .audit import audit_repeats, audit_signs, audit_summary, audit_values, contradictions
from .compute_units import chip_days, core_days, days_on_cores, pairwise_ratios
from .controls import ControlledComparison, check_comparison
from .crossings import crossings
from .duplicates import audit_duplicates
from .error_cut import error_cut
from .factors import FactorDifference, factor_differences, factor_ranges, factor_steps, one_factor_difference
from .grid import missing_cells
from .groups import VTAB_GROUPS, extreme_tasks, group_means, task_gaps, vtab_task
from .law_ends import audit_law_ends
from .paired import paired_difference
from .printed_law import compare_with_printed
from .ranks import RankFlips, rank_flips
from .rows import RowComparison, compare_rows

__all__ = [
    "VTAB_GROUPS",
    "ControlledComparison",
    "FactorDifference",
    "RankFlips",
    "RowComparison",
    "audit_duplicates",
    "audit_law_ends",
    "audit_repeats",
    "audit_signs",
    "audit_summary",
    "audit_values",
    "check_comparison",
    "chip_days",
    "compare_rows",
    "compare_with_printed",
    "contradictions",
    "core_days",
    "crossings",
    "days_on_cores",
    "error_cut",
    "extreme_tasks",
    "factor_differences",
    "factor_ranges",
    "factor_steps",
    "group_means",
    "missing_cells",
    "one_factor_difference",
    "paired_difference",
    "pairwise_ratios",
    "rank_flips",
    "task_gaps",
    "vtab_task",
]
