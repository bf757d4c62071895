/** Settings that the chart gives by itself, or by separate values: secrets must not be among values either. */
const ofTheChart = new Set([
  'CLUSTER_NAME',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'METRICS_PORT',
  'PAGE_PORT',
  'TEMPORAL_UI_URL',
  'HEALTH_PROBE_PORT',
  'LEADER_ELECTION_NAME',
  'LEADER_ELECTION_NAMESPACE',
]);

/** The schema of the chart's values, whose `settings` are those of `stowage run`: Helm refuses any other and names these. */
export function withSettings(schema, settings) {
  const allowed = settings.map(({ name }) => name).filter((name) => !ofTheChart.has(name));
  const own = { ...schema.properties.settings, propertyNames: { enum: allowed.sort() } };
  return { ...schema, properties: { ...schema.properties, settings: own } };
}
