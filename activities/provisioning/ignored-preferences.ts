/** Which preferences of a pod planning goes by, in a person's words. */
export const preferencesHonoured = (honoured: number): string =>
  `the ${honoured} heaviest of preferred affinity and ScheduleAnyway topology spread are honoured`;
