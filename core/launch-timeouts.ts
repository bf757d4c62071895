const minuteMs = 60_000;

/** How long a launch may take until there is an instance (launch/timeouts). */
export const launchTimeoutMs = 5 * minuteMs;

/** How long an instance may take until its Node is registered (launch/timeouts). */
export const registrationTimeoutMs = 15 * minuteMs;
