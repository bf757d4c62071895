export function withChart(page: string, chart: string): string;
