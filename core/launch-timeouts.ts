const minuteMs = 60_000;

/** Timeout of a launch until there is an instance (launch/timeouts). */
export const launchTimeoutMs = 5 * minuteMs;

/** Timeout of an instance until its Node is registered (launch/timeouts). */
export const registrationTimeoutMs = 15 * minuteMs;
