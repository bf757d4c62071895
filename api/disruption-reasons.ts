/** Reasons that budgets of a NodePool may list, as in Karpenter. */
export const budgetReasons = ['Underutilized', 'Empty', 'Drifted'] as const;

/** Reasons for which Stowage disrupts nodes voluntarily. */
export const disruptionReasons = [...budgetReasons, 'Expired', 'Unhealthy'] as const;

export type BudgetReason = (typeof budgetReasons)[number];
export type DisruptionReason = (typeof disruptionReasons)[number];
