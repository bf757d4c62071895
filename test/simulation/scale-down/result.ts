/** Nothing has changed for so long, milliseconds: consolidateAfter, a validation and a launch would have shown. */
export const quietMs = 120_000;

/** What a scale-down came to, live or simulated. */
export interface ScaleDown {
  /** Dollars an hour of the NodeClaims that there are. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Pods that came anew after the scale-down, in place of others. */
  readonly podsMoved: number;
  /** From the scale-down to the last change of the price. */
  readonly seconds: number;
}
