import { Counter, type Histogram, type Registry } from 'prom-client'
import { createDurations } from './durations.ts'

/** The counters of one method of one route. */
export interface RouteTally {
  /**
   * `status` is null when the client left before it had the whole answer, `seconds` for an answer
   * that waits for an event: that would pass for fifty seconds of work.
   */
  count(status: number | null, seconds: number | null): void
}

export interface RequestMetrics {
  /**
   * The tally of a registered route; pass null for a request without one. So there are never more
   * labels than routes, regardless of the requests of clients.
   */
  tallyOf(route: { readonly method: string; readonly pattern: string } | null): RouteTally
}

interface Row extends RouteTally {
  readonly method: string
  readonly pattern: string
  readonly byStatus: Map<string, number>
}

const POLL = '/api/v1/orgs/:org/views/:view/metadata/timestamp.json'

/** `palisade_http_requests_total`, `palisade_http_request_seconds`, `palisade_polls_total` */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const rows = new Map<string, Row>()
  const durations = createDurations(registry, {
    name: 'palisade_http_request_seconds',
    help: 'Time from the arrival of a request to the end of its answer',
    labelNames: ['method', 'route'],
  })
  exposeRequests(registry, rows)
  exposePolls(registry, rows)
  return {
    tallyOf(route) {
      const { method, pattern } = route ?? { method: 'any', pattern: 'unknown' }
      const key = `${method} ${pattern}`
      const known = rows.get(key)
      if (known !== undefined) return known
      const created = createRow(method, pattern, durations)
      rows.set(key, created)
      return created
    },
  }
}

function createRow(method: string, pattern: string, durations: Histogram<'method' | 'route'>): Row {
  const byStatus = new Map<string, number>()
  return {
    method,
    pattern,
    byStatus,
    count(status, seconds) {
      const key = status === null ? 'aborted' : String(status)
      byStatus.set(key, (byStatus.get(key) ?? 0) + 1)
      if (seconds !== null) durations.observe({ method, route: pattern }, seconds)
    },
  }
}

function exposeRequests(registry: Registry, rows: ReadonlyMap<string, Row>): void {
  // oxlint-disable-next-line no-new -- it registers itself
  new Counter({
    name: 'palisade_http_requests_total',
    help: 'Requests answered by the server or `aborted` by the client',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { method, pattern, byStatus } of rows.values())
        for (const [status, count] of byStatus) this.inc({ method, route: pattern, status }, count)
    },
  })
}

function exposePolls(registry: Registry, rows: ReadonlyMap<string, Row>): void {
  // oxlint-disable-next-line no-new -- it registers itself
  new Counter({
    name: 'palisade_polls_total',
    help: 'Polls of devices: timestamp served, unchanged, refused, failed or aborted',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const outcome of ['served', 'unchanged', 'refused', 'failed', 'aborted'])
        this.inc({ outcome }, 0)
      for (const [status, count] of rows.get(`GET ${POLL}`)?.byStatus ?? [])
        this.inc({ outcome: outcomeOf(status) }, count)
    },
  })
}

function outcomeOf(status: string): string {
  switch (status) {
    case 'aborted':
      return 'aborted'
    case '200':
      return 'served'
    case '304':
      return 'unchanged'
    default:
      return status.startsWith('5') ? 'failed' : 'refused'
  }
}
