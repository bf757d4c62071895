/** Reasons that budgets of a NodePool bound, as in Karpenter. */
export const budgetReasons = ['Underutilized', 'Empty', 'Drifted'] as const;

/** Reasons for which Stowage disrupts nodes by its own decision. */
export const disruptionReasons = [...budgetReasons, 'Expired', 'Unhealthy'] as const;

export type BudgetReason = (typeof budgetReasons)[number];
export type DisruptionReason = (typeof disruptionReasons)[number];
