/** What ARC answers, as far as it matters here. */
export interface ManagedResource {
  readonly zonalShifts?: readonly ZonalShift[];
  readonly autoshifts?: readonly { readonly appliedStatus?: string; readonly awayFrom?: string }[];
}

interface ZonalShift {
  readonly appliedStatus?: string;
  readonly awayFrom?: string;
  /** Seconds of the epoch. */
  readonly expiryTime?: number;
}
