/** Which preferences of a pod planning honours, as a text for people. */
export const preferencesHonoured = (honoured: number): string =>
  `the ${honoured} heaviest of preferred affinity and ScheduleAnyway topology spread are honoured`;
