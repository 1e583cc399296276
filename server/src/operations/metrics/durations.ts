import { Histogram, type Registry } from 'prom-client'

/** Upper bounds in seconds: from a lookup in memory to a client's patience. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** A histogram of durations in seconds, with the same buckets for every kind of event. */
export function createDurations<Label extends string>(
  registry: Registry,
  metric: { readonly name: string; readonly help: string; readonly labelNames: Label[] },
): Histogram<Label> {
  return new Histogram({ ...metric, buckets: BUCKETS, registers: [registry] })
}
