import { formatNumber } from '../../report/format-number.ts'
import type { TunnelsResult } from '../cases/tunnels.ts'

/** A line for each proxy, and one for the tunnels that were held. */
export function formatTunnels({ proxies, ...held }: TunnelsResult): string {
  const lines = proxies.map(
    (of) =>
      `${of.name}: new tunnel ${formatNumber(of.new_cpu_us.median)} µs of processor time, ` +
      `${formatNumber(of.new_per_s.median)} a second; ` +
      `request in a tunnel ${formatNumber(of.kept_cpu_us.median)} µs, ` +
      `${formatNumber(of.kept_per_s.median)} a second; ` +
      `bulk ${formatNumber(of.bulk_mib_per_s.median)} MiB/s`,
  )
  const last =
    `${held.held} tunnels held: ${formatNumber(held.held_bytes / 1000)} kB each; ` +
    `all closed ${formatNumber(held.closed_ms)} ms after the request for a policy without them; ` +
    `longest decision meanwhile ${formatNumber(held.longest_decision_ms)} ms`
  return [...lines, last].join('\n')
}
